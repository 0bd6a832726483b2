"""``torch.jit.annotations``: the names in annotations of TorchScript."""

import typing as _typing

from ..futures import Future as Future
from ..nn import Module as Module
from ..tensor import Tensor as Tensor

Any, Optional = _typing.Any, _typing.Optional
Dict, List, Tuple = (getattr(_typing, _name) for _name in ("Dict", "List", "Tuple"))


class BroadcastingListCls:
    """``BroadcastingList2[int]``: so many numbers, or one for all."""

    def __getitem__(self, types):
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1
