"""Stubs say what is there: they are what the command would write, name what functions take, and editors complete from them."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "rushlight"


@pytest.fixture(scope="module")
def written():
    """The text of every stub as the command would write it now, by its path without the ending.

    In a process of its own: other tests may have grafted functions, which changes their signatures.
    """
    program = "import json, sys, write_stubs; json.dump(write_stubs.stubs(), sys.stdout)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "tools", capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout)


def test_stubs_are_current(written):
    for path, text in written.items():
        assert (SOURCE / f"{path}.pyi").read_text(encoding="utf-8") == text, "run: python tools/write_stubs.py"


def test_every_stub_is_written_by_the_command(written):
    assert {str(path.relative_to(SOURCE).with_suffix("")) for path in SOURCE.rglob("*.pyi")} == set(written)


def functions_of(path, class_name=None):
    """The function definitions of a stub, or of a class in it."""
    body = ast.parse((SOURCE / f"{path}.pyi").read_text(encoding="utf-8")).body
    if class_name is not None:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == class_name)
    return [node for node in body if isinstance(node, ast.FunctionDef)]


PLACES = [
    ("__init__", rl, None), ("tensor/base", rl.Tensor, "Tensor"), ("nn/functional/__init__", rl.nn.functional, None),
    ("special", rl.special, None), ("linalg", rl.linalg, None), ("fft", rl.fft, None), ("masked/__init__", rl.masked, None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "place", "class_name"), PLACES, ids=[path for path, _, _ in PLACES])
def test_stubs_name_arguments_that_functions_have(path, place, class_name):
    wrong = []
    for stub in functions_of(path, class_name):
        if stub.name.startswith("__") or not inspect.isfunction(getattr(place, stub.name, None)):
            continue
        parameters = inspect.signature(getattr(place, stub.name)).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            continue
        has_row = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        names = {p.name for p in parameters}
        given = [a.arg for a in (*stub.args.args, *stub.args.kwonlyargs)][class_name is not None :]
        # A function that takes a row of values takes it as one sequence too, under the name that PyTorch gives that.
        unknown = [name for name in given if name not in names and not has_row]
        wrong += [(stub.name, unknown)] if unknown else []
    assert [name for name, _ in wrong if name not in FORMS] == []


# Their forms are told apart by what they are given: the one signature that Python shows is the first of them.
FORMS = {
    "arange", "normal", "view", "randint", "randint_like", "random_", "var", "std", "var_mean", "std_mean", "meshgrid", "tensordot", "einsum",
    "lstm", "gru", "rnn_tanh", "rnn_relu", "to",
}  # fmt: skip


def test_every_public_function_is_in_the_stub_of_its_place():
    for path, place, class_name in PLACES:
        named = {stub.name for stub in functions_of(path, class_name)}
        text = (SOURCE / f"{path}.pyi").read_text(encoding="utf-8")
        for name in dir(place):
            if inspect.isfunction(getattr(place, name)) and not name.startswith("_"):
                assert name in named or f"{name} as {name}" in text, f"{path}.pyi lacks {name}"


def test_stubs_leave_no_name_of_the_face_out():
    text = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    made_late = {
        "ops",
        "base",
        "tensor",
        "serialization",
    }  # rooms that are no part of PyTorch's face, or hidden by a function
    storages = {name for name in dir(rl) if name.endswith("Storage")} - {"TypedStorage", "UntypedStorage"}
    words = set(text.replace("(", " ").replace(":", " ").replace(",", " ").split())
    assert {name for name in dir(rl) if not name.startswith("_")} - words - made_late - storages == set()


def test_editors_complete_from_them():
    jedi = pytest.importorskip("jedi")
    head = "import rushlight as torch\nfrom rushlight import nn\n"

    def names(line):
        code = head + line
        return {found.name for found in jedi.Script(code).complete(code.count("\n") + 1, len(line.splitlines()[-1]))}

    assert {"sum", "argmax", "add_", "requires_grad_", "view"} <= names("torch.zeros(2).")
    assert {"values", "indices"} <= names("torch.zeros(2).sort().")
    assert {"zeros", "float32", "no_grad", "Tensor"} <= names("torch.")
    assert {"gelu", "cross_entropy"} <= names("torch.nn.functional.")
    assert {"in_features=", "bias="} <= names("nn.Linear(")
    assert {"kernel_size=", "padding="} <= names("nn.Conv2d(")
    assert {"backward", "item"} <= names("torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2)).")


STRICT = ["--strict", "--no-incremental", "--config-file=", "--ignore-missing-imports"]


@pytest.mark.slow
def test_a_training_program_is_typed():
    api = pytest.importorskip("mypy.api")
    here = Path(__file__).parent
    out, problems, status = api.run(
        [*STRICT, "--follow-imports=silent", str(here / "training.py"), str(here / "kinds.py")]
    )
    assert (status, problems) == (0, ""), out
