"""``torch.autograd.profiler_util``: the events of profiles, which live in the room ``profiler``."""

from importlib import import_module

_MODULES = {
    "event_list": ("EventList",),
    "events": (
        "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "MemRecordsAcc", "StringTable"
    ),
    "kinds": ("DeviceType",),
    "building": ("MEMORY_EVENT_NAME",),
}  # fmt: skip
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name):
    if name in _WHERE:
        return getattr(import_module(f"rushlight.profiler.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_WHERE})
