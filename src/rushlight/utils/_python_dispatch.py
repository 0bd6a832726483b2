"""``torch.utils._python_dispatch``: modes that see operations below autograd, and questions about them."""

from __future__ import annotations

from threading import get_ident

from ..base.contexts import Leaving
from ..base.errors import hinted
from ..base.trees import tree_map
from ..tensor import Tensor
from ..tensor.interposers import INTERPOSERS
from .dispatching import Dispatching, see_beside_the_waist


class TorchDispatchMode(Leaving):
    """A block in which operations go to ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``, below autograd.

    ``func`` is an operation of ``torch.ops.aten`` with its overload, or of ``torch.ops.rushlight`` where PyTorch has no such
    operation; the gradients of what the handler returns are those of the operation. Backward passes inside the block are seen
    too. Inside the handler the mode is off, so that ``func(*args, **kwargs)`` does what the call would have done.

    Not seen are copies to NumPy and the steps of optimizers that run as one; where PyTorch makes several operations of a call, as
    of attention and LSTMs, one may stand here.

    >>> import rushlight as torch
    >>> from rushlight.utils._python_dispatch import TorchDispatchMode
    >>> class Told(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x, layer = torch.ones(2, 3), torch.nn.Linear(3, 4)
    >>> with Told():
    ...     y = layer(x).relu().sum(1)
    aten.t.default
    aten.addmm.default
    aten.relu.default
    aten.sum.dim_IntList
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(hinted("", "a TorchDispatchMode needs a method __torch_dispatch__"))

    def __enter__(self):
        see_beside_the_waist()
        entered, interposers, own = Dispatching(self), INTERPOSERS, vars(self).setdefault("_entered", [])
        # In one row without calls, for Ctrl-C: autograd/modes.py.
        own += [entered]
        interposers += [entered]
        return self

    def _leave(self):
        if self._entered:
            INTERPOSERS[:] = [each for each in INTERPOSERS if each is not self._entered[-1]]
            self._entered.pop()

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
    """A block without the dispatch modes around it, which it gives."""

    def __enter__(self):
        own, interposers = _own_modes(), INTERPOSERS
        self._own = own
        interposers[:] = [each for each in interposers if each not in own]
        return [each.mode for each in own]

    def __exit__(self, *error):
        own, interposers = self._own, INTERPOSERS
        interposers += own


def _own_modes():
    """The interposers of this thread's dispatch modes, the innermost last."""
    me = get_ident()
    return [each for each in INTERPOSERS if isinstance(each, Dispatching) and each.thread == me]


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a dispatch mode is at work in this thread."""
    return bool(_own_modes())


is_in_any_mode_without_ignore_compile_internals = any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def _get_current_dispatch_mode():
    """The innermost dispatch mode of this thread; None where there is none."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack():
    """The dispatch modes of this thread, the innermost last."""
    return [each.mode for each in _own_modes()]


def _len_torch_dispatch_stack():
    """How many dispatch modes of this thread are at work."""
    return len(_own_modes())


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
