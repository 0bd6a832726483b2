"""``torch.distributed.pipelining.microbatch``: batches in parts, and the parts' results as one."""

from __future__ import annotations

from typing import Any

from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor


class TensorChunkSpec:
    """Along which dimension a tensor is cut."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"rushlight.distributed.pipelining.microbatch.TensorChunkSpec({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"


def _parts(value: Any, count: int, spec: Any) -> list[Any]:
    """A value in parts: a tensor cut along a dimension, anything else as it is in each."""
    if not isinstance(value, Tensor):
        return [value] * count
    dim = spec.split_dim if isinstance(spec, TensorChunkSpec) else 0
    if value.shape[dim] < count:
        message = (
            f"Arg 0 on chunk_dim={dim} has size {value.shape[dim]}, which is less than the number of chunks {count}"
        )
        raise RuntimeError(hinted(message, "a batch has at least one sample for each part"))
    return list(functions.tensor_split(value, count, dim))


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[Any], list[dict[str, Any]]]:
    """The arguments of each part of a batch, by place and by name."""
    kwargs = kwargs or {}
    places = args_chunk_spec or (None,) * len(args)
    names = kwargs_chunk_spec or {}
    by_place = [_parts(value, chunks, spec) for value, spec in zip(args, places, strict=True)]
    by_name = {name: _parts(value, chunks, names.get(name)) for name, value in kwargs.items()}
    return (
        [tuple(each[number] for each in by_place) for number in range(chunks)],
        [{name: each[number] for name, each in by_name.items()} for number in range(chunks)],
    )


def merge_chunks(chunks: list[Any], chunk_spec: Any = None) -> Any:
    """The results of all parts as one: tensors behind each other, of tuples and dicts each entry."""
    first = chunks[0]
    if isinstance(first, Tensor):
        dim = chunk_spec.split_dim if isinstance(chunk_spec, TensorChunkSpec) else 0
        return functions.cat(chunks, dim)
    if isinstance(first, (tuple, list)):
        specs = chunk_spec if isinstance(chunk_spec, (tuple, list)) else (None,) * len(first)
        return type(first)(merge_chunks(list(each), spec) for each, spec in zip(zip(*chunks), specs))
    if isinstance(first, dict):
        return {name: merge_chunks([each[name] for each in chunks], (chunk_spec or {}).get(name)) for name in first}
    return first
