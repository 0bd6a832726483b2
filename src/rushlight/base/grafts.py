"""Grafting: giving a function that others hold already another body, which runs around the one that it had.

Autocast, and classes with a ``__torch_function__`` of their own, have to see the calls of many functions, whoever imported them
and under whatever name, and as whole calls: most of them are made of several operations. A test in each would be paid by programs
that use neither. So the functions stay as they are until the first one is at work; then each of them, being the object that it
is, gets a body that asks.
"""

from __future__ import annotations

import linecache
from types import FunctionType

from .user_code import PACKAGE

# A function keeps its cells for ever, so the new body has to have as many of them, which it does not look at.
_BODY = """
def cells({cells}):
    def call(*args, _around, **kwargs):
        return _around(args, kwargs)
        ({cells})
    return call
"""
_bodies = {}  # number of cells -> code


def _body(count):
    if count not in _bodies:
        namespace = {}
        source = _BODY.format(cells="".join(f"cell{number}, " for number in range(count)))
        file = f"{PACKAGE}<a function that was grafted>"  # tracebacks show the text
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        exec(compile(source, file, "exec"), namespace)
        _bodies[count] = namespace["cells"](*range(count)).__code__
    return _bodies[count]


def graft(function, around):
    """Let calls of ``function`` be ``around(plain)(args, kwargs)`` from now on; ``plain`` does what it did before."""
    code, cells = function.__code__, function.__closure__
    plain = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)
    plain.__kwdefaults__, plain.__doc__ = function.__kwdefaults__, function.__doc__
    plain.__qualname__ = function.__qualname__  # errors say it
    plain.__dict__.update(function.__dict__)
    function.__wrapped__ = plain  # signatures and sources are shown as before
    # In this order calls of other threads find what they need at every moment.
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_around": around(plain)}
    function.__code__ = _body(len(cells or ())).replace(co_name=code.co_name)


def ungraft(function, around):
    """Give ``function`` back the body that it had before ``graft(function, ...)``, whose call was ``around``.

    False, and nothing is done, where another graft was made since: that one calls ours.
    """
    if (function.__kwdefaults__ or {}).get("_around") is not around:
        return not any((each.__kwdefaults__ or {}).get("_around") is around for each in _inside(function))
    plain = function.__wrapped__
    function.__code__, function.__kwdefaults__ = plain.__code__, plain.__kwdefaults__
    function.__dict__.pop("__wrapped__")
    if "__wrapped__" in plain.__dict__:
        function.__wrapped__ = plain.__dict__["__wrapped__"]
    return True


def _inside(function):
    """The functions that grafts left within ``function``."""
    while isinstance(function := function.__dict__.get("__wrapped__"), FunctionType):
        yield function
