"""Forward mode as a transform: ``jvp``, on the dual tensors of dual.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.modes import state
from ..base import trees
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from .arguments import check_outputs, chosen, replaced, split_auxiliary, unwrap_tree, wrap_tree
from .dual import DualLevel, check_dual, dual_levels, in_memory_like, refuse_nesting

_CALL = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, Any] | tuple[Any, Any, Any]:
    """``(output, tangent)`` of ``func`` at ``primals`` in the direction ``tangents``. Follows ``torch.func.jvp``.

    Args:
        func: a function of tensors, or nested containers of them.
        primals, tangents: tuples of arguments and of directions, of the same structure.
        strict: refuse outputs that do not depend on the inputs; otherwise their tangents are zero.
        has_aux: ``func`` returns ``(output, aux)``; the result is then ``(output, tangent, aux)``.

    >>> import rushlight as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            hinted(
                f"{_CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
                f"it is of type {type(primals).__name__}; write a comma: (x,)",
            )
        )
    return jvp_by(func, primals, tangents, None, strict, has_aux)


def jvp_by(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    argnums: int | tuple[int, ...] | None,
    strict: bool,
    has_aux: bool,
) -> Any:
    """`jvp` by the arguments that ``argnums`` chooses (None: all), for which ``tangents`` are a tuple."""
    given = primals if argnums is None else chosen(primals, argnums)
    given = given if argnums is None or isinstance(argnums, tuple) else (given,)
    leaves, directions, structure = _paired(given, tangents)
    refuse_nesting([level for level in dual_levels() if level.is_outermost])
    level = DualLevel()
    before, state.forward_grad = state.forward_grad, True
    try:
        with level.entered():
            duals = trees.unflatten([_dual(level, *pair) for pair in zip(leaves, directions)], structure)
            if argnums is not None:
                primals = wrap_tree(level, primals)
                duals = replaced(primals, argnums, duals if isinstance(argnums, tuple) else duals[0])
            output, aux = split_auxiliary(func(*duals), has_aux, _CALL)
            aux = unwrap_tree(level, aux) if has_aux else None
            results, output_structure = trees.flatten(output)
            check_outputs(results, _CALL)
            parts = [level.tangent(result) for result in results]
            results = [level.unwrap(result) for result in results]
        parts = [_or_zeros(part, result, strict) for part, result in zip(parts, results)]
    finally:
        state.forward_grad = before
    output = trees.unflatten(results, output_structure)
    tangent = trees.unflatten(parts, output_structure)
    return (output, tangent, aux) if has_aux else (output, tangent)


def _paired(primals, tangents):
    """The leaves of both, which must be tensors, and their structure, which must be the same."""
    leaves, structure = trees.flatten(primals)
    directions, direction_structure = trees.flatten(tangents)
    if structure != direction_structure:
        raise RuntimeError(
            hinted(
                f"{_CALL}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
                f"tensors, tangents also must be. Got primals with structure {structure} and tangents with structure "
                f"{direction_structure}",
                "give one tangent for each primal",
            )
        )
    for name, found in (("primals", leaves), ("tangents", directions)):
        if not found:
            raise RuntimeError(
                hinted(
                    f"{_CALL}: Expected {name} to contain at least one Tensor.", "there is nothing to differentiate by"
                )
            )
        for leaf in found:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    hinted(
                        f"{_CALL}: Expected {name} to only contain Tensors, got {type(leaf)}",
                        "bind other arguments with functools.partial",
                    )
                )
    return leaves, directions, structure


def _dual(level, primal, tangent):
    check_dual(primal, tangent)
    made = level.wrap(primal)
    level.set_tangent(made, in_memory_like(tangent, primal))
    return made


def _or_zeros(tangent, result, strict):
    if tangent is None and strict:
        raise RuntimeError(
            hinted(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True.",
                "strict=False gives it a tangent of zeros",
            )
        )
    return functions.zeros_like(result) if tangent is None else tangent
