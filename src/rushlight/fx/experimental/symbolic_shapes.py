"""``torch.fx.experimental.symbolic_shapes``: questions about sizes that a compiler does not know. Here they are plain numbers."""

from __future__ import annotations

from ...base.errors import hinted


class GuardOnDataDependentSymNode(RuntimeError):
    """A condition on data that a compiler does not know: never raised here."""


def _known(expr):
    if not isinstance(expr, bool):
        raise AssertionError(hinted(f"Expected bool, got {type(expr)}", "give a condition"))
    return expr


def statically_known_true(x):
    """Whether a condition holds: it is a plain one."""
    return _known(x)


def guard_or_false(a):
    """A condition, or False where a compiler does not know it: the condition."""
    return _known(a)


def guard_or_true(a):
    """A condition, or True where a compiler does not know it: the condition."""
    return _known(a)


def guard_size_oblivious(expr):
    """A condition, as if sizes were neither 0 nor 1: the condition."""
    return _known(expr)


def free_symbols(val):
    """The sizes in a value that a compiler does not know: none."""
    return set()


def free_unbacked_symbols(x):
    """The sizes in a value of which a compiler knows nothing: none."""
    return set()


def has_free_symbols(val):
    """Whether a compiler does not know a value: False."""
    return False


def is_symbolic(val):
    """Whether a number is one that a compiler does not know: False."""
    return False


def sym_eq(x, y):
    """Whether two numbers or shapes are equal."""
    return x == y
