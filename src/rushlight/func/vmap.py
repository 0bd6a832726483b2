"""``vmap``: a function of single entries as a function of batches. Follows ``torch.func.vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..base import trees
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from .batched import VmapLevel


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls ``func`` on every entry of a batch at once.

    Args:
        func: a function of tensors (or nested containers of them) that returns tensors.
        in_dims: which dimension of each argument is the batch; an int, None for an argument that all entries share, or a
            nested container of both in the structure of the arguments.
        out_dims: where the batch dimension of the results goes; None for a result that all entries share.
        randomness: "error" refuses random operations, "different" draws for each entry, "same" once for all.
        chunk_size: entries to compute at a time; None for all at once.

    Keyword arguments are shared by all entries.

    >>> import rushlight as torch
    >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3))
    tensor([ 3., 12.])
    """
    _check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(
            hinted(
                f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})",
                "it counts entries of the batch",
            )
        )

    def mapped(*args, **kwargs):
        _check_out_dims(func, out_dims)
        batch = _Batch(func, in_dims, args)
        sizes = [] if chunk_size is None else _sizes_of_chunks(batch.size, chunk_size)
        return _in_chunks(func, batch, sizes, out_dims, randomness, kwargs)

    return functools.wraps(func)(mapped) if hasattr(func, "__name__") else mapped


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Any:
    """`vmap` in a number of ``chunks`` of the batch, one after the other. Follows ``functorch.experimental.chunk_vmap``.

    >>> import rushlight as torch
    >>> from rushlight.func.vmap import chunk_vmap
    >>> chunk_vmap(torch.neg, chunks=2)(torch.arange(3))
    tensor([ 0, -1, -2])
    """
    _check_randomness(randomness)

    def mapped(*args, **kwargs):
        _check_out_dims(func, out_dims)
        batch = _Batch(func, in_dims, args)
        sizes = _sizes_of_chunks(batch.size, -(-batch.size // chunks))
        return _in_chunks(func, batch, sizes, out_dims, randomness, kwargs)

    return functools.wraps(func)(mapped) if hasattr(func, "__name__") else mapped


def _sizes_of_chunks(size, most):
    return [min(most, size - start) for start in range(0, size, most)]


def _in_chunks(func, batch, sizes, out_dims, randomness, kwargs):
    """The results for a batch, ``sizes`` of its entries at a time; for none or one such size, all at once."""
    if len(sizes) < 2:
        return _run(func, batch, batch.leaves, batch.size, out_dims, randomness, kwargs)
    parts, start = [], 0
    for size in sizes:
        leaves = [leaf if d is None else leaf.narrow(d, start, size) for leaf, d in zip(batch.leaves, batch.dims)]
        parts.append(trees.flatten(_run(func, batch, leaves, size, out_dims, randomness, kwargs)))
        start += size
    structure = parts[0][1]
    dims = _dims_of_results(func, out_dims, structure)
    columns = zip(*[leaves for leaves, _ in parts])
    joined = [column[0] if dim is None else functions.cat(column, dim) for column, dim in zip(columns, dims)]
    return trees.unflatten(joined, structure)


def _check_randomness(randomness):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            hinted(
                f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}",
                "'different' draws new numbers for each entry of the batch",
            )
        )


def _check_out_dims(func, out_dims):
    for dim in trees.leaves_of(out_dims):
        if not (dim is None or isinstance(dim, int)):
            raise ValueError(
                hinted(
                    f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                    "representing where in the outputs the vmapped dimension should appear.",
                    "0 puts the batch first, -1 last",
                )
            )


class _Batch:
    """The arguments of one call: their leaves, the batch dimension of each (None: shared), and the size of the batch."""

    def __init__(self, func: Callable[..., Any], in_dims: Any, args: Any) -> None:
        called = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                hinted(
                    f"{called}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                    f"{type(in_dims)}.",
                    "0 takes the first dimension of every argument",
                )
            )
        if not args:
            raise ValueError(
                hinted(
                    f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                    "function with no inputs. The latter is unsupported.",
                    "positional arguments are mapped; keyword arguments are shared",
                )
            )
        self.leaves, self.structure = trees.flatten(args)
        dims = trees.broadcast_prefix(in_dims, self.structure)
        if dims is None:
            raise ValueError(
                hinted(
                    f"{called}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                    f"{trees.flatten(in_dims)[1]} but inputs has structure {self.structure}.",
                    "give one entry for each positional argument",
                )
            )
        self.dims = [_checked_dim(called, leaf, dim) for leaf, dim in zip(self.leaves, dims)]
        self.size = _common_size([leaf.shape[dim] for leaf, dim in zip(self.leaves, self.dims) if dim is not None])


def _checked_dim(called, leaf, dim):
    """The batch dimension of one argument, counted from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            hinted(
                f"{called}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.",
                "None shares the argument among all entries",
            )
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            hinted(
                f"{called}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim",
                "other values are shared: in_dims=None for them",
            )
        )
    if leaf.is_nested:
        if dim:
            message = f"Nested tensors can only be vmapped over dim=0, but got dim={dim}"
            raise RuntimeError(hinted(message, "the batch is dimension 0"))
        raise NotImplementedError(
            hinted("vmap over nested tensors is not in this version", "[func(part) for part in x.unbind()]")
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            hinted(
                f"{called}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so expected "
                f"in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}.",
                f"its shape is {list(leaf.shape)}",
            )
        )
    return dim % leaf.dim()


def _common_size(sizes):
    if not sizes:
        raise ValueError(
            hinted("vmap: Expected at least one Tensor to vmap over", "in_dims is None for every argument")
        )
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            hinted(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension",
                "every mapped argument needs as many entries",
            )
        )
    return sizes[0]


def name_of(func):
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _run(func, batch, leaves, size, out_dims, randomness, kwargs):
    level = VmapLevel(size, randomness)
    with level.entered():
        inside = [leaf if dim is None else entering(level, leaf, dim) for leaf, dim in zip(leaves, batch.dims)]
        output = func(*trees.unflatten(inside, batch.structure), **kwargs)
        results, structure = trees.flatten(output)
        dims = _dims_of_results(func, out_dims, structure)
        results = [finished(level, name_of(func), result, dim) for result, dim in zip(results, dims)]
    return trees.unflatten(results, structure)


def _dims_of_results(func, out_dims, structure):
    """Where the batch of each result goes."""
    dims = trees.broadcast_prefix(out_dims, structure)
    if dims is None and structure.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = out_dims
    if dims is None:
        raise ValueError(
            hinted(
                f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                f"`outputs`. out_dims has structure {trees.flatten(out_dims)[1]} but outputs has structure {structure}.",
                "one int serves all results",
            )
        )
    return dims


def entering(level: Any, tensor: Tensor, dim: int) -> Any:
    """A tensor whose dimension ``dim`` is the batch, as the function inside ``level`` sees it."""
    with level.lowered():
        made = level.wrap(tensor if dim == 0 else tensor.movedim(dim, 0))
    if dim:
        made.batch_dim = dim
    return made


def leaving(level: Any, result: Any, dim: int) -> Any:
    """A result of the function as a tensor outside of ``level``, with the batch at ``dim``."""
    with level.lowered():
        value = level.batch(result)
        return value if dim == 0 else value.movedim(0, dim)


def finished(level, name, result, dim):
    """A result of the function of that name as it is outside of ``level``, with the batch at ``dim``; None: it has none."""
    if dim is None:
        if level.owns(result):
            raise ValueError(
                hinted(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None",
                    "a result that differs between the entries needs a batch dimension",
                )
            )
        return result
    if not isinstance(result, Tensor):
        raise ValueError(
            hinted(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. "
                "Did you mean to set out_dims= to None for output?",
                "compute other values outside of the mapped function",
            )
        )
    return leaving(level, result, dim)


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: Any, randomness: str) -> Any:
    """``func`` on batches, which also says where the batches of its results are: returns ``(results, out_dims)``.

    ``in_dims`` has the structure of the arguments; results without a batch have None for a dimension.
    """

    def mapped(*args):
        leaves, structure = trees.flatten(args)
        dims = trees.broadcast_prefix(in_dims, structure)
        level = VmapLevel(batch_size, randomness)
        with level.entered():
            inside = [leaf if dim is None else entering(level, leaf, dim) for leaf, dim in zip(leaves, dims)]
            results, structure = trees.flatten(func(*trees.unflatten(inside, structure)))
            found = [leaving(level, each, 0) if level.owns(each) else each for each in results]
        out_dims = [0 if level.owns(each) else None for each in results]
        return trees.unflatten(found, structure), trees.unflatten(out_dims, structure)

    return mapped


functions.vmap = vmap
