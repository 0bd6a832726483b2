"""``rushlight graph``: a script runs as under Python, and the graphs it calls backward on are drawn."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from command import rushlight

TRAIN = """\
import sys
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
calls = []
for step in range(40):
    hidden = model(torch.ones(5, 4))
    if step % 2:
        hidden = hidden.exp()
    loss = hidden.square().mean()
    loss.register_hook(calls.append)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
penalty = model[0].weight.abs().sum()
torch.autograd.backward([penalty])
print(sys.argv[1:], __name__, len(calls), [parameter.grad is not None for parameter in model.parameters()])
"""
LINE = 1 + TRAIN.splitlines().index("    loss.backward()")
LAST = 1 + TRAIN.splitlines().index("torch.autograd.backward([penalty])")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def graph_in(page):
    return json.loads(re.search(r'<script type="application/json" id="graph">(.*?)</script>', page, re.DOTALL)[1])


def test_one_drawing_for_each_line_that_calls_backward(tmp_path, script):
    done = rushlight("graph", script, "--lr", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, *wrote = done.stdout.splitlines()
    assert first == "['--lr', '3'] __main__ 40 " + str([True] * 6)  # the script is none the wiser
    assert [line.split()[:2] for line in wrote] == [
        ["wrote", f"train-line{LINE}.html"],
        ["wrote", f"train-line{LAST}.html"],
    ]
    assert f"loss = {graph_title(tmp_path)}" in wrote[0] and f"(train.py:{LINE})" in wrote[0]
    assert sorted(path.name for path in tmp_path.glob("*.html")) == [f"train-line{LINE}.html", f"train-line{LAST}.html"]


def graph_title(folder):
    page = (folder / f"train-line{LINE}.html").read_text()
    return graph_in(page)["results"][0]["title"].removeprefix("loss = ")


def test_drawings_have_names_places_modules_and_the_steps_of_the_scripts_own_backward(tmp_path, script):
    assert rushlight("graph", script, cwd=tmp_path).returncode == 0
    data = graph_in((tmp_path / f"train-line{LINE}.html").read_text())
    assert {leaf["name"] for leaf in data["leaves"]} == {
        f"model.{layer}.{name}" for layer in ("0", "2.0", "3") for name in ("weight", "bias")
    }
    assert [group["label"] for group in data["groups"]] == ["", "Sequential", "2 · Sequential"]
    assert {operation["place"]["file"] for operation in data["operations"]} == {str(script)}
    assert data["operations"][0]["place"]["code"] == "loss = hidden.square().mean()"
    assert len(data["steps"]) == len(data["operations"]) + len(data["leaves"])
    assert data["steps"][0]["incoming"][0]["values"] == 1.0
    data = graph_in((tmp_path / f"train-line{LAST}.html").read_text())  # drawn when tracing was over
    assert [operation["place"] for operation in data["operations"]] == [None, None]


@pytest.mark.parametrize("form, suffix", [("svg", "svg"), ("dot", "dot"), ("text", "txt")])
def test_forms_depth_and_number(tmp_path, script, form, suffix):
    done = rushlight(
        "graph", "--format", form, "--output", tmp_path / "new" / "folder", "--max", 3, "--depth", 1, script
    )
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert names == sorted([f"train-line{LINE}.{suffix}", f"train-line{LINE}-2.{suffix}", f"train-line{LAST}.{suffix}"])
    first, second = (
        (tmp_path / "new" / "folder" / f"train-line{LINE}{part}.{suffix}").read_text() for part in ("", "-2")
    )
    assert "Exp" not in first and "Exp" in second and "2 operations" in first
    if form == "svg":
        ElementTree.fromstring(first)


def test_a_script_without_backward(tmp_path):
    (tmp_path / "quiet.py").write_text("print('nothing to learn')\n")
    done = rushlight("graph", tmp_path / "quiet.py")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "nothing to learn",
        "nothing was drawn: the script called backward() on no tensor with a graph",
    ]


@pytest.mark.parametrize("ending, status", [("raise ValueError('over')", 1), ("sys.exit(3)", 3)])
def test_exit_status_is_the_scripts(tmp_path, script, ending, status):
    script.write_text(TRAIN + ending + "\n")
    done = rushlight("graph", script, cwd=tmp_path)
    assert done.returncode == status and done.stdout.count("wrote ") == 2
    assert ("ValueError: over" in done.stderr) == (status == 1)


def test_errors_of_backward_are_the_scripts(tmp_path):
    (tmp_path / "wrong.py").write_text("import torch\ntorch.ones(2).backward()\n")
    done = rushlight("graph", tmp_path / "wrong.py", cwd=tmp_path)
    assert done.returncode == 1 and "does not require grad" in done.stderr
    (tmp_path / "wrong.py").write_text("import torch\ntorch.ones(2, requires_grad=True).exp().backward()\n")
    done = rushlight("graph", tmp_path / "wrong.py", cwd=tmp_path)
    assert done.returncode == 1 and "grad can be implicitly created only for scalar outputs" in done.stderr
    assert "cli" not in done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: script.py"),
        (["--format", "png", "x.py"], "invalid choice: 'png'"),
        (["--max", "0", "x.py"], "must be a whole number from 1 up, got '0'"),
        (["--depth", "-1", "x.py"], "must be a whole number, got '-1'"),
        (["missing.py"], "can't open file"),
        (["--output", "{file}", "x.py"], "it is a file"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = rushlight("graph", *(each.format(file=tmp_path / "file") for each in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert "rushlight graph: error: " in done.stderr and message in done.stderr
