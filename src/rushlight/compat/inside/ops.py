"""``torch.ops``: operations by namespace, name and overload: ``torch.ops.aten.add.Tensor``, and those of ``torch.library``."""

from __future__ import annotations

import os as _os
import sys as _sys
import types as _types

from ...base.errors import hinted as _hinted
from ...ops.table import functions as _functions
from ...tensor import NAMESPACES as _NAMESPACES
from ...tensor.names import function_at as _function_at
from ..operators import REGISTERED as _REGISTERED


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
        return self._packet(*args, **kwargs)

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
        return self._op(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"


# Operations of PyTorch's inside that name what others here do: `utils.flop_formulas` counts by them.
_NAMES_ALONE = frozenset(
    ("_convolution", "cudnn_convolution", "convolution_overrideable", "_slow_conv2d_forward", "convolution_backward",
     *(f"_scaled_dot_product_{kind}{end}" for end in ("", "_backward")
       for kind in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention")))
)  # fmt: skip


def _name_alone(name):
    def call(*args, **kwargs):
        raise NotImplementedError(
            _hinted(f"aten::{name} is not implemented", "the public function and its derivative do what it does")
        )

    return call


class _OpNamespace(_types.ModuleType):
    """The operations of a library."""

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name):
        function = _operation(self.name, name)
        if function is None:
            raise AttributeError(
                _hinted(
                    f"'_OpNamespace' '{self.name}' object has no attribute '{name}'",
                    f"Rushlight has no operation {self.name}::{name}; torch.library.custom_op defines operations",
                )
            )
        packet = OpOverloadPacket(self.name, name, function)
        if self.name == "aten":
            setattr(self, name, packet)
        return packet


def _operation(namespace, name):
    """The function of an operation; None where there is none."""
    if (namespace, name) in _REGISTERED:
        return _REGISTERED[namespace, name]
    if namespace != "aten" or name.startswith("__"):
        return None
    for place in ("torch", "nn.functional", "linalg", "special", "fft", "Tensor"):
        found = _function_at(place, name) if place in _NAMESPACES else None
        if found is not None:
            return found
    return _name_alone(name) if name in _NAMES_ALONE else getattr(_functions, name, None)


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
