"""``torch.ops``: operations by namespace, name and overload: ``torch.ops.aten.add.Tensor``, and those of ``torch.library``."""

from __future__ import annotations

import os as _os
import sys as _sys
import types as _types
from importlib import import_module as _import_module

from ...base.errors import hinted as _hinted
from ...export.operations import operation as _table_operation
from ...tensor.classes import PLAIN_CLASSES as _PLAIN_CLASSES
from ...tensor.overrides import torch_function as _torch_function
from ...utils.dispatching import what_waits as _what_waits
from ...utils.native_operations import native_operation as _native_operation
from ..aten import operation as _aten_operation
from ..modes import call_in_modes as _call_in_modes
from ..operators import REGISTERED as _REGISTERED
from ..operators import operation_at as _operation_at


class OpOverload:
    """One overload of an operation: called like the operation, which looks at its arguments itself."""

    def __init__(self, packet, overload):
        self._packet, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = packet.__module__
        self.namespace = packet.namespace

    @property
    def overloadpacket(self):
        """The operation."""
        return self._packet

    def name(self):
        """``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._packet._qualified_op_name}{suffix}"

    def __call__(self, *args, **kwargs):
        return _called(self, _what_waits(self) or self._packet._op, args, kwargs)

    def __reduce__(self):
        return _operation_at, (str(self),)

    def __repr__(self):
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._packet}.{self._overloadname}"


class OpOverloadPacket:
    """An operation of a namespace."""

    def __init__(self, namespace, name, function):
        self.namespace, self.__name__, self._op = namespace, name, function
        self.__module__ = f"torch.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._found = {}

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(overload)
        if overload not in self._found:
            self._found[overload] = OpOverload(self, overload)
        return self._found[overload]

    def __call__(self, *args, **kwargs):
        return _called(self, self._op, args, kwargs)

    def __reduce__(self):
        return _operation_at, (str(self),)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"


def _called(operation, run, args, kwargs):
    """Call an operation, unless a mode, or the ``__torch_function__`` of an argument, does it: they see the operation itself."""

    def call(*args, **kwargs):
        found = _torch_function(operation, args, kwargs, _PLAIN_CLASSES)
        return run(*args, **kwargs) if found is NotImplemented else found

    return _call_in_modes(operation, call, args, kwargs)


class _OpNamespace(_types.ModuleType):
    """The operations of a library."""

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name):
        registered = _REGISTERED.get((self.name, name))
        if registered is not None:  # of the program, which may define it anew: not kept here
            registered.packet = registered.packet or OpOverloadPacket(self.name, name, registered.compute)
            return registered.packet
        function = _operation(self.name, name)
        if function is None:
            raise AttributeError(
                _hinted(
                    f"'_OpNamespace' '{self.name}' object has no attribute '{name}'",
                    f"Rushlight has no operation {self.name}::{name}; torch.library.custom_op defines operations",
                )
            )
        packet = OpOverloadPacket(self.name, name, function)
        setattr(self, name, packet)
        return packet


def _operation(namespace, name):
    """The function of an operation that is PyTorch's own; None where there is none."""
    if namespace == "profiler":
        return _import_module("rushlight.profiler.operations").OPERATIONS.get(name)
    if namespace == "rushlight":
        return _table_operation(name)
    if namespace != "aten" or name.startswith("__"):
        return None
    return _aten_operation(name) or _native_operation(name)


class _Ops(_types.ModuleType):
    """The namespaces."""

    loaded_libraries: set = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        space = _OpNamespace(name)
        setattr(self, name, space)
        return space

    def load_library(self, path):
        """Load operations from a file of machine code: refused."""
        raise OSError(
            _hinted(
                f"Could not load this library: {_os.path.abspath(path)}",
                "Rushlight runs no operations compiled for PyTorch; torch.library.custom_op defines operations in Python",
            )
        )


_made = _Ops(__name__, __doc__)
_made.__dict__.update(__spec__=__spec__, __loader__=__spec__.loader, __file__=__file__, __package__=__package__)
_made.__dict__.update(OpOverload=OpOverload, OpOverloadPacket=OpOverloadPacket)
_sys.modules[__name__] = _made
