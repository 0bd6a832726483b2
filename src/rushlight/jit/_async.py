"""``torch.jit.fork`` and ``wait``: the function is called at once, and the result waits."""

from ..base.errors import hinted as _hinted
from ..futures import Future as Future
from ._state import deprecated as _deprecated

_INSTEAD = "Please use `torch.compile` instead."


def fork(func, *args, **kwargs):
    """Call a function; the `Future` holds what it returns or raises. As in PyTorch outside of TorchScript, nothing runs beside it.

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
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:  # it is raised where the result is asked for
        future.set_exception(error)
    return future


def wait(future):
    """What a forked function has returned, or raised."""
    _deprecated("wait", _INSTEAD)
    if not isinstance(future, Future):
        raise TypeError(
            _hinted(
                "wait(): incompatible function arguments. The following argument types are supported:",
                f"wait(future) takes what fork has returned, not {type(future).__name__}",
            )
        )
    return future.wait()
