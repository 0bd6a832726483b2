"""Settings of machinery that Rushlight does not have: any can be set, told and restored, without effect."""

from __future__ import annotations

import contextlib
import functools
import sys
import types


class Settings(types.ModuleType):
    """``torch._dynamo.config``: attributes with first values; others exist once they are set."""

    def __init__(self, name, **values):
        super().__init__(name)
        self.__dict__.update(values)

    @classmethod
    def replace(cls, module, **values):
        """Put settings where the import system has just put a module, which is given by its globals."""
        own = {name: module[name] for name in ("__spec__", "__package__", "__file__", "__doc__")}
        name = module["__name__"]
        sys.modules[name] = cls(name, **own, __loader__=module["__spec__"].loader, **values)

    def __getattr__(self, name):
        known = self.__name__.replace("rushlight.compat.inside.", "torch.").replace("rushlight.", "torch.")
        raise AttributeError(f"{known}.{name} does not exist")

    def patch(self, settings=None, value=None, /, **more):
        """A context, or decorator, with other values: ``patch("name", value)``, ``patch({"name": value})``, ``patch(name=value)``."""
        given = {settings: value} if isinstance(settings, str) else dict(settings or {})
        return _Patch(self, {**given, **more})

    def save_config_portable(self, *, ignore_private_configs=True):
        """The values, as a dictionary."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def load_config(self, values):
        """Take the values of a dictionary."""
        self.__dict__.update(values)


class _Patch(contextlib.ContextDecorator):
    def __init__(self, settings, values):
        self.settings, self.values = settings, values

    def __enter__(self):
        found = vars(self.settings)
        self.before = {name: found[name] for name in self.values if name in found}
        found.update(self.values)

    def __exit__(self, *error):
        found = vars(self.settings)
        for name in self.values:
            found.pop(name, None)
        found.update(self.before)


def unchanged(name, purpose):
    """A mark for a compiler: the function itself, as a decorator with or without arguments."""

    def mark(fn=None, *args, **options):
        return fn if fn is not None else functools.partial(mark, *args, **options)

    mark.__name__ = mark.__qualname__ = name
    mark.__doc__ = f"{purpose}: the function itself, since nothing is compiled."
    return mark
