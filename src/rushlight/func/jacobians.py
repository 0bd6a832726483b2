"""Jacobians and Hessians: ``jacrev``, ``jacfwd``, ``hessian``, and ``linearize``, on `vjp`, `jvp` and `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..base import trees
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from .arguments import chosen, refuse_complex
from .dual import check_dual
from .forward import jvp_by
from .levels import LevelTensor
from .reverse import saving_plainly, vjp_by
from .vmap import vmap


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func`` by reverse mode, row by row. Follows ``torch.func.jacrev``.

    The Jacobian is a container like the output of ``func``, which in place of each tensor holds a container like the
    arguments chosen; the tensors in that have the shape of the output followed by that of the argument.

    Args:
        func: a function of tensors (or nested containers of them) that returns such.
        argnums: the position, or a tuple of positions, of the arguments to differentiate by.
        has_aux: ``func`` returns ``(output, aux)``; the result is then ``(jacobian, aux)``.
        chunk_size: rows to compute at a time, all by default; with 1 no ``vmap`` takes part.

    >>> import rushlight as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(
            hinted(
                "jacrev: `chunk_size` should be greater than 0.", "it counts rows of the Jacobian; None: all at once"
            )
        )

    @functools.wraps(func)
    def wrapper(*args):
        refuse_complex("jacrev", args, "inputs")
        with saving_plainly():
            output, multiply, *aux = vjp_by(func, args, argnums, has_aux)
        outputs, output_structure = trees.flatten(output)
        refuse_complex("jacrev", outputs, "outputs")
        primals, structure = trees.flatten(chosen(args, argnums))

        def row(basis):
            return tuple(trees.leaves_of(multiply(basis)))

        wide = row if chunk_size == 1 else vmap(row)
        size = sum(out.numel() for out in outputs)
        step = size if chunk_size is None else chunk_size
        chunks = []
        for start in range(0, size, step) if size else (0,):
            basis = _basis(outputs, start, min(step, size - start))
            if chunk_size == 1:
                basis = [part.squeeze(0) for part in basis]
            rows = wide(trees.unflatten(basis, output_structure))
            chunks.append([each.unsqueeze(0) for each in rows] if chunk_size == 1 else rows)
        columns = [parts[0] if len(parts) == 1 else functions.cat(parts) for parts in zip(*chunks)]
        jacobian = _by_output(columns, outputs, output_structure, primals, structure)
        return (jacobian, *aux) if has_aux else jacobian

    return wrapper


def _basis(tensors, start, count):
    """Rows ``start`` and so on of the identity matrix of the elements of all ``tensors``, cut up among them."""
    parts, before = [], 0
    for tensor in tensors:
        part = tensor.new_zeros(count, tensor.numel())
        part.diagonal(start - before).fill_(1)
        before += tensor.numel()
        parts.append(part.view(count, *tensor.shape))
    return parts


def _by_output(columns, outputs, output_structure, primals, structure):
    """The Jacobians of all outputs by each primal, stacked, taken apart and put in the structure of the outputs."""
    sizes = [out.numel() for out in outputs]
    split = [column.split(sizes, 0) for column in columns]
    blocks = []
    for number, out in enumerate(outputs):
        parts = [parts[number].reshape(out.shape + primal.shape) for parts, primal in zip(split, primals)]
        blocks.append(trees.unflatten(parts, structure))
    return trees.unflatten(blocks, output_structure)


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func`` by forward mode, column by column. Follows ``torch.func.jacfwd``.

    Arguments and result are those of `jacrev`; ``randomness`` is that of `vmap`.

    >>> import rushlight as torch
    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args):
        refuse_complex("jacfwd", args, "inputs")
        given = args if argnums is None else chosen(args, argnums)
        given = given if argnums is None or isinstance(argnums, tuple) else (given,)
        primals, structure = trees.flatten(given)
        sizes = [primal.numel() for primal in primals]

        def column(basis):
            output, tangent, *aux = jvp_by(func, args, basis, argnums, False, has_aux)
            refuse_complex("jacfwd", output, "outputs")
            return (tangent, *aux) if has_aux else tangent

        found = vmap(column, randomness=randomness)(trees.unflatten(_basis(primals, 0, sum(sizes)), structure))
        found, aux = found if has_aux else (found, None)
        tangents, output_structure = trees.flatten(found)
        blocks = []
        for tangent in tangents:
            parts = tangent.movedim(0, -1).split(sizes, -1)
            parts = [part.reshape(part.shape[:-1] + primal.shape) for part, primal in zip(parts, primals)]
            block = trees.unflatten(parts, structure)
            blocks.append(block[0] if isinstance(argnums, int) else block)
        jacobian = trees.unflatten(blocks, output_structure)
        return (jacobian, trees.tree_map(lambda each: each[0], aux)) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of ``func``: `jacfwd` of `jacrev`. Follows ``torch.func.hessian``.

    >>> import rushlight as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``(output, jvp_function)``: the value of ``func`` and the function that multiplies with its Jacobian there.

    Follows ``torch.func.linearize``. ``jvp_function`` takes a tangent for each of ``primals`` and may be called many times:
    the Jacobian is that of one call of ``func``, whose graph is kept, transposed.

    >>> import rushlight as torch
    >>> output, multiply = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> multiply(torch.tensor([1.0, 3.0]))
    tensor([1., 3.])
    """
    output = func(*primals)
    results, output_structure = trees.flatten(output)
    wanted = [isinstance(each, Tensor) and (each.is_floating_point() or each.is_complex()) for each in results]
    leaves, structure = trees.flatten(primals)
    for leaf in leaves:
        check_dual(leaf, leaf)
    transpose = _transposed(func, leaves, structure, wanted) if any(wanted) else None

    def multiply(*tangents):
        directions, given_structure = trees.flatten(tangents)
        if given_structure != structure:
            raise RuntimeError(
                hinted(
                    f"Expected the tangents {given_structure} to have the same argspec as the primals {structure}",
                    "give one tangent for each primal, nested as they are",
                )
            )
        _check_directions(directions, leaves)
        found = iter(() if transpose is None else transpose(tuple(directions))[0])
        parts = [
            next(found) if wants else functions.zeros_like(each) if isinstance(each, Tensor) else each
            for each, wants in zip(results, wanted)
        ]
        return trees.unflatten(parts, output_structure)

    return output, multiply


def _transposed(func, leaves, structure, wanted):
    """The product with the Jacobian of the ``wanted`` outputs, as the transpose of that with the transposed Jacobian."""

    def outputs(*leaves):
        found = trees.leaves_of(func(*trees.unflatten(leaves, structure)))
        return tuple(each for each, wants in zip(found, wanted) if wants)

    values, multiply = vjp_by(outputs, tuple(leaves), None, False)
    zeros = tuple(functions.zeros_like(value) for value in values)
    return vjp_by(multiply, (zeros,), None, False)[1]


def _check_directions(directions, leaves):
    for number, (direction, leaf) in enumerate(zip(directions, leaves)):
        for name in ("shape", "dtype"):
            given, expected = getattr(direction, name), getattr(leaf, name)
            if given != expected:
                raise RuntimeError(
                    hinted(
                        f"tangent:{number} with {name} {given} in flattened pytree doesn't match the {name} {expected} of the "
                        "corresponding primal.",
                        "a tangent is a tensor like its primal",
                    )
                )


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor inside that of a transform, for looking at it in a debugger; any other tensor as it is.

    ``recurse=False`` takes off one level instead of all.
    """
    while isinstance(tensor, LevelTensor):
        tensor = tensor.value
        if not recurse:
            break
    return tensor
