"""`inspect.signature`, `help` and `pickle` see every public function as a user knows it, and no call or import pays for it."""

import inspect
import pickle
import pydoc
import subprocess
import sys

import rushlight as rl
from rushlight.ops.schema import Schema
from rushlight.ops.table import TABLE

SPACES = {
    "": rl, "Tensor": rl.Tensor, "nn.functional": rl.nn.functional, "linalg": rl.linalg, "fft": rl.fft, "special": rl.special,
    "masked": rl.masked,
}  # fmt: skip
# PyTorch documents no names for these either, or has these.
OPEN = {"Tensor.to", "Tensor.new", "Tensor.draw", "sym_sum", "compile", "nn.functional.linear_cross_entropy"}


def public_functions():
    for space, place in SPACES.items():
        for name in dir(place):
            function = getattr(place, name)
            if inspect.isfunction(function) and not name.startswith("_"):
                yield f"{space}.{name}".lstrip("."), function


def test_every_public_function_names_its_arguments():
    for name, function in public_functions():
        parameters = inspect.signature(function).parameters.values()
        if name not in OPEN:
            kinds = [p.kind for p in parameters]
            assert inspect.Parameter.VAR_KEYWORD not in kinds or name in ("load",), name
            assert [p.name for p in parameters if p.name in ("args", "rest", "options")] == [], name


def test_every_public_function_is_documented():
    assert [name for name, function in public_functions() if not function.__doc__] == []


def test_pickle_finds_public_functions_again():
    for name, function in public_functions():
        assert pickle.loads(pickle.dumps(function)) is function, name


def test_help_shows_names_defaults_and_the_text():
    shown = pydoc.plain(pydoc.render_doc(rl.add))
    assert "add(input, other, *, alpha=1, out=None)" in shown
    assert rl.add.__doc__.strip().splitlines()[0] in shown
    assert "sum(input, dim=None, keepdim=False, *, dtype=None, out=None)" in pydoc.plain(
        pydoc.render_doc(rl.Tensor.sum)
    )
    assert "in module rushlight.linalg" in pydoc.plain(pydoc.render_doc(rl.linalg.svd))
    assert "FUNCTIONS" in pydoc.plain(pydoc.render_doc(rl.special))


def test_a_method_that_is_bound_names_what_is_left():
    assert str(inspect.signature(rl.ones(2).argmax)) == "(dim=None, keepdim=False, *, out=None)"
    assert list(inspect.signature(rl.ones(2).add_).parameters) == ["other", "alpha"]


def test_the_source_of_an_operation_is_its_record():
    assert inspect.getsource(rl.tanh).startswith('@op("tanh(Tensor self) -> Tensor"')
    assert "def sum(" not in inspect.getsource(rl.mul) and "class mul:" in inspect.getsource(rl.mul)
    assert "def arange(" in inspect.getsource(rl.arange)


def test_operations_take_the_names_that_their_signatures_show():
    beside = {"out", "dtype", "layout", "device", "requires_grad", "pin_memory", "from_"}  # the schema, and ``from``
    for name, entry in TABLE.items():
        schema = Schema(entry.schema)
        shown = [p for p in entry.__signature__.parameters if p not in beside]
        assert [p for p in shown if schema.place_of(p) is None] == [], name


def test_nothing_is_made_before_somebody_asks():
    code = "import rushlight, sys; x = rushlight.ones(2); x.add_(1).sum(); print('rushlight.ops.signatures' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
