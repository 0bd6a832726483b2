"""``torch._foreach_*``: an operation of the table on each tensor of a list, which public programs' optimizers call."""

from __future__ import annotations

from ..autograd.views import check_inplace
from ..base.errors import hinted
from ..base.lazy import bits_of
from ..ops.table import functions
from .base import Tensor

_PREFIX = "_foreach_"
_UNARY = frozenset(
    [
        "abs",
        "acos",
        "asin",
        "atan",
        "ceil",
        "clone",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "floor",
        "frac",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "max",
        "neg",
        "reciprocal",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "zero",
    ]
)
_WITH_OTHERS = frozenset(
    [
        "add",
        "addcdiv",
        "addcmul",
        "clamp_max",
        "clamp_min",
        "copy",
        "div",
        "lerp",
        "maximum",
        "minimum",
        "mm",
        "mul",
        "norm",
        "pow",
        "powsum",
        "sub",
    ]
)
_ONLY_INPLACE, _NEVER_INPLACE = frozenset(("copy", "zero")), frozenset(("clone", "max", "mm", "norm", "powsum"))


def _norm(tensor, ord=2, dtype=None):
    return functions.linalg_vector_norm(tensor, ord, dtype=dtype)


def _powsum(tensor, ord, dtype=None):
    return functions.sum(functions.pow(functions.abs(tensor), ord), dtype=dtype)


def _bounded(name, bound):
    """`maximum` or `minimum`, which on lists of tensors take numbers, too."""

    def call(tensor, other):
        return getattr(functions, name if isinstance(other, Tensor) else bound)(tensor, other)

    return call


def _with_factor(name):
    """`addcmul` or `addcdiv`, whose number may come by position."""

    def call(tensor, first, second, value=1):
        return getattr(functions, name)(tensor, first, second, value=value)

    return call


_SPECIAL = {
    "norm": _norm,
    "powsum": _powsum,
    "maximum": _bounded("maximum", "clamp_min"),
    "minimum": _bounded("minimum", "clamp_max"),
    "clamp_min": _bounded("maximum", "clamp_min"),
    "clamp_max": _bounded("minimum", "clamp_max"),
    **{name + ending: _with_factor(name + ending) for name in ("addcmul", "addcdiv") for ending in ("", "_")},
}


def foreach_function(name):
    """The function called ``name`` (``_foreach_add_``, ...); None if PyTorch has none of that name.

    >>> import rushlight as torch
    >>> torch._foreach_add([torch.tensor(1.0), torch.tensor(2.0)], [torch.tensor(3.0), torch.tensor(4.0)], alpha=2)
    (tensor(7.), tensor(10.))
    """
    operation = name.removeprefix(_PREFIX)
    base, writes = operation.removesuffix("_"), operation.endswith("_")
    if not name.startswith(_PREFIX) or base not in _UNARY | _WITH_OTHERS:
        return None
    if base in (_NEVER_INPLACE if writes else _ONLY_INPLACE):
        return None
    single = _SPECIAL.get(operation) or getattr(functions, operation, None)
    if writes and (base in _SPECIAL and operation not in _SPECIAL):
        single = _writing(_SPECIAL[base])

    def call(*args, **kwargs):
        calls = _calls(name, args, kwargs)
        if writes:
            _refuse_lazy(name, args[0] if args else kwargs["self"])
            for each, named in calls:  # all of them, before the first is written
                check_inplace(each[0] if each else named["self"], name, (*each, *named.values()))
        found = [single(*each, **named) for each, named in calls]
        return (args[0] if args else kwargs["self"]) if writes else tuple(found)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{operation}`` on each tensor of a list; arguments that are lists have an entry for each."
    return call


def _refuse_lazy(name, tensors):
    """PyTorch's error for writing into a list of tensors with lazy bits among them."""
    bits = [bits_of(tensor._array) for tensor in tensors if isinstance(tensor, Tensor)]
    for place, kind in enumerate(("conjugate", "negation")):
        if any(each[place] for each in bits):
            raise RuntimeError(
                hinted(
                    f" fallback doesn't currently support mutable TensorLists with {kind} inputs. Please materialize all the {kind} "
                    f"input tensor(s) in the mutable TensorList inputs before calling aten::{name}",
                    "resolve_conj() or resolve_neg() makes a tensor with the numbers in memory; or write into each one by itself",
                )
            )


def _writing(function):
    def call(tensor, *args, **kwargs):
        return tensor.copy_(function(tensor, *args, **kwargs))

    return call


def _calls(name, args, kwargs):
    """The arguments of each call: entries of lists, and of the one tensor of numbers that `_foreach_addcmul` takes."""
    args = [*args]
    if "addc" in name:
        if "scalars" in kwargs:
            kwargs["value"] = kwargs.pop("scalars")
        for values, place in ((args, 3), (kwargs, "value")):
            given = values[place] if (place in values if values is kwargs else len(values) > place) else None
            if isinstance(given, Tensor):
                values[place] = given.tolist()
    lists = [value for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple))]
    if not lists:
        raise TypeError(
            hinted(f"{name}() received an invalid combination of arguments", "the first argument is a list of tensors")
        )
    count = len(lists[0])
    if not count:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != count:
            tensors = isinstance(other[0] if other else None, Tensor)
            lengths = f"got {count} and {len(other)}"
            if tensors:
                raise RuntimeError(f"Tensor lists must have the same number of tensors, {lengths}")
            raise RuntimeError(
                hinted("Tensor list must have same number of elements as scalar list.", f"their lengths: {lengths}")
            )
    pick = lambda value, k: value[k] if isinstance(value, (list, tuple)) else value
    return [([pick(v, k) for v in args], {key: pick(v, k) for key, v in kwargs.items()}) for k in range(count)]
