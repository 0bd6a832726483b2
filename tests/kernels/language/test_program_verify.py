"""The verifier: for every rule a program that breaks it."""

import re

import pytest
from hypothesis import given, settings
from random_programs import programs

from rushlight.kernels.language.effects import Effects
from rushlight.kernels.language.program import Block, Function, Instruction, Program, Value
from rushlight.kernels.language.text import read
from rushlight.kernels.language.value_types import F32, I64, named
from rushlight.kernels.language.verify import ProgramError, verify

HEAD = "program p\nfunction p(x: f32*, out: f32*, tables: f32**, flags: bool*, halves: bf16*, n: i64, a: f32)\n"
VECTORS = """\
  %v = splat a : f32x4
  %i = iota : i32x4
  %m = lt %i, 2 : boolx4
"""


def body(text, indent=2):
    return HEAD + VECTORS + "".join(" " * indent + line + "\n" for line in text.splitlines())


def inside_parallel(text):
    return HEAD + VECTORS + "  parallel %c < n\n" + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text, problem",
    [
        # arithmetic
        ("%0 = add a, n : f32", "`%0 = add a, n : f32`: add: operands of different types: f32, i64"),
        ("%0 = add a, a : f64", "`%0 = add a, a : f64`: defines f64, should define f32"),
        ("%0 = add a : f32", "`%0 = add a : f32`: add takes 2 operands, got 1"),
        ("%0 = sqrt n : i64", "`%0 = sqrt n : i64`: sqrt: i64 where f32 or f64 is needed"),
        ("%0 = lt a, a : f32", "`%0 = lt a, a : f32`: defines f32, should define bool"),
        ("%0 = and a, a : f32", "`%0 = and a, a : f32`: and: f32 where an integer or a bool is needed"),
        ("%0 = lt %m, %m : boolx4", "lt: bools have no order"),
        ("%0 = shl %m, %m : boolx4", "shl: boolx4 where an integer is needed"),
        ("%0 = select n, a, a : f32", "select needs a bool and two equal types"),
        ("%0 = bitcast a : i64", "bitcast: the bits of f32 are no i64"),
        ("%0 = bitcast a : bf16", "defines bf16, should define bf16x2"),
        ("%0 = dot a, a, a : f32", "dot: two of i32 and one of f32 are needed, got f32, f32, f32"),
        ("add a, a", "`add a, a`: defines nothing, should define f32"),
        # constants
        ("%0 = neg i32(3000000000000) : i32", "`constant i32(3000000000000)`: 3000000000000 is no i32"),
        # structure
        ("loop %0 from 0 to a\n  prefetch x", "counts in i64, not f32"),
        (
            "loop %0 from 0 to n carry (%1 = a : f32) -> (%2)\n  yield %0",
            "carries f32, but yields i64",
        ),
        ("loop %0 from 0 to n carry (%1 = a : f32) -> (%2)", "carries f32, but yields nothing"),
        ("loop %0 from 0 to n carry (%1 = n : f32) -> (%2)\n  yield %1", "carries i64, but is given f32"),
        ("loop %0 from 0 to n\n  yield %0", "carries nothing, but yields i64"),
        ("if n\n  prefetch x", "the condition is i64, not bool"),
        ("%0 = lt n, 1 : bool\nif %0 -> (%1 : f32)\n  yield a\nelse\n  yield n", "a branch yields i64, not f32"),
        ("%0 = lt n, 1 : bool\nif %0 -> (%1 : f32)\n  yield a", "a branch yields nothing, not f32"),
        ("parallel %0 < a", "counts in i64, not f32"),
        ("parallel %0 < n\n  parallel %1 < n\n    prefetch x", "`parallel %1 < n`: stands within another parallel"),
        ("parallel %0 < n\n  yield %0", "yields i64, but hands nothing on"),
        ("%0 = worker : i64", "stands outside of the entry's parallel"),
        ("%0 = call q(a) : f32", "`%0 = call q(a) : f32`: there is no function q before this one"),
        ("call p(a)", "there is no function p before this one"),
        ("return a", "function p: the entry returns nothing"),
        # memory
        ("%0 = offset a, 1 : f32", "f32 where a pointer is needed"),
        ("%0 = offset x, a : f32*", "the index is f32, not i64"),
        ("%0 = offset x, n : f64*", "defines f64*, should define f32*"),
        ("prefetch a", "f32 where a pointer is needed"),
        ("%0 = load a : f32", "f32 where a pointer is needed"),
        ("%0 = load x : f64", "f64 from memory of f32"),
        ("%0 = load x : f64x4", "f64x4 from memory of f32"),
        ("%0 = load tables : f32", "f32 from memory of f32*"),
        ("%0 = load flags : u8", "u8 from memory of bool"),
        ("load x", "should define one value"),
        ("%0 = load x where %v : f32x4", "the mask is f32x4, not boolx4"),
        ("%0 = load x where %m : f32x8", "the mask is boolx4, not boolx8"),
        ("%0 = load x where bool(true) : f32", "a scalar takes no mask"),
        ("%0 = load x align 24 : f32x4", "align 24 is no power of two"),
        ("%0 = load x, %m, %m : f32x4", "takes 1 or 2 operands, not 3"),
        ("%0 = gather x, %v : f32x4", "the indices are f32x4 for f32x4"),
        ("%0 = gather x, %i : f32x8", "the indices are i32x4 for f32x8"),
        ("%0 = gather x, %i : f64x4", "f64x4 and memory of f32"),
        ("%0 = gather x, n : f32", "f32 and memory of f32"),
        ("%0 = gather x, %i where %v : f32x4", "the mask is f32x4, not boolx4"),
        # lanes
        ("%0 = splat %v : f32x8", "f32x4 where a scalar is needed"),
        ("%0 = splat a : f64x8", "f32 spread to f64x8"),
        ("%0 = splat x : f32x4", "f32* where a scalar is needed"),
        ("%0 = iota : f32x4", "f32x4 where a vector of integers is needed"),
        ("%0 = iota : i32", "i32 where a vector of integers is needed"),
        ("%0 = extract a lane 0 : f32", "f32 where a vector is needed"),
        ("%0 = extract %v lane 4 : f32", "f32x4 has no lane 4"),
        ("%0 = extract %v lane 3 : f64", "defines f64, should define f32"),
        ("%0 = extract %v : f32", "lacks the attribute 'lane'"),
        ("%0 = shuffle %v, %i lanes (0, 1) : f32x2", "two vectors of different types: f32x4, i32x4"),
        ("%0 = shuffle %v, %v lanes (0, 8) : f32x2", "two f32x4 have no lane 8"),
        ("%0 = shuffle %v, %v lanes (0, 1) : f32x4", "defines f32x4, should define f32x2"),
        ("%0 = shuffle %v, %v lanes (0) : f32", "a vector has two lanes or more"),
        ("%0 = reduce a by add : f32", "f32 where a vector is needed"),
        ("%0 = reduce %v by sub : f32", "no reduction by sub"),
        ("%0 = reduce %v by and : f32", "and: f32x4 where an integer or a bool is needed"),
        ("%0 = reduce %m by add : bool", "add: no arithmetic on boolx4"),
        ("%0 = reduce %v by add : f32x4", "defines f32x4, should define f32"),
        ("%0 = compress %v, %i : f32x4", "the mask is i32x4, not boolx4"),
        ("%0 = compress a, %m : f32", "f32 where a vector is needed"),
        # threads
        ("store a, out", "`store a, out`: writes memory outside of parallel"),
        ("scatter %v, out, %i", "writes memory outside of parallel"),
        ("%0 = lt n, 1 : bool\nif %0\n  loop %1 from 0 to n\n    store a, out", "writes memory outside of parallel"),
    ],
)
def test_broken(text, problem):
    with pytest.raises(ProgramError, match="^function p: .*" + re.escape(problem).removeprefix("function\\ p:\\ ")):
        verify(read(body(text)))


def test_three_lanes_have_no_halves():
    with pytest.raises(ProgramError, match="3 lanes are no power of two"):
        verify(read(body("%0 = splat a : f32x3\n%1 = reduce %0 by add : f32")))


@pytest.mark.parametrize(
    "text, problem",
    [
        ("store n, out", "i64 into memory of f32"),
        ("store %v, halves", "f32x4 into memory of bf16"),
        ("store x, out", "f32* into memory of f32"),
        ("store %v, out where %v", "the mask is f32x4, not boolx4"),
        ("store a, out where bool(true)", "a scalar takes no mask"),
        ("store a, n", "i64 where a pointer is needed"),
        ("%0 = store a, out : f32", "defines f32, should define nothing"),
        ("store a", "takes 2 or 3 operands, not 1"),
        ("scatter a, out, n", "f32 and memory of f32"),
        ("scatter %v, out, %v", "the indices are f32x4 for f32x4"),
        ("scatter %i, out, %i", "i32x4 and memory of f32"),
        ("scatter %v, out, %i where %i", "the mask is i32x4, not boolx4"),
    ],
)
def test_broken_stores(text, problem):
    with pytest.raises(ProgramError, match=re.escape(problem)):
        verify(read(inside_parallel(text)))


HELPERS = """\
program p
function load_one(x: f32*) -> f32
  %0 = load x : f32
  return %0
function store_one(x: f32*, a: f32)
  %0 = offset x, 1 : f32*
  store a, %0
function store_two(a: f32, x: f32*)
  call store_one(x, a)
"""
PARAMETERS = "x: f32*, out: f32*, tables: f32**, n: i64, a: f32"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("function q() -> f32\n  return 1.0\nfunction p(n: i64)\n  %0 = call q(n) : f32", "q takes nothing, not i64"),
        ("function q() -> f32\n  return 1.0\nfunction p()\n  %0 = call q() : f64", "defines f64, should define f32"),
        ("function q() -> f32\n  return 1.0\nfunction p()\n  call q()", "defines nothing, should define f32"),
        (
            "function q(n: i64)\n  parallel %0 < n\nfunction p()",
            "function q: `parallel %0 < n`: stands outside of the entry",
        ),
        ("function q()\n  %0 = worker : i64\nfunction p()", "stands outside of the entry's parallel"),
        ("function q() -> f32\n  return 1.0, 2.0\nfunction p()", None),
        ("function q(x: f32*) -> f32*\n  return x\nfunction p()", "function q: returns a pointer"),
        ("function p(a: f32x4)", "parameter a of the entry is a vector"),
    ],
)
def test_broken_functions(text, problem):
    if problem is None:
        text, problem = text.replace("1.0, 2.0", "f32(1.0), f32(2.0)"), "returns 2 values; one is the most"
    with pytest.raises(ProgramError, match=re.escape(problem)):
        verify(read("program p\n" + text + "\n"))


def entry(text):
    return HELPERS + f"function p({PARAMETERS})\n" + "".join(f"  {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text, problem",
    [
        ("call store_one(out, a)", "`call store_one(out, a)`: writes memory outside of parallel"),
        ("call store_two(a, out)", "writes memory outside of parallel"),
        (
            "%0 = load out : f32\nparallel %1 < n\n  store a, out",
            "`%0 = load out : f32`: reads memory outside of parallel",
        ),
        ("%0 = offset out, 1 : f32*\n%1 = load %0 : f32\nparallel %2 < n\n  store a, out", "(through out)"),
        ("%0 = load out : f32\nparallel %1 < n\n  call store_two(a, out)", "(through out)"),
        ("%0 = call load_one(out) : f32\nparallel %1 < n\n  store a, out", "(through out)"),
        ("parallel %1 < n\n  store a, out\n%0 = load out : f32", "(through out)"),
        (
            "%0 = load tables : f32*\n%1 = load %0 : f32\n"
            "parallel %2 < n\n  %3 = offset tables, 3 : f32**\n  %4 = load %3 : f32*\n  store a, %4",
            "`%1 = load %0 : f32`: reads memory outside of parallel that the program writes (through tables)",
        ),
        (
            "parallel %0 < n\n  %1 = lt n, 1 : bool\n  %2 = select %1, x, out : f32*\n  store a, %2\n%3 = load x : f32",
            "(through x)",
        ),
        (
            "parallel %0 < n\n  loop %1 from 0 to n carry (%2 = x : f32*, %3 = out : f32*) -> (%4, %5)\n"
            "    store a, %2\n    yield %3, %2\n%6 = load out : f32",
            "(through out)",
        ),
        (
            "%0 = lt n, 1 : bool\nif %0 -> (%1 : f32*)\n  yield x\nelse\n  yield out\n"
            "%2 = load %1 : f32\nparallel %3 < n\n  store a, out",
            "(through out)",
        ),
    ],
)
def test_threads_share_nothing_that_changes(text, problem):
    with pytest.raises(ProgramError, match=re.escape(problem)):
        verify(read(entry(text)))


@pytest.mark.parametrize(
    "text",
    [
        "%0 = load x : f32\nparallel %1 < n\n  store %0, out",
        "%0 = call load_one(x) : f32\nparallel %1 < n\n  call store_two(%0, out)",
        "%0 = load tables : f32*\nparallel %1 < n\n  store a, %0",
        "parallel %0 < n\n  store a, out\nparallel %1 < n\n  %2 = load out : f32\n  store %2, x",
        "loop %0 from 0 to n\n  parallel %1 < n\n    %2 = worker : i64\n    call store_one(out, a)",
    ],
)
def test_what_is_allowed(text):
    program = read(entry(text))
    assert verify(program) is program


def broken_by_hand(instructions, yields=(), parameters=()):
    function = Function("p", list(parameters))
    function.body.instructions = instructions
    function.body.yields = list(yields)
    return Program("p", [function])


def constant(value, number, **attributes):
    return Instruction("constant", (), (value,), {"value": number})


@pytest.mark.parametrize(
    "make, problem",
    [
        (
            lambda a: [Instruction("neg", (a,), (Value(F32),))],
            "`%0 = neg %undefined : f32`: uses a value that is not defined",
        ),
        (lambda a: [constant(a, 1.0), constant(a, 2.0)], "a value is defined twice"),
        (lambda a: [Instruction("neg", (a,), (Value(F32),)), constant(a, 1.0)], "uses a value that is not defined"),
        (
            lambda a: [
                constant(n := Value(I64), 4),
                Instruction("loop", (n, n, n), (), None, (inner := Block([Value(I64)]),)),
                inner.instructions.append(constant(a, 1.0)) or Instruction("neg", (a,), (Value(F32),)),
            ],
            "uses a value of a block that has ended (f32)",
        ),
        (lambda a: [Instruction("frobnicate", (), (a,))], "there is no instruction 'frobnicate'"),
        (lambda a: [constant(Value(named("f32x4")), (1.0, 2.0))], "2 numbers for 4 lanes"),
        (lambda a: [constant(Value(named("u8")), 256)], "constant u8(256)`: 256 is no u8"),
        (lambda a: [constant(Value(named("i8")), -129)], "-129 is no i8"),
        (lambda a: [constant(Value(named("f32*")), 0)], "there are no constant pointers"),
        (
            lambda a: [constant(n := Value(I64), 4), Instruction("loop", (n, n, n), (), None, (Block(),))],
            "its block has 0 arguments, not 1",
        ),
        (
            lambda a: [constant(n := Value(I64), 4), Instruction("loop", (n, n, n), (), None, (Block([Value(F32)]),))],
            "its index is f32, not i64",
        ),
        (
            lambda a: [constant(n := Value(I64), 4), Instruction("parallel", (n,), (), None, (Block([Value(F32)]),))],
            "its chunk is f32, not i64",
        ),
        (
            lambda a: [constant(n := Value(named("bool")), True), Instruction("if", (n,), (), None, (Block(),))],
            "needs two blocks",
        ),
    ],
)
def test_broken_by_hand(make, problem):
    with pytest.raises(ProgramError, match=re.escape(problem)):
        verify(broken_by_hand(make(Value(F32))))


def test_programs_need_functions_with_names():
    with pytest.raises(ProgramError, match="needs a function"):
        verify(Program("p"))
    with pytest.raises(ProgramError, match="each is used once"):
        verify(Program("p", [Function("p", []), Function("p", [])]))
    with pytest.raises(ProgramError, match="names are words"):
        verify(Program("p", [Function("no name", [])]))


def test_effects_are_told_by_parameter_and_depth():
    program = read(
        "program p\nfunction p(x: f32*, tables: f32**)\n  parallel %0 < 1\n"
        "    %1 = load x : f32\n    %2 = load tables : f32*\n    store %1, %2\n"
    )
    effects = Effects(program.entry, {})
    assert effects.reads == {(0, 0), (1, 0)}
    assert effects.writes == {(1, 1)}


@settings(max_examples=30)
@given(programs())
def test_random_programs_verify(program):
    assert verify(program) is program
