"""``torch.jit.fork`` and ``wait``: the function is called at once, and the result waits."""

from ..base.errors import hinted as _hinted
from ..futures import Future as Future
from ._state import deprecated as _deprecated

_INSTEAD = "Please use `torch.compile` instead."


def fork(func, *args, **kwargs):
    """Call a function; the `Future` holds what it returns. As in PyTorch outside of TorchScript, it is called at once.

    >>> import rushlight as torch
    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 1))
    tensor([2.])
    """
    _deprecated("fork", _INSTEAD)
    if not callable(func):
        raise TypeError(
            _hinted(
                f"Object of type '{type(func).__name__}' is not an instance of 'function'", "fork(function, *arguments)"
            )
        )
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """What a forked function has returned."""
    _deprecated("wait", _INSTEAD)
    if not isinstance(future, Future):
        raise TypeError(
            _hinted(
                "wait(): incompatible function arguments. The following argument types are supported:",
                f"wait(future) takes what fork has returned, not {type(future).__name__}",
            )
        )
    return future.wait()
