"""``torch.utils._contextlib``: contexts that are decorators, for programs that make some of their own."""

from __future__ import annotations

from ..base.decorating import Decorating as _DecoratorContextManager
from ..base.decorating import around
from ..base.errors import hinted


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context that takes no arguments: it decorates without parentheses, too."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


def context_decorator(ctx, func):
    """``func``, whose calls run in a context: ``ctx``, which can be entered again and again, or what ``ctx()`` gives.

    >>> import rushlight as torch
    >>> context_decorator(lambda: torch.no_grad(), torch.is_grad_enabled)()
    False
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        message = (
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
            "interface to use.  If you intended to pass a context manager factory, rewrite your call as "
            "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
            "context_decorator(lambda: ctx)"
        )
        raise AssertionError(hinted(message, f"a {type(ctx).__name__} is both"))
    if isinstance(func, type):
        message = (
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context "
            "manager applied; additionally, decorating a class at definition-site will prevent use of the identifier as a "
            "conventional type.  To specify which methods to decorate, decorate each of them individually."
        )
        raise RuntimeError(hinted(message, f"decorate {func.__name__}.__init__"))
    return around(ctx if callable(ctx) else lambda: ctx, func)
