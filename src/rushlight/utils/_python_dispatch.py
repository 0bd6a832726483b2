"""``torch.utils._python_dispatch``: modes that see operations below autograd, which are not here, and questions about them."""

from __future__ import annotations

from ..base.errors import hinted
from ..base.trees import tree_map
from ..tensor import Tensor


class TorchDispatchMode:
    """A block in which operations below autograd go to a handler: refused where it is entered."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(hinted("", "a TorchDispatchMode needs a method __torch_dispatch__"))

    def __enter__(self):
        raise NotImplementedError(
            hinted(
                f"{type(self).__name__}: torch dispatch modes are not implemented",
                "Rushlight's operations have no layer of PyTorch's native ones below autograd; torch.overrides.TorchFunctionMode "
                "sees each call of an operation",
            )
        )

    def __exit__(self, kind, value, trace):
        return None

    @classmethod
    def push(cls, *args, **kwargs):
        """An instance, for a ``with`` statement."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is part of a compiler: False."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls each operation as it is."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class _disable_current_modes:
    """A block without the modes around it: there are none."""

    def __enter__(self):
        return []

    def __exit__(self, *error):
        return None


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a dispatch mode is at work: False."""
    return False


is_in_any_mode_without_ignore_compile_internals = any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def _get_current_dispatch_mode():
    """The dispatch mode at work: None."""
    return None


def _get_current_dispatch_mode_stack():
    """The dispatch modes at work: none."""
    return []


def _len_torch_dispatch_stack():
    """How many dispatch modes are at work: none."""
    return 0


def is_traceable_wrapper_subclass(t):
    """Whether a tensor's class is made of other tensors, and says how: ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """Whether tensors of a class are made of other tensors, and it says how."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor of the same class, made of what ``callback(name, tensor)`` gives for the tensors that it is made of."""
    names, context = t.__tensor_flatten__()
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    inner = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """The result: an operation that writes into an argument returns that argument."""
    name = getattr(func, "__name__", "").partition(".")[0]
    if name.endswith("_") and not name.startswith("_") and args:
        return args[0]
    return tree_map(lambda leaf: leaf, out)
