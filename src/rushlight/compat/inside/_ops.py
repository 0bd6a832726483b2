"""``torch._ops``: the classes of `torch.ops`."""

import importlib as _importlib

_ops = _importlib.import_module(".ops", __package__)
OpOverload, OpOverloadPacket = _ops.OpOverload, _ops.OpOverloadPacket
ops = _ops


class HigherOrderOperator:
    """An operation that takes functions: PyTorch's compiler has them; none are made here."""
