"""How types and constants are written in LLVM IR."""

from __future__ import annotations

import functools
import math
import struct

import numpy as np

_LLVM = {"bool": "i1", "f16": "half", "bf16": "i16", "f32": "float", "f64": "double", "pointer": "ptr"}
_SUFFIX = {"float": "f32", "double": "f64", "half": "f16"}


@functools.cache
def llvm_type(type):
    """The LLVM type of a value; bool in memory is i8 (see ``memory_type``)."""
    scalar = _LLVM.get(type.scalar) or "i" + type.scalar[1:]
    return f"<{type.lanes} x {scalar}>" if type.lanes > 1 else scalar


@functools.cache
def memory_type(type):
    """As ``llvm_type``, for what lies in memory."""
    return llvm_type(type.with_scalar("u8")) if type.scalar == "bool" else llvm_type(type)


@functools.cache
def suffix(llvm):
    """``<16 x float>`` -> ``v16f32``: how intrinsics are named."""
    if not llvm.startswith("<"):
        return _SUFFIX.get(llvm, llvm)
    lanes, scalar = llvm[1:-1].split(" x ")
    return f"v{lanes}{_SUFFIX.get(scalar, scalar)}"


def _number(scalar, value):
    if scalar in ("f16", "bf16"):
        raise NotImplementedError(f"a constant of {scalar}: convert one of f32")
    if scalar == "bool":
        return "true" if value else "false"
    if scalar in ("f32", "f64"):
        rounded = float(np.float32(value)) if scalar == "f32" else float(value)
        if math.isnan(rounded):
            return "0x7FF8000000000000"
        return "0x%016X" % struct.unpack("<Q", struct.pack("<d", rounded))[0]
    return str(int(value))


def constant_text(type, value):
    """A constant as an LLVM operand."""
    if type.is_vector:
        scalar = llvm_type(type.with_lanes(1))
        if isinstance(value, tuple):
            return "<" + ", ".join(f"{scalar} {_number(type.scalar, v)}" for v in value) + ">"
        return f"splat ({scalar} {_number(type.scalar, value)})"
    return _number(type.scalar, value)
