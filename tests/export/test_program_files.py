"""Programs in files: what is read is what was written, and a file brings no code."""

import io
import json
import zipfile

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compiler.errors import UserError
from rushlight.export import Dim, export, load, save


class Everything(nn.Module):
    """Values of all kinds that an argument may have."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(3, 2, batch_first=True)
        self.register_buffer("hidden", torch.ones(3), persistent=False)

    def forward(self, x, scale=2.0):
        found, _ = self.layer(x * self.hidden)
        filled = found.masked_fill(found > 0, float("-inf")).to(torch.float64)
        return {"x": x[:, torch.tensor([0, 1])].contiguous() * scale, "rest": (filled, x.shape[0])}


@pytest.fixture(scope="module")
def program():
    return export(Everything().eval(), (torch.randn(2, 4, 3),), dynamic_shapes=({0: Dim("batch", max=9)},))


def written(program, **options):
    file = io.BytesIO()
    save(program, file, **options)
    return file


def test_what_is_read_is_what_was_written(program, tmp_path):
    save(program, tmp_path / "program.pt2", extra_files={"note": "text"})
    extra = {"note": "", "other": ""}
    read = load(tmp_path / "program.pt2", extra_files=extra)
    assert extra == {"note": "text", "other": ""}
    assert str(read) == str(program) and read.graph_signature == program.graph_signature
    assert read.state_dict.keys() == program.state_dict.keys() and "hidden" in read.constants
    assert all(isinstance(parameter, nn.Parameter) for parameter in read.parameters())
    x = torch.randn(5, 4, 3)
    found, expected = read.module()(x), program.module()(x)
    for one, other in zip(*map(torch.utils._pytree.tree_leaves, (found, expected))):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other == 5
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] <= 9"):
        read.module()(torch.randn(10, 4, 3))


def test_what_is_no_program_is_refused():
    class Drawing(nn.Module):
        def forward(self, x):
            return x + torch.rand(2, generator=torch.Generator())

    with pytest.raises(UserError, match="rand draws from a generator of its own"):
        export(Drawing(), (torch.ones(2),))
    with pytest.raises(
        TypeError, match="The 'ep' parameter must be an instance of 'ExportedProgram', got 'int' instead"
    ):
        save(3, io.BytesIO())


def changed(program, change):
    """The file of a program with its JSON changed."""
    file, made = written(program), io.BytesIO()
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(made, "w") as target:
        data = json.loads(archive.read("program.json"))
        change(data)
        target.writestr("program.json", json.dumps(data))
        target.writestr("tensors.pt", archive.read("tensors.pt"))
    made.seek(0)
    return made


def step(data):
    """The first step that calls an operation."""
    return next(node for node in data["nodes"] if "operation" in node)


CODE = "__import__('os').abort()"
CHANGES = {
    "operation": (lambda d: step(d).update(operation="system"), AttributeError, "no operation 'system'"),
    "function": (lambda d: step(d).update(function="eval"), RuntimeError, "it calls the function 'eval'"),
    "name of a node": (lambda d: d["nodes"][0].update(name=f"x={CODE}"), RuntimeError, "is no identifier"),
    "argument": (lambda d: d["names"].__setitem__(0, f"x={CODE}"), RuntimeError, "is no identifier"),
    "keyword": (lambda d: d["names"].__setitem__(0, "lambda"), RuntimeError, "is no identifier"),
    "target": (lambda d: d["inputs"][0].__setitem__(2, f'a"){CODE}#'), RuntimeError, "is no name of a parameter"),
    "kind of step": (lambda d: step(d).update(op="call_module"), RuntimeError, "a step of the kind 'call_module'"),
    "value": (lambda d: step(d).update(args=[{"code": CODE}]), RuntimeError, "a value of the kind 'code'"),
    "dtype": (lambda d: step(d).update(args=[{"dtype": "from_numpy"}]), RuntimeError, "names the dtype"),
    "structure": (
        lambda d: d.update(out_spec=d["out_spec"].replace("builtins.dict", "collections.defaultdict")),
        RuntimeError,
        "default dictionaries",
    ),
    "version": (lambda d: d.update(version=2), RuntimeError, "its version is 2"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_files_that_name_what_they_may_not_are_refused(program, what):
    change, error, said = CHANGES[what]
    with pytest.raises(error, match=said):
        load(changed(program, change))


def test_other_files_are_refused():
    with pytest.raises(zipfile.BadZipFile):
        load(io.BytesIO(b"x" * 100))
    file = io.BytesIO()
    torch.save({}, file)
    file.seek(0)
    with pytest.raises(
        RuntimeError, match=r"no program that torch.export.save of Rushlight wrote\nhint: it has no program"
    ):
        load(file)


def test_files_that_would_unfold_are_refused(program):
    made = io.BytesIO()
    with zipfile.ZipFile(written(program)) as archive, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name in archive.namelist():
            target.writestr(name, archive.read(name))
    made.seek(0)
    with pytest.raises(RuntimeError, match="its entries are compressed"):
        load(made)
