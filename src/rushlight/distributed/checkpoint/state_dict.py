"""``torch.distributed.checkpoint.state_dict``: states of models and optimizers by plain names, however they are wrapped or divided."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...autograd import no_grad
from ...base.errors import hinted
from ...nn import Module
from ...ops.table import functions
from ...optim import Optimizer
from ...tensor import Tensor
from ..fsdp import FullyShardedDataParallel
from ..groups import default_group, is_initialized
from ..objects import broadcast_object_list
from ..tensor import DTensor
from ..tensor.dtensor import lying_as

_WRAPPERS = ("module.", "_fsdp_wrapped_module.", "_orig_mod.", "_checkpoint_wrapped_module.")


@dataclass
class StateDictOptions:
    """What the functions here give and take.

    ``full_state_dict``: whole tensors; ``cpu_offload``, with it: in process 0 alone; ``ignore_frozen_params``: without parameters that
    require no gradient; ``strict``: all names have to be there; ``broadcast_from_rank0``, with ``full_state_dict``: what process 0
    has counts; ``flatten_optimizer_state_dict``: names such as ``state.weight.exp_avg`` in place of nested dicts.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    made = StateDictOptions() if options is None else options
    if made.broadcast_from_rank0 and not made.full_state_dict:
        raise ValueError(hinted("full_state_dict must be True when broadcast_from_rank0 is True.", "set both"))
    if submodules is not None or not made.keep_submodule_prefixes:
        raise NotImplementedError(hinted("state dicts of submodules are not in this version", "take that of the model"))
    return made


def plain_name(model: Module, name: str) -> str:
    """The name that a parameter or buffer has without the modules that wrap others."""
    found, held = [], model
    parts = name.split(".")
    for place, part in enumerate(parts):
        wraps = (
            f"{part}." in _WRAPPERS
            and place + 1 < len(parts)
            and len(list(held.children())) == 1
            and not list(held.parameters(recurse=False))
        )
        if not (wraps and (part != "module" or type(held).__name__ in ("DistributedDataParallel", "DataParallel"))):
            found.append(part)
        held = getattr(held, part, held)
    return ".".join(found)


def _has_flat(model: Module) -> bool:
    return any(isinstance(each, FullyShardedDataParallel) for each in model.modules())


def _kept_here(options: StateDictOptions) -> bool:
    """Whether this process keeps whole tensors."""
    return not (options.full_state_dict and options.cpu_offload and is_initialized() and default_group().rank())


def _whole(value: Any, options: StateDictOptions) -> Any:
    """A value, gathered where whole tensors are wanted; all processes call this in the same order."""
    if isinstance(value, DTensor) and options.full_state_dict:
        with no_grad():
            return value.full_tensor()
    return value


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model by plain names: whole tensors, or DTensors where it is divided.

    >>> import rushlight as torch
    >>> from rushlight.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(2, 2)))
    ['weight', 'bias']
    """
    info = _checked(options, submodules)
    frozen = {plain_name(model, name) for name, each in model.named_parameters() if not each.requires_grad}
    found: dict[str, Any] = OrderedDict()
    for name, value in model.state_dict().items():
        plain = plain_name(model, name)
        if not (info.ignore_frozen_params and plain in frozen):
            found[plain] = _whole(value, info)
    return found if _kept_here(info) else {}


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state of `get_model_state_dict` into a model, divided as that may be. Returns the names that are missing or unexpected."""
    info = _checked(options)
    given = _from_first(model_state_dict) if info.broadcast_from_rank0 else model_state_dict
    if _has_flat(model):
        return model.load_state_dict(given, strict=info.strict)
    own = {plain_name(model, name): (name, value) for name, value in model.state_dict().items()}
    loaded = {}
    for name, value in given.items():
        full, held = own.get(name, (name, None))
        loaded[full] = _as_held(value, held)
    without_numbers = any(each.is_meta for each in model.parameters())
    return model.load_state_dict(loaded, strict=info.strict, assign=without_numbers)


def _as_held(value: Any, held: Any) -> Any:
    """A tensor as it lies where ``held`` does."""
    if isinstance(held, DTensor) and isinstance(value, Tensor) and value.shape == held.shape:
        with no_grad():
            return lying_as(value, held)
    return value


def _from_first(state: Any) -> Any:
    """What process 0 has."""
    if not is_initialized() or default_group().size() == 1:
        return state
    told = [state if default_group().rank() == 0 else None]
    broadcast_object_list(told, src=0)
    return told[0]


# ---------------------------------------------------------------- optimizers


def _listed(optimizers: Any) -> tuple[Optimizer, ...]:
    return (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)


def _names(model: Module) -> dict[int, str]:
    return {id(each): plain_name(model, name) for name, each in model.named_parameters()}


def _parameters(optimizer: Optimizer) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _init_optim_state(optimizer: Optimizer) -> None:
    """Let an optimizer that has no state yet have that of before its first step: a step of nothing, at rate 0."""
    if optimizer.state or any(each.grad is not None for each in _parameters(optimizer)):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for each in _parameters(optimizer):
        if each.requires_grad:
            each.grad = functions.zeros_like(each)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = functions.tensor(0.0) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _state_of(model: Module, optimizer: Optimizer, options: StateDictOptions) -> dict[str, Any]:
    """The state of one optimizer by names of parameters."""
    if _has_flat(model):
        return FullyShardedDataParallel.optim_state_dict(model, optimizer)
    _init_optim_state(optimizer)
    names = _names(model)
    frozen = (
        {id(each) for each in _parameters(optimizer) if not each.requires_grad}
        if options.ignore_frozen_params
        else set()
    )
    state = {}
    for parameter in _parameters(optimizer):
        values = optimizer.state.get(parameter)
        if values and id(parameter) not in frozen:
            state[names[id(parameter)]] = {name: _whole(value, options) for name, value in values.items()}
    groups = [
        {**{name: value for name, value in group.items() if name != "params"},
         "params": [names[id(each)] for each in group["params"] if id(each) not in frozen]}
        for group in optimizer.param_groups
    ]  # fmt: skip
    return {"state": state, "param_groups": groups}


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The state of a model's optimizers by the plain names of parameters, instead of their numbers."""
    info = _checked(options, submodules)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        one = _state_of(model, optimizer, info)
        found["state"] |= one["state"]
        found["param_groups"] += one["param_groups"]
    if info.flatten_optimizer_state_dict:
        found = _flat(found)
    return found if _kept_here(info) else {}


def _flat(nested: dict[str, Any]) -> dict[str, Any]:
    found = {f"state.{name}.{key}": value for name, values in nested["state"].items() for key, value in values.items()}
    for group in nested["param_groups"]:
        options = [(key, value) for key, value in group.items() if key != "params"]
        found |= {f"param_groups.{name}.{key}": value for name in group["params"] for key, value in options}
    return found


def _nested(flat: dict[str, Any], model: Module, optimizers: tuple[Optimizer, ...]) -> dict[str, Any]:
    """What `_flat` made flat."""
    names = _names(model)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            own = [names[id(each)] for each in group["params"]]
            for name in own:
                values = {
                    key.removeprefix(f"state.{name}."): value
                    for key, value in flat.items()
                    if key.startswith(f"state.{name}.")
                }
                if values:
                    found["state"][name] = values
            options = {
                key: flat.get(f"param_groups.{own[0]}.{key}", value) for key, value in group.items() if key != "params"
            }
            found["param_groups"].append({**options, "params": own})
    return found


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:  # fmt: skip
    """Load a state of `get_optimizer_state_dict` into a model's optimizers, divided as they may be."""
    info, listed = _checked(options), _listed(optimizers)
    given = _from_first(optim_state_dict) if info.broadcast_from_rank0 else optim_state_dict
    if info.flatten_optimizer_state_dict:
        given = _nested(given, model, listed)
    names = {} if _has_flat(model) else _names(model)
    for optimizer in listed:
        if _has_flat(model):
            optimizer.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(model, optimizer, given))
            continue
        _init_optim_state(optimizer)
        state, groups, number = {}, [], 0
        by_name = {name: group for group in given["param_groups"] for name in group["params"]}
        for group in optimizer.param_groups:
            numbers = []
            for parameter in group["params"]:
                name = names[id(parameter)]
                if name in given["state"]:
                    held = optimizer.state.get(parameter, {})
                    state[number] = {key: _as_held(value, held.get(key)) for key, value in given["state"][name].items()}
                elif info.strict and parameter.requires_grad and optimizer.state.get(parameter):
                    message = f"Missing optimizer state for parameter '{name}' in checkpoint."
                    raise RuntimeError(hinted(message, "strict=False leaves such states as they are"))
                numbers.append(number)
                number += 1
            saved = next((by_name[names[id(each)]] for each in group["params"] if names[id(each)] in by_name), group)
            groups.append({**{key: value for key, value in saved.items() if key != "params"}, "params": numbers})
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """`get_model_state_dict` and `get_optimizer_state_dict`."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """`set_model_state_dict`, whose result it gives, and `set_optimizer_state_dict`."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    if _listed(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
