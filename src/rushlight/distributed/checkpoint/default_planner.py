"""``torch.distributed.checkpoint.default_planner``: nested state dicts by paths, parts of DTensors, everything once."""

from __future__ import annotations

import io
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from ...base.errors import hinted
from ...base.size import Size
from ...serialization import load, save
from ...tensor import Tensor
from ..tensor import DTensor
from ..tensor.parts import local_part
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

_VERSION = "1.0.0"
_WHERE = "the checkpoint was saved from another model, or under other names"


def flatten(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """({"model.weight": tensor, ...}, {"model.weight": ("model", "weight"), ...}) of nested dicts and lists.

    Lists without tensors, dicts or lists in them are values.
    """
    flat: dict[str, Any] = {}
    paths: dict[str, tuple[Any, ...]] = {}

    def visit(path: tuple[Any, ...], value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                visit((*path, str(key) if not isinstance(key, int) else key), each)
        elif isinstance(value, list) and any(isinstance(each, (Tensor, Mapping, list)) for each in value):
            for place, each in enumerate(value):
                visit((*path, place), each)
        else:
            name = ".".join(map(str, path))
            if name in flat:
                raise ValueError(hinted(f"duplicated flatten key {name}", "two paths of the state dict have one name"))
            flat[name], paths[name] = value, path

    visit((), state_dict)
    return flat, paths


def set_at(state_dict: Any, path: tuple[Any, ...], value: Any) -> None:
    """Put a value where its path leads, through dicts and lists that are made on the way."""
    held = state_dict
    for key, following in zip(path, path[1:]):
        made: Any = [] if isinstance(following, int) else {}
        if isinstance(held, list):
            held += [None] * (key + 1 - len(held))
            if held[key] is None:
                held[key] = made
        elif isinstance(held, MutableMapping):
            held.setdefault(key, made)
        held = held[key]
    if isinstance(held, list):
        held += [None] * (path[-1] + 1 - len(held))
    held[path[-1]] = value


def own_chunk(tensor: Any) -> tuple[Any, Any, Any]:
    """(the part that this process has, a plain tensor; its offsets; its size)."""
    if not isinstance(tensor, DTensor):
        return tensor.detach(), Size((0,) * tensor.dim()), tensor.shape
    sizes, offsets = local_part(tensor.shape, tensor.device_mesh, tensor.placements)
    if any(each.is_partial() for each in tensor.placements):
        message = "a DTensor with Partial placements cannot be saved"
        raise ValueError(hinted(message, "redistribute it to Replicate or Shard before"))
    return tensor._local_tensor, Size(offsets), Size(sizes)


class DefaultSavePlanner(SavePlanner):
    """Writes every value once: whole tensors and other values by the process that has the least to write so far.

    Args:
        flatten_state_dict (bool): save values of nested dicts each by its path. Default: True
        flatten_sharded_tensors, dedup_replicated_tensors, dedup_save_to_lowest_rank, enable_plan_caching: accepted.

    Follows ``torch.distributed.checkpoint.DefaultSavePlanner``.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False, enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.state_dict: dict[str, Any] = {}
        self.mappings: dict[str, tuple[Any, ...]] = {}
        self.is_coordinator = False

    def set_up_planner(self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False) -> None:
        self.is_coordinator = is_coordinator
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten(state_dict)
        else:
            self.state_dict = dict(state_dict)

    def create_local_plan(self) -> SavePlan:
        items = []
        for name, value in self.state_dict.items():
            if isinstance(value, Tensor):
                item = _tensor_item(name, value)
                if item is not None:
                    items.append(item)
            elif self.is_coordinator:
                items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
        return SavePlan(items, planner_data=self.mappings)

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans = without_copies(all_plans, self.dedup_save_to_lowest_rank)
        entries: dict[str, Any] = {}
        for rank, plan in enumerate(plans):
            numbered = []
            for item in plan.items:
                name, data = item.index.fqn, item.tensor_data
                if data is None:
                    entries[name] = BytesStorageMetadata()
                else:
                    entry = entries.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
                    item = replace(item, index=MetadataIndex(name, item.index.offset, len(entry.chunks)))
                    entry.chunks.append(data.chunk)
                numbered.append(item)
            plans[rank] = replace(plan, items=numbered)
        paths = {name: path for plan in all_plans for name, path in (plan.planner_data or {}).items()}
        return plans, Metadata(entries, planner_data=paths, version=_VERSION)

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        value = self.state_dict[write_item.index.fqn]
        if isinstance(value, Tensor):
            return own_chunk(value)[0]
        file = io.BytesIO()
        save(value, file)
        return file


def _tensor_item(name: str, tensor: Any) -> WriteItem | None:
    """The part of a tensor that this process has; None where it is not in the mesh."""
    _, offsets, sizes = own_chunk(tensor)
    if isinstance(tensor, DTensor) and tensor.device_mesh.get_coordinate() is None:
        return None
    data = TensorWriteData(
        ChunkStorageMetadata(offsets, sizes), TensorProperties(dtype=tensor.dtype), Size(tensor.shape)
    )
    kind = WriteItemType.SHARD if isinstance(tensor, DTensor) else WriteItemType.TENSOR
    return WriteItem(MetadataIndex(name, offsets), kind, tensor_data=data)


def without_copies(plans: list[SavePlan], lowest: bool) -> list[SavePlan]:
    """Plans in which each item stands once: in the one that has the fewest bytes so far, or with ``lowest`` in the first."""
    holders: dict[MetadataIndex, list[int]] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders.setdefault(item.index, []).append(rank)
    chosen: dict[MetadataIndex, int] = {}
    load_of = [0] * len(plans)
    for plan in plans:
        for item in plan.items:
            if item.index not in chosen:
                ranks = holders[item.index]
                rank = ranks[0] if lowest else min(ranks, key=lambda each: load_of[each])
                chosen[item.index] = rank
                load_of[rank] += item.tensor_storage_size() or 1
    return [
        replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


class DefaultLoadPlanner(LoadPlanner):
    """Reads into the tensors of a state dict, however they were cut when they were saved.

    Args:
        flatten_state_dict (bool): values of nested dicts each have their path. Default: True
        flatten_sharded_tensors: accepted.
        allow_partial_load (bool): leave out what the checkpoint does not hold. Default: False

    Follows ``torch.distributed.checkpoint.DefaultLoadPlanner``.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.original_state_dict: Any = {}
        self.state_dict: dict[str, Any] = {}
        self.mappings: dict[str, tuple[Any, ...]] = {}
        self.metadata: Metadata | None = None

    def set_up_planner(self, state_dict: Any, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        self.original_state_dict, self.metadata = state_dict, metadata
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten(state_dict)
        else:
            self.state_dict, self.mappings = dict(state_dict), {name: (name,) for name in state_dict}

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        items: list[ReadItem] = []
        for name, value in self.state_dict.items():
            entry = self.metadata.state_dict_metadata.get(name)
            if entry is None:
                if self.allow_partial_load:
                    continue
                raise RuntimeError(hinted(f"Missing key in checkpoint state_dict: {name}.", _WHERE))
            if isinstance(entry, BytesStorageMetadata):
                index = MetadataIndex(name)
                items.append(ReadItem(LoadItemType.BYTE_IO, index, Size((0,)), index, Size((0,)), Size((0,))))
            elif not isinstance(value, Tensor):
                message = (
                    f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(entry)}"
                )
                raise ValueError(hinted(message, "the checkpoint has a tensor there"))
            else:
                items += _read_items(name, value, entry)
        return LoadPlan(items)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: Any) -> None:
        name = read_item.dest_index.fqn
        set_at(self.original_state_dict, self.mappings[name], load(value, weights_only=False))

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        part = own_chunk(self.state_dict[read_item.dest_index.fqn])[0]
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths)):
            part = part.narrow(dim, start, length)
        return part


def _read_items(name: str, tensor: Any, entry: TensorStorageMetadata) -> list[ReadItem]:
    """What is read of each stored part that meets the part that this process has."""
    if tuple(entry.size) != tuple(tensor.shape):
        message = f"Size mismatch between saved {Size(entry.size)} and current: {tensor.shape} for {name}"
        raise ValueError(hinted(message, _WHERE))
    _, offsets, sizes = own_chunk(tensor)
    items = []
    for number, chunk in enumerate(entry.chunks):
        starts = [max(own, its) for own, its in zip(offsets, chunk.offsets)]
        ends = [min(o + s, i + t) for o, s, i, t in zip(offsets, sizes, chunk.offsets, chunk.sizes)]
        lengths = [end - start for start, end in zip(starts, ends)]
        if all(length > 0 for length in lengths):
            items.append(
                ReadItem(
                    LoadItemType.TENSOR, MetadataIndex(name, offsets), Size([s - o for s, o in zip(starts, offsets)]),
                    MetadataIndex(name, chunk.offsets, number), Size([s - o for s, o in zip(starts, chunk.offsets)]), Size(lengths),
                )
            )  # fmt: skip
    return items
