"""scatter, gather, replicate, parallel_apply: data parallelism over devices of which a machine without accelerators has none."""

from __future__ import annotations

import copy

from ...base.device import device as Device
from ...base.errors import hinted
from ...tensor import Tensor

_NO_DEVICES = "there are no accelerators here: call the module itself"


def _is_namedtuple(found):
    return isinstance(found, tuple) and hasattr(found, "_asdict") and hasattr(found, "_fields")


def _check_devices(devices):
    for each in devices:
        given = Device(each) if isinstance(each, str) else each
        if isinstance(given, Device) and given.type == "cpu":
            raise ValueError(hinted(f"Expected a non cpu device, but got: {given}", _NO_DEVICES))


def scatter(inputs, target_gpus, dim=0):
    """Slices of the tensors in ``inputs``, one for each device, and everything else as often: refused where there are tensors."""
    if isinstance(inputs, Tensor):
        _check_devices(target_gpus)
        raise AttributeError(hinted("module 'torch._C' has no attribute '_scatter'", _NO_DEVICES))
    if isinstance(inputs, (tuple, list)) and inputs:
        slices = zip(*(scatter(each, target_gpus, dim) for each in inputs))
        if _is_namedtuple(inputs):
            return [type(inputs)(*each) for each in slices]
        return [type(inputs)(each) if isinstance(inputs, list) else each for each in slices]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(each) for each in zip(*(scatter(item, target_gpus, dim) for item in inputs.items()))]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """`scatter` of positional and of named arguments, as many of either."""
    places = scatter(inputs, target_gpus, dim) if inputs else []
    names = scatter(kwargs, target_gpus, dim) if kwargs else []
    places += [()] * (len(names) - len(places))
    names += [{} for _ in range(len(places) - len(names))]
    return tuple(places), tuple(names)


def gather(outputs, target_device, dim=0):
    """What several devices gave, on one: tensors are joined, which needs devices."""
    first = outputs[0]
    if isinstance(first, Tensor):
        raise AssertionError(hinted("Gather function not implemented for CPU tensors", _NO_DEVICES))
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(each) != len(first) for each in outputs):
            raise ValueError(hinted("All dicts must have the same number of keys", "each device gives one dict"))
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    parts = (gather(each, target_device, dim) for each in zip(*outputs, strict=True))
    return type(first)._make(parts) if _is_namedtuple(first) else type(first)(parts)


def replicate(network, devices, detach=False):
    """A copy of a module for each device: only one that has no tensors can be copied without devices."""
    if not devices:
        return []
    _check_devices(devices)
    if next(iter([*network.parameters(), *network.buffers()]), None) is not None:
        raise AssertionError(hinted("Broadcast function not implemented for CPU tensors", _NO_DEVICES))
    return [copy.deepcopy(network) for _ in devices]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Run modules at the same time, each on its device: there are none here."""
    for what, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(given) != len(modules):
            raise AssertionError(
                hinted(
                    f"The number of modules {len(modules)} is not equal to the number of {what} {len(given)}",
                    "each module has its own",
                )
            )
    raise RuntimeError(hinted("Cannot access accelerator device when none is available.", _NO_DEVICES))


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Run a module on slices of the batch, one a device: there are none here."""
    raise RuntimeError(hinted("device type could not be determined", _NO_DEVICES))
