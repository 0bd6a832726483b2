"""``Variable``: PyTorch's old name for a tensor that is part of a graph."""


class _VariableMeta(type):
    def __instancecheck__(cls, instance):
        return hasattr(instance, "_edge")

    def __call__(cls, data, requires_grad=False, volatile=None):
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """Deprecated in PyTorch: ``Variable(tensor, requires_grad)`` is a tensor on the same memory; every tensor is one."""
