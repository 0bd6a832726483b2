"""Names of PyTorch's for which there is nothing in this version: programs import them and ask ``isinstance``; using one refuses."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import hinted


class _Absent(type):
    """Classes of which nothing is an instance: to make or look into one refuses."""

    _line: str
    _hint: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        cls._refuse()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        cls._refuse()

    def _refuse(cls) -> None:
        raise NotImplementedError(hinted(cls._line, cls._hint))


def is_absent(value: Any) -> bool:
    """Whether a value is a name for which there is nothing."""
    return isinstance(value, _Absent)


class AbsentNames:
    """The names of a package, ``{module below it: "name name ..."}``, and the ``hint`` of what to do instead.

    A name is the same class wherever it is asked for; ``there`` are those that are something after all.
    """

    def __init__(self, package: str, names: dict[str, str], hint: str, there: dict[str, Any] | None = None):
        self.package, self.names, self.hint = package, names, hint
        self.made: dict[str, Any] = dict(there or {})
        below = package.rpartition("inside.")[2].removeprefix("rushlight.")
        self.public = f"torch{below}" if below.startswith("vision.") else f"torch.{below}"

    def of(self, below: str) -> Any:
        """``__getattr__`` of a module; ``below`` is its name below the package, "" for the package itself."""
        known = frozenset(self.names[below].split())
        module = f"{self.package}.{below}".rstrip(".")

        def __getattr__(name: str) -> Any:
            if name not in known:
                raise AttributeError(f"module '{module}' has no attribute '{name}'")
            if name not in self.made:
                line = f"{self.public}: {name} is not in this version"
                parts = {"__module__": self.package, "__doc__": f"``{name}``: not in this version.", "_line": line}
                self.made[name] = _Absent(name, (), parts | {"_hint": self.hint})
            return self.made[name]

        return __getattr__

    def make_modules(self) -> None:
        """Put the modules that hold such names alone where an import finds them; those that have files of their own stay."""
        folder = Path(sys.modules[self.package].__path__[0])
        for below in self.names:
            name = f"{self.package}.{below}"
            place = folder.joinpath(*below.split("."))
            if below and name not in sys.modules and not place.is_dir() and not place.with_suffix(".py").is_file():
                module = ModuleType(name, f"``{self.public}.{below}``: not in this version.")
                module.__spec__ = ModuleSpec(name, None, is_package=True)
                module.__path__, module.__package__ = [], name
                module.__getattr__ = self.of(below)  # type: ignore[method-assign]
                sys.modules[name] = module
                parent, _, own = name.rpartition(".")
                if parent in sys.modules:  # else it has a file of its own, and is imported when it is asked for
                    setattr(sys.modules[parent], own, module)
