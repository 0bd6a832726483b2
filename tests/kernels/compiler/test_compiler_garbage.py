"""Compiling leaves nothing to the collector of cycles."""

import gc

import pytest

from rushlight.kernels.compiler import lowering as compiler
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Block, Instruction, Program, Value
from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")


def some_program():
    double = Builder("double", [("x", "f32*")])
    (x,) = double.parameters
    double.store(double.load(x) * 2.0, x)
    entry = Builder("entry", [("x", "f32*"), ("n", "i64")])
    x, n = entry.parameters
    with entry.parallel(n) as chunk:
        entry.store(entry.math("tanh", entry.load(x, chunk)), x, chunk)
        entry.call(double.function, entry.offset(x, chunk))
    return Program("doubled", [double.function, entry.function])


def test_programs_are_freed_at_once():
    compiler.machine_code(some_program)
    gc.collect()
    gc.disable()
    try:
        compiler.machine_code(some_program)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [o for o in gc.garbage if isinstance(o, (Block, Builder, Instruction, Program, Value))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
