"""States of FullyShardedDataParallel by parameters' plain names: those of optimizers, whose parameters are flat, and divided ones."""

from __future__ import annotations

from typing import Any

from ...autograd import no_grad
from ...base.errors import hinted
from ...nn import Module
from ...tensor import Tensor
from ..device_mesh import DeviceMesh
from ..placements import Shard
from ..tensor.dtensor import from_part, part_of
from .units import Unit

_WRAPPED = "_fsdp_wrapped_module."


def names_of(model: Module, units: list[Unit]) -> dict[int, list[str]]:
    """The plain names of the parameters of each unit, by its id, in their order in the flat tensor."""
    prefixes = {id(module): name for name, module in model.named_modules()}
    found = {}
    for unit in units:
        names = []
        for place in unit.places:
            module, own = place.holders[0]
            prefix = prefixes.get(id(module), "")
            names.append(f"{prefix}.{own}".lstrip(".").replace(_WRAPPED, ""))
        found[id(unit)] = names
    return found


def divided(value: Tensor, mesh: DeviceMesh) -> Any:
    """The DTensor, cut along dimension 0, of a whole tensor that all processes have; one without dimensions as it is."""
    if not value.dim():
        return value
    with no_grad():
        placements = (Shard(0),)
        return from_part(part_of(value.detach(), mesh, placements), mesh, placements, tuple(value.shape))


def optimizer_state(model: Module, optimizer: Any, units: list[Unit], sharded: bool, keep: bool) -> dict[str, Any]:
    """The state of an optimizer by plain names; all processes call this, and those that do not ``keep`` it get {}.

    Raises:
        ValueError: the optimizer has parameters of no unit that are not the model's.
    """
    by_part = {id(unit.part): unit for unit in units}
    names, plain = names_of(model, units), {id(each): name for name, each in model.named_parameters()}
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = []
        for parameter in group["params"]:
            values, unit = optimizer.state.get(parameter, {}), by_part.get(id(parameter))
            if unit is None:
                if id(parameter) not in plain:
                    message = "optim_state_dict: the optimizer has a parameter that is not in the model"
                    raise ValueError(hinted(message, "make it of model.parameters() after the wrapping"))
                own.append(plain[id(parameter)].replace(_WRAPPED, ""))
                if values:
                    state[own[-1]] = dict(values)
                continue
            own += names[id(unit)]
            for name, value in zip(names[id(unit)], _each(unit, values, sharded)):
                if value:
                    state[name] = value
        groups.append({**{key: value for key, value in group.items() if key != "params"}, "params": own})
    return {"state": state, "param_groups": groups} if keep else {}


def _each(unit: Unit, values: dict[str, Any], sharded: bool) -> list[dict[str, Any]]:
    """The state of each parameter of a unit, whose flat tensor has the state ``values``."""
    made: list[dict[str, Any]] = [{} for _ in unit.places]
    mesh = DeviceMesh.from_group(unit.group, "cpu") if sharded else None
    for key, value in values.items():
        flat = isinstance(value, Tensor) and value.shape == unit.part.shape
        whole = unit.gather(value, None) if flat else None
        for place, found in zip(unit.places, made):
            if whole is None:
                found[key] = value
            else:
                one = whole[place.start : place.start + place.elements].view(place.shape)
                found[key] = one.clone() if mesh is None else divided(one, mesh)
    return made


def optimizer_state_to_load(model: Module, optimizer: Any, units: list[Unit], given: dict[str, Any]) -> dict[str, Any]:
    """What ``optimizer.load_state_dict`` takes, of a state by plain names; all processes call this, each with the whole."""
    by_part = {id(unit.part): unit for unit in units}
    names, plain = names_of(model, units), {id(each): name for name, each in model.named_parameters()}
    saved = {name: group for group in given["param_groups"] for name in group["params"]}
    state: dict[int, Any] = {}
    groups, number = [], 0
    for group in optimizer.param_groups:
        options, numbers = group, []
        for parameter in group["params"]:
            unit = by_part.get(id(parameter))
            own = [plain[id(parameter)].replace(_WRAPPED, "")] if unit is None else names[id(unit)]
            options = next((saved[name] for name in own if name in saved), options)
            values = [given["state"][name] for name in own if name in given["state"]]
            if values:
                state[number] = values[0] if unit is None else _joined(unit, values)
            numbers.append(number)
            number += 1
        groups.append({**{key: value for key, value in options.items() if key != "params"}, "params": numbers})
    return {"state": state, "param_groups": groups}


def _joined(unit: Unit, values: list[dict[str, Any]]) -> dict[str, Any]:
    """The state of a unit's flat tensor, of those of its parameters."""
    if len(values) != len(unit.places):
        message = "optim_state_dict_to_load: some parameters of a unit have a state, others have not"
        raise ValueError(hinted(message, "those that share a flat tensor have theirs together"))
    made = {}
    for key, first in values[0].items():
        if isinstance(first, Tensor) and first.shape == unit.places[0].shape and first.dim():
            made[key] = unit.flattened([whole(each[key]) for each in values])
        else:
            made[key] = first
    return made


def whole(value: Any) -> Any:
    """A tensor that may be divided, whole."""
    return value.full_tensor() if hasattr(value, "full_tensor") else value
