"""What a file's names and storages mean while it is read: ties the interpreter to its tables."""

from __future__ import annotations

import enum
import functools
import sys
from types import FunctionType

from . import constructors, foreign, program, trusted
from .messages import malformed, printable, refused, unsupported_global
from .settings import safe_globals_by_name
from .storages import claim
from .unpickler import Unpickler

_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_PYTHON_2_NAMES = {"builtins.xrange": "builtins.range"}


def dotted(module, name):
    """The name of a global as Python 3 spells it."""
    full = f"{_PYTHON_2.get(module, module)}.{name}"
    return _PYTHON_2_NAMES.get(full, full)


class PickledObjects:
    """Reads the pickled objects of one checkpoint.

    ``make_storage(nbytes, dtype, key, location)`` makes the Storage of a key the first time it is met.
    """

    def __init__(self, make_storage, weights_only=True, encoding="utf-8"):
        self.make_storage, self.weights_only, self.encoding = make_storage, weights_only, encoding
        self.storages = {}
        self._trusted = safe_globals_by_name()
        self._made_types = set()  # of the program's classes that this file has named; their objects are of its making
        self._callables = trusted.tokens(lambda value: type(value) in self._made_types)

    def load(self, file, size):
        """The next pickled object of the file, which is at most ``size`` bytes long."""
        result = Unpickler(file, size, self.find, self.storage, self.set_state, self.encoding).load()
        if any(storage.unused for storage in self.storages.values()):
            raise refused("a storage that no tensor uses", "save tensors, not their storages", self.weights_only)
        return result

    def find(self, module, name):
        """The token or value that a global of the stream stands for, from the tables and nowhere else."""
        full = dotted(module, name)
        found = constructors.TABLE.get(full)
        if found is not None:
            return found
        listed = self._trusted.get(full)
        if listed is not None or not self.weights_only or self._serves_listed(full):
            found = foreign.table().get(full)
            if found is None and not self.weights_only:
                found = self._callables.get(full)
            if found is not None:
                return found
        found = listed
        if found is None:
            found = program.lookup(module, name)
            if self.weights_only and not self._is_listed_function(found):
                found = None
        if found is None:
            raise unsupported_global(_printed(full), self._hint(full, module, name), self.weights_only)
        token = trusted.token_for(full, found, listed is not None)
        if isinstance(found, type) and not isinstance(found, enum.EnumMeta):
            self._made_types.add(found)
        return token

    def _is_listed_function(self, found):
        """Whether a function of ours is trusted that files of PyTorch's name differently (``torch._C._nn.gelu``)."""
        return isinstance(found, FunctionType) and any(found is listed for listed in self._trusted.values())

    def _serves_listed(self, full):
        """NumPy's dtype and rebuilding functions come along once any NumPy name or one of its parts is trusted."""
        return full.startswith("numpy.") and any(name.startswith("numpy.") for name in self._trusted)

    def _hint(self, full, module, name):
        if full in foreign.table():
            return (
                "it is plain data: load(..., weights_only=False) reads it, as does "
                f"torch.serialization.add_safe_globals([{_printed(full)}]); no code runs either way"
            )
        if self.weights_only and program.lookup(module, name) is not None:
            return (
                "the file holds a whole module or object: load(..., weights_only=False) rebuilds it from the classes that "
                "the program has imported; or save its state_dict(), and load that with load_state_dict()"
            )
        top = module.partition(".")[0]
        if top in ("torch", "torchvision", "rushlight"):
            return "it is a part of PyTorch that this version does not rebuild; save tensors and state_dicts"
        if module not in sys.modules and not self.weights_only:
            return f"nothing in a file is imported: import {_printed(module)} before, if you trust it"
        return "Rushlight never calls what a file names. Save plain data (model.state_dict()), or, " + trusted.way_out(
            module, name
        )

    def storage(self, fields):
        """The Storage of a persistent id. Later claims on a key must agree with the first."""
        kind, key, location, nbytes = claim(fields)
        known = self.storages.get(key)
        if known is None:
            known = self.storages[key] = self.make_storage(nbytes, kind.dtype, key, location)
        elif known.nbytes() != nbytes or known.dtype is not kind.dtype:
            raise malformed("two different claims about one storage")
        return known

    def set_state(self, target, state):
        """BUILD: state goes into objects of the tables and of trusted classes only."""
        if type(target) in self._made_types:
            trusted.set_state(target, state)
        elif type(target) is functools.partial:
            trusted.set_partial(target, state)
        elif not foreign.set_state(target, state):
            constructors.set_state(target, state)


def _printed(name):
    return printable(name.removeprefix("builtins."))
