"""The passes over loop programs: pairs of text files, and that the meaning of random programs stays."""

import numpy as np
import pytest
from hypothesis import given, settings
from program_pairs import PROGRAMS, check_pair, pairs
from random_programs import programs, run

from rushlight.kernels.language import simplify as passes
from rushlight.kernels.language.program import Program, walk
from rushlight.kernels.language.simplify import simplify
from rushlight.kernels.language.text import read, write
from rushlight.kernels.language.verify import verify

PASSES = ["fold", "hoist", "share", "remove_dead"]
CASES = [pytest.param(name, path, id=f"{name}-{path.stem}") for name in PASSES for path in pairs(name)]


def over_functions(name):
    a_pass = getattr(passes, name)
    return lambda program: Program(program.name, [a_pass(function) for function in program.functions])


@pytest.mark.parametrize("name, path", CASES)
def test_pass(name, path):
    with np.errstate(all="ignore"):
        check_pair(path, over_functions(name))


@pytest.mark.parametrize("path", pairs("simplify"), ids=lambda path: path.stem)
def test_all_passes(path):
    check_pair(path, simplify)


def test_every_file_is_of_a_pair():
    names = {path.with_suffix("") for path in PROGRAMS.rglob("*.before")}
    assert {path.with_suffix("") for path in PROGRAMS.rglob("*.after")} == names
    assert {path.parent.name for path in names} == {*PASSES, "simplify"}


@settings(max_examples=60)
@given(programs())
def test_the_meaning_stays(program):
    simplified = verify(simplify(program))
    for found, expected in zip(run(simplified), run(program)):
        np.testing.assert_array_equal(found, expected)
        if found.dtype.kind == "f":
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@settings(max_examples=30)
@given(programs())
def test_simplifying_twice_changes_little(program):
    once = simplify(program)
    count = sum(1 for _ in walk(once.entry.body))
    assert count <= sum(1 for _ in walk(program.entry.body))
    assert sum(1 for _ in walk(simplify(once).entry.body)) <= count


def test_the_program_given_stays_as_it_is():
    program = read((PROGRAMS / "simplify" / "known_size.before").read_text())
    text = write(program)
    simplify(program)
    assert write(program) == text
