"""Every error of the catalogue is raised as the page in the docs says, and by PyTorch in the same words."""

import ast
import importlib.util
from pathlib import Path

import pytest
from error_catalogue import SECTIONS, cases
from stories import first_line

import rushlight as rl
from rushlight.autograd import gradients
from rushlight.tensor import conversion

ROOT = Path(__file__).parent.parent.parent
ERRORS = ("RuntimeError", "TypeError", "ValueError", "AssertionError", "KeyError", "IndexError")

_spec = importlib.util.spec_from_file_location("write_errors", ROOT / "tools" / "write_errors.py")
write_errors = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(write_errors)


@pytest.fixture(autouse=True)
def every_warning_is_told_again(monkeypatch):
    monkeypatch.setattr(gradients, "_warned_of_cycle", False)
    monkeypatch.setattr(conversion, "_warned_of_tracked_number", False)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.title)
def test_the_message_teaches(case):
    _, message = case.run(rl)
    _, _, rest = message.partition("\n")
    assert "hint: " in rest
    assert case.cause and case.cures


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.title)
def test_pytorch_says_the_same(case):
    torch = pytest.importorskip("torch")
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        theirs = case.run(torch)
    finally:
        torch.set_warn_always(before)
    ours = case.run(rl)
    assert (ours[0], first_line(ours[1])) == (theirs[0], first_line(theirs[1]))


def test_the_page_is_current():
    expected = write_errors.page(SECTIONS, rl)
    assert write_errors.PAGE.read_text(encoding="utf-8") == expected, "run: python tools/write_errors.py"


def test_the_catalogue_is_long_and_names_each_case_once():
    titles = [case.title for case in cases()]
    assert len(set(titles)) == len(titles) >= 40


AUTOGRAD = sorted((Path(rl.__file__).parent / "autograd").glob("*.py"))


@pytest.mark.parametrize("path", AUTOGRAD, ids=lambda path: path.name)
def test_every_error_of_autograd_has_a_hint(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = ast.unparse(node.exc.func)
            if called in ERRORS:
                assert "hinted(" in ast.unparse(node.exc), f"{path.name}:{node.lineno} raises without a hint"


# The beginnings of first lines that no program of the catalogue provokes: too long a program, or only reachable with another
# library's mistake.
UNPROVOKED = (
    "explain() takes",  # Rushlight's own
    "' has no attribute '",  # of torch.autograd
    "set_materialize_grads received",
    "Analytical gradient has incorrect size",
    "Gradient has dtype mismatch",
    "Functions which modify views in-place",
    "Backwards compatibility: New undefined gradient",
    "Expected backward function to handle undefined output grads",
    "While computing batched gradients",
    "Mismatch in tangent values",
    " when input: ",
    "the profiler is not implemented",  # Rushlight's own
    "load_nvprof",
)


def written_beginnings(path):
    """``(line, the longest constant part)`` of each first line in a file that is written where it is raised."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "hinted":
            first = node.args[0]
            parts = first.values if isinstance(first, ast.JoinedStr) else [first]
            constants = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if constants:
                yield node.lineno, max(constants, key=len)


def test_every_error_of_autograd_is_in_the_catalogue():
    messages = [case.run(rl)[1] for case in cases()]
    missing = [
        f"{path.name}:{line} {text[:80]}"
        for path in AUTOGRAD
        for line, text in written_beginnings(path)
        if not any(text[:60] in message for message in messages) and not text.startswith(UNPROVOKED)
    ]
    assert not missing, "write a program into tests/autograd/error_catalogue/ for each:\n" + "\n".join(missing)
