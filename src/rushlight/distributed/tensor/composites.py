"""What is written with other operations, for DTensors: new tensors that lie as a given one does, and other shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.table import functions
from ...tensor.layout_calls import LayoutCalls
from ..placements import Partial, Replicate
from .calls import sharded
from .dtensor import DTensor, from_part
from .parts import Placements

_CALLS = LayoutCalls(DTensor)
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
_NEW = ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor")


def _without_partial(placements: Placements) -> Placements:
    return tuple([Replicate() if isinstance(each, Partial) else each for each in placements])


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(input: Any, *args: Any, requires_grad: bool = False, **options: Any) -> Any:
        array = input._array
        local = function(input._local_tensor, *args, **options)
        found = sharded(local, array.mesh, _without_partial(array.placements), array.shape)
        return found.requires_grad_(requires_grad)

    return made


def _new(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(input: Any, *args: Any, requires_grad: bool = False, **options: Any) -> Any:
        mesh = input._array.mesh
        local = function(input._local_tensor, *args, **options)
        return from_part(local, mesh, (Replicate(),) * mesh.ndim, local.shape).requires_grad_(requires_grad)

    return made


@_CALLS.takes("reshape")
def _reshape(input: Any, *shape: Any) -> Any:
    lengths = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return functions.view_shape(input, tuple(lengths))


for _name in _LIKE:
    _CALLS.takes(_name)(_like(getattr(functions, _name)))
for _name in _NEW:
    _CALLS.takes(_name)(_new(getattr(functions, _name)))
