"""The text form of loop programs: exact round trips, and what is said about a text that is none."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_pairs import PROGRAMS
from random_programs import programs

from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program, walk
from rushlight.kernels.language.text import ProgramSyntaxError, read, write
from rushlight.kernels.language.verify import verify

EVERYTHING = """\
program everything

function helper(x: f32, y: bf16*) -> f32
  %0 = exp x : f32
  return %0

function touch(x: f32*)
  prefetch x

function everything(x: f32*, out: f32*, tables: f32**, flags: bool*, halves: bf16*, n: i64, factor: f32)
  %0 = div n, 16 : i64
  %1 = iota : i32x16
  %2 = splat factor : f32x16
  %3 = lt %1, 7 : boolx16
  parallel %4 < %0
    %5 = mul %4, 16 : i64
    %6 = offset x, %5 : f32*
    %7 = load %6 align 64 : f32x16
    %8 = load %6 where %3 align 64 : f32x16
    %9 = fma %7, %2, -0.0 : f32x16
    loop %10 from 0 to n step 16 carry (%11 = 0.1 : f32x16, %12 = %0 : i64) -> (%13, %14)
      %15 = add %11, %9 : f32x16
      yield %15, 3
    loop %16 from %0 to 9
      prefetch %6
    %17 = offset out, %5 : f32*
    store %13, %17 stream
    store %13, %17 where %3
    store 1.5, %17
    store f32x4(1.5), %17
    store f32x2(1.5, nan), %17
    %18 = gather x, %1 : f32x16
    %19 = gather x, %1 where %3 : f32x16
    scatter %18, out, %1
    scatter %18, out, %1 where %3
    %20 = reduce %18 by max : f32
    %21 = extract %18 lane 3 : f32
    %22 = shuffle %18, %18 lanes (0, 31, 2, 5) : f32x4
    %23 = compress %18, %3 : f32x16
    %24 = lt %20, inf : bool
    if %24 -> (%25 : f32, %26 : boolx16)
      %27 = call helper(%20, halves) : f32
      yield %27, %3
    else
      yield 0.0, true
    if %24
      call touch(out)
    %28 = offset tables, 2 : f32**
    %29 = load %28 : f32*
    %30 = bitcast %20 : i32
    %31 = convert %20 : bf16
    %32 = convert i32(-3) : f64
    %33 = select %24, 0.5, %20 : f32
    %34 = select bool(false), %29, x : f32*
    store true, flags
    %35 = worker : i64
    %36 = min %35, 255 : i64
    %37 = dot %30, 7, %20 : f32
    %38 = bitcast %23 : bf16x32
"""


def test_every_form():
    assert write(verify(read(EVERYTHING))) == EVERYTHING


def test_what_is_read_is_what_was_built():
    builder = Builder("scale", [("x", "f32*"), ("out", "f32*"), ("n", "i64"), ("factor", "f32")])
    x, out, n, factor = builder.parameters
    with builder.parallel(n // 1024) as chunk:
        builder.for_lanes(
            0, n, 16, lambda i, mask, carry: builder.store(builder.load(x, i, 16, mask) * factor, out, i, mask)
        )
    program = Program("scale", [builder.function])
    found = read(write(program))

    def content(program):
        for depth, instruction in walk(program.entry.body):
            if instruction.opcode != "constant":  # those move to their first use
                attributes = {name: value for name, value in instruction.attributes.items() if value is not None}
                types = [v.type for v in (*instruction.operands, *instruction.results)]
                yield depth, instruction.opcode, types, attributes

    assert list(content(found)) == list(content(program))
    assert [p.name for p in found.entry.parameters] == ["x", "out", "n", "factor"]
    assert [p.type for p in found.entry.parameters] == [p.type for p in program.entry.parameters]


@pytest.mark.parametrize("path", sorted(PROGRAMS.rglob("*.*")), ids=lambda path: path.name)
def test_files_are_written_as_they_are(path):
    text = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("#"))
    assert write(read(text)) == text


@settings(max_examples=40)
@given(programs())
def test_random_programs_round_trip(program):
    text = write(program)
    assert write(read(text)) == text


def constant_of(program):
    return next(i.attributes["value"] for _, i in walk(program.entry.body) if i.opcode == "constant")


def with_constant(number, type):
    builder = Builder("constant", [("out", type + "*")])
    builder.store(builder.constant(number, type), builder.parameters[0])
    return Program("constant", [builder.function])


@pytest.mark.parametrize("type", ["f32", "f64", "f16"])
@given(number=st.floats())
def test_floats_are_exact(type, number):
    numpy = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[type]
    program = with_constant(number, type)
    text = write(program)
    found = constant_of(read(text))
    with np.errstate(over="ignore"):
        assert (math.isnan(found) and math.isnan(number)) or found == float(numpy(number))
        assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, number)
    assert write(read(text)) == text


def test_floats_are_short():
    assert "store 0.1, out" in write(with_constant(np.float32(0.1), "f32"))
    assert "store 1e-45, out" in write(with_constant(1.401298464324817e-45, "f32"))
    assert "store -0.0, out" in write(with_constant(-0.0, "f64"))
    assert "store -inf, out" in write(with_constant(-math.inf, "bf16"))
    assert "store 0.100097656, out" in write(with_constant(0.1, "bf16"))  # the nearest that there is


@given(number=st.integers(-(2**63), 2**64 - 1))
def test_integers_are_exact(number):
    program = with_constant(number, "u64")
    assert constant_of(read(write(program))) == number


def test_names():
    text = """\
program "two words # and more"

function names(%0: f32, %true: f32, %f64: f32, x: f32)
  %total = add %0, %true : f32
  %1 = add %total, x : f32
"""
    program = read(text)
    assert program.name == "two words # and more"
    assert [p.name for p in program.entry.parameters] == [None, "true", "f64", "x"]
    assert write(program) == text


def test_names_that_are_taken_or_no_words_become_numbers():
    builder = Builder("names", [("x", "f32"), ("x", "f32"), ("two words", "f32")])
    builder.parameters[1] + builder.parameters[2]
    assert write(Program("p", [builder.function])) == (
        "program p\n\nfunction names(x: f32, %x: f32, %0: f32)\n  %1 = add %x, %0 : f32\n"
    )


def test_comments_blank_lines_and_indentation_are_free():
    text = "# first\n\nprogram p\n\nfunction p(n: i64)  # the entry\n      loop %i from 0 to n\n\n          # nothing\n\n      parallel %c < n\n"
    assert write(read(text)) == "program p\n\nfunction p(n: i64)\n  loop %i from 0 to n\n  parallel %c < n\n"


BODY = "program p\nfunction p(x: f32*, n: i64)\n  "


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1: expected 'program' and a name"),
        ("function p()", "line 1: expected 'program' and a name, found 'function'"),
        ("program p\nfunction (x: f32)", "line 2: expected the function's name, found '('"),
        ("program p\nfunction p(x f32)", "line 2: expected ':', found 'f32'"),
        ("program p\nfunction p(x: f33)", "line 2: expected a type, found 'f33'"),
        ("program p\nfunction p(x: f32x4*)", "line 2: expected a type, found 'f32x4*'"),
        ("program p\nfunction p(x: f32, x: f32)", "line 2: the name x is taken"),
        ("program p\nfunction p()\nfunction p()", "line 3: there is a function p already"),
        (BODY + "%0 = ad n, 1 : i64", "line 3: expected an instruction, found 'ad'"),
        (BODY + "%0 = add n, 1", "line 3: expected ':', found the end of the line"),
        (BODY + "%0 add n, 1 : i64", "line 3: expected '=', found 'add'"),
        (BODY + "%0 = add n, : i64", "line 3: expected a value or a number, found ':'"),
        (BODY + "%0 = add n, %7 : i64", "line 3: expected a value that is defined before"),
        (BODY + "%0 = add n, m : i64", "line 3: expected a value that is defined before"),
        (BODY + "%0 = add n, 1 : i64 :", "line 3: expected the end of the line, found ':'"),
        (BODY + "%0 = add n, 1.5 : i64", "line 3: '1.5' is no i64"),
        (BODY + "%0 = add n, true : i64", "line 3: 'true' is no i64"),
        (BODY + "%0 = add n, 1 ; i64", "line 3: no such character"),
        (BODY + "%0 = convert 1 : f32", "line 3: the line does not tell this number's type"),
        (BODY + "%0 = add n, i64x4(1, 2, 3) : i64x4", "line 3: i64x4 has 4 lanes, not 3"),
        (BODY + "%0 = load x align big : f32", "line 3: expected a whole number, found 'big'"),
        (BODY + "%0 = load x align 1.5 : f32", "line 3: expected a whole number, found '1.5'"),
        (BODY + "%0 = load x : f32\n  %0 = load x : f32", "line 4: the name %0 is taken"),
        (BODY + "%0 = load x : f32\n    %1 = load x : f32", "line 4: expected the block's indentation of 2 spaces"),
        (BODY + "loop %0 to n", "line 3: expected 'from', found 'to'"),
        (BODY + "loop %0 from 0 to n carry (%1 = 0 : i64)", "line 3: expected '->', found the end of the line"),
        (
            BODY + "loop %0 from 0 to n carry (%1 = 0 : i64) -> ()",
            "line 3: expected as many results as are carried (1)",
        ),
        (
            BODY + "loop %0 from 0 to n\n    %1 = add %0, 1 : i64\n  %2 = add %1, 1 : i64",
            "line 5: expected a value that is",
        ),
        (BODY + "loop %0 from 0 to n\n  %2 = add %0, 1 : i64", "line 4: expected a value that is defined before"),
        (BODY + "if n\n  else\n    yield 1", "line 5: the line does not tell this number's type"),
        (BODY + "else", "line 3: expected an instruction, found 'else'"),
        (BODY + "parallel %0 n", "line 3: expected '<', found 'n'"),
        (BODY + "return n\n  prefetch x", "line 4: no more lines after 'return' in this block"),
    ],
)
def test_syntax_errors(text, message):
    with pytest.raises(ProgramSyntaxError, match="^" + re.escape(message)):
        read(text)


def test_a_syntax_error_shows_the_place():
    with pytest.raises(ProgramSyntaxError) as caught:
        read(BODY + "%0 = reduce x py max : f32")
    message, line, mark = str(caught.value).splitlines()
    assert message == "line 3: expected ':', found 'py'"
    assert line[mark.index("^") :].startswith("py max")


def test_an_unknown_attribute_is_not_dropped():
    program = read(EVERYTHING)
    _, load = next(pair for pair in walk(program.entry.body) if pair[1].opcode == "load")
    load.attributes["colour"] = 3
    with pytest.raises(ValueError, match="knows no attribute 'colour'"):
        write(program)
