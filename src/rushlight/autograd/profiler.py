"""``torch.autograd.profiler``: what lives in the room ``profiler``, which is loaded when a name is asked for."""

from importlib import import_module

_MODULES = {
    "blocks": ("profile", "record_function", "kineto_available"),
    "steps": ("KinetoStepTracker", "emit_itt", "emit_nvtx", "load_nvprof", "EnforceUnique"),
    "kinds": ("DeviceType", "ProfilerActivity", "ProfilerState", "_ExperimentalConfig"),
    "event_list": ("EventList",),
    "events": ("FunctionEvent", "MemRecordsAcc"),
    "building": ("MEMORY_EVENT_NAME",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name):
    if name in _WHERE:
        return getattr(import_module(f"rushlight.profiler.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_WHERE})
