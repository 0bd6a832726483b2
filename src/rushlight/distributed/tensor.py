"""``torch.distributed.tensor``: tensors spread over processes, of which there are none here; programs ask whether a tensor is one."""

from ..tensor import Tensor as _Tensor


class DTensor(_Tensor):
    """A tensor whose parts lie in several processes: none is made in this version."""
