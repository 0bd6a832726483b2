"""The emitter agrees with the interpreter to the last bit: random programs, and every instruction on edge values."""

import numpy as np
import pytest
from bits import same_bits
from hypothesis import given, settings
from random_programs import programs, run

from rushlight.kernels.compiler.emit import emit
from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.instructions import OPCODES, TRANSCENDENTAL, result_type
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.program import Program
from rushlight.kernels.language.text import write
from rushlight.kernels.language.value_types import NUMPY, named
from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
SCALARS = ("bool", *INTEGERS, "f32", "f64")
OTHERS = (*TRANSCENDENTAL, "convert", "bitcast", "select", "round_bfloat16")  # tested elsewhere
EXACT = [name for name in OPCODES if name not in OTHERS]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, 1e-40, -1e38, 3e38, np.inf, -np.inf, np.nan, 0.1, -7.25, 16777216.0, 5e-324]


def edge_values(scalar):
    """16 values of a scalar type that are worth trying."""
    dtype = NUMPY[scalar]
    if scalar == "bool":
        return np.arange(16) % 3 == 0
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(FLOATS).astype(dtype)
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 5, 7, 63, 100, info.max, info.max - 1, info.min, info.min + 1, 17, 31, 8, 42], dtype)


def supported(opcode, scalar):
    try:
        result_type(opcode, [named(scalar)] * OPCODES[opcode].operands, {})
    except TypeError:
        return False
    return True


def arithmetic_program(scalar, lanes):
    """out_opcode[i] = opcode(x0[i], x1[i], ...) for 16 elements and each opcode that takes such operands."""
    results = {
        o: result_type(o, [named(scalar)] * OPCODES[o].operands, {}).scalar for o in EXACT if supported(o, scalar)
    }
    inputs = [*((f"x{i}", f"{scalar}*") for i in range(3)), ("shifts", f"{scalar}*"), ("divisors", f"{scalar}*")]
    b = Builder("arithmetic", [*inputs, *((f"out_{o}", f"{result}*") for o, result in results.items())])
    *x, shifts, divisors = b.parameters[:5]
    with b.parallel(1), b.loop(0, 16, lanes) as at:
        for opcode, out in zip(results, b.parameters[5:]):
            second = shifts if opcode in ("shl", "shr") else divisors if opcode in ("div", "rem") else x[1]
            sources = [x[0], second, x[2]][: OPCODES[opcode].operands]
            values = tuple(b.load(source, at.index, lanes) for source in sources)
            b.store(b._pure(opcode, values, result_type(opcode, [v.type for v in values], {})), out, at.index)
    return Program("arithmetic", [b.function]), results


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("scalar", SCALARS)
def test_arithmetic(scalar, lanes):
    dtype, values = NUMPY[scalar], edge_values(scalar)
    operands = [np.roll(values, 5 * i).copy() for i in range(3)]
    shifts = (np.arange(16) % (8 * dtype.itemsize)).astype(dtype)
    divisors = operands[1].copy()
    if scalar in INTEGERS:
        divisors[(divisors == 0) | (divisors == dtype.type(-1 if dtype.kind == "i" else 0))] = 1
    program, results = arithmetic_program(scalar, lanes)
    found, wanted = ([np.zeros(16, NUMPY[result]) for result in results.values()] for _ in range(2))
    compiled(("test arithmetic", scalar, lanes), lambda: program).alone(*operands, shifts, divisors, *found)
    interpret(program, *operands, shifts, divisors, *wanted)
    for opcode, a, b in zip(results, found, wanted):
        assert same_bits(a, b).all(), (opcode, operands, a, b)


def conversion_program(source, target, lanes):
    b = Builder("conversion", [("x", f"{source}*"), ("out", f"{target}*")])
    x, out = b.parameters
    with b.parallel(1), b.loop(0, 16, lanes) as at:
        b.store(b.convert(b.load(x, at.index, lanes), target), out, at.index)
    return Program("conversion", [b.function])


def values_that_fit(source, target):
    """Edge values of the source for which the target has a number (a conversion from others means nothing)."""
    values = edge_values("f32" if source in ("f16", "bf16") else source)
    with np.errstate(over="ignore", invalid="ignore"):
        if source == "f16":
            values = values.astype(np.float16)
        if NUMPY[source].kind == "f" or source == "bf16":
            info = np.iinfo(NUMPY[target]) if NUMPY[target].kind in "iu" and target != "bf16" else None
            if info is not None:
                lowest = info.min - 1 if info.min else -1
                values = np.where((values > lowest) & (values < float(info.max)), values, values.dtype.type(3))
    return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16) if source == "bf16" else values


@pytest.mark.parametrize("source", [*SCALARS, "f16", "bf16"])
def test_conversions(source):
    for target in (*SCALARS, "f16", "bf16"):
        if target == source:
            continue
        x = values_that_fit(source, target)
        found, wanted = (np.zeros(16, NUMPY[target]) for _ in range(2))
        program = conversion_program(source, target, 16)
        compiled(("test conversion", source, target), lambda program=program: program).alone(x, found)
        interpret(program, x, wanted)
        assert same_bits(found, wanted).all(), (source, target, x, found, wanted)


def on_the_machine(program, *arguments):
    compiled(("test random", write(program)), lambda: program).threaded(*arguments)


@given(programs())
@settings(max_examples=60, deadline=None)
def test_random_programs(program):
    for interpreted, computed in zip(run(program), run(program, on_the_machine)):
        assert same_bits(interpreted, computed).all()


def test_functions_must_be_expanded_first():
    b = Builder("needs", [("x", "f32*")])
    with b.parallel(1):
        b.store(b.math("exp", b.load(b.parameters[0])), b.parameters[0])
    with pytest.raises(NotImplementedError, match="exp of f32: expand it first"):
        emit(Program("needs", [b.function]))
