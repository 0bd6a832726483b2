"""``rushlight run``: scripts that say ``import torch`` run as under Python, and fail as under Python."""

import subprocess
import sys

import pytest
from command import rushlight

LOOK = """
import sys
print(__name__, __file__, __package__, __spec__ and __spec__.name, sys.argv, sys.path[0])
print(sys.modules["__main__"].__file__ == __file__)
"""


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_script_finds_rushlight_as_torch(tmp_path):
    write(tmp_path, "helper.py", "import torch.nn.functional as F\nthree = F.relu(__import__('torch').tensor(3.))\n")
    script = write(
        tmp_path,
        "script.py",
        "import torch, helper\nfrom torchvision import datasets\nfrom torch.utils.data import DataLoader\n"
        "print(torch.__name__, helper.three.item(), datasets.FashionMNIST.__name__, DataLoader.__name__)\n",
    )
    done = rushlight("run", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "torch 3.0 FashionMNIST DataLoader\n"


def test_script_sees_what_python_shows_it(tmp_path):
    write(tmp_path, "below/look.py", LOOK)
    arguments = ["below/look.py", "-x", "--help", "a b"]
    ours = rushlight("run", *arguments, cwd=tmp_path)
    theirs = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert ours.stdout == theirs.stdout and ours.returncode == 0


@pytest.mark.parametrize("name", ["look", "package", "package.inner"])
def test_module_sees_what_python_shows_it(tmp_path, name):
    for path in ("look.py", "package/__main__.py", "package/inner.py"):
        write(tmp_path, path, LOOK)
    write(tmp_path, "package/__init__.py", "")
    ours = rushlight("run", "-m", name, "-m", "x", cwd=tmp_path)
    theirs = subprocess.run([sys.executable, "-m", name, "-m", "x"], cwd=tmp_path, capture_output=True, text=True)
    assert ours.stdout == theirs.stdout and ours.returncode == 0


@pytest.mark.parametrize("code, status", [("3", 3), ("None", 0), ("'gone'", 1)])
def test_exit_status_is_the_scripts(tmp_path, code, status):
    script = write(tmp_path, "script.py", f"import atexit, sys\natexit.register(print, 'bye')\nsys.exit({code})\n")
    done = rushlight("run", script)
    assert done.returncode == status and done.stdout == "bye\n"
    assert done.stderr == ("gone\n" if status == 1 else "")


@pytest.mark.parametrize(
    "source", ["def f(x):\n    return x / 0\nf(1)\n", "x = = 1\n", "import broken\n", "raise KeyboardInterrupt\n"]
)
def test_traceback_is_pythons(tmp_path, source):
    write(tmp_path, "broken.py", "def (:\n")
    script = write(tmp_path, "script.py", source)
    ours = rushlight("run", script)
    theirs = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert ours.stderr == theirs.stderr
    assert ours.returncode == (130 if "Keyboard" in source else 1)


def test_traceback_through_rushlight_begins_in_the_script(tmp_path):
    script = write(tmp_path, "script.py", "import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n")
    done = rushlight("run", script)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert lines[:3] == ["Traceback (most recent call last):", f'  File "{script}", line 2, in <module>',
                         "    torch.ones(2, 3) @ torch.ones(2, 3)"]  # fmt: skip
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in lines
    assert lines[-1].startswith("hint: ")


@pytest.mark.parametrize(
    "source, name",
    [
        ("import torch\ntorch.frobnicate(1)", "torch.frobnicate"),
        ("import torch\ntorch.nn.functional.frobnicate", "torch.nn.functional.frobnicate"),
        ("import torch\ntorch.ones(2).frobnicate()", "torch.Tensor.frobnicate"),
        ("from torch.nn import Frobnicate", "torch.nn.Frobnicate"),
        ("import torch.frobnicate", "torch.frobnicate"),
        ("from torch.frobnicate.more import some", "torch.frobnicate"),
        ("from torchvision.transforms import Frobnicate", "torchvision.transforms.Frobnicate"),
    ],
)
def test_missing_name_is_named_last(tmp_path, source, name):
    script = write(tmp_path, "script.py", source + "\n")
    done = rushlight("run", script)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert lines[0] == "Traceback (most recent call last):" and f'File "{script}"' in lines[1]
    assert lines[-1].startswith("hint: ") and name in lines[-1].replace(",", " ").split()
    assert not any("cli" in line for line in lines if line.startswith("  File"))


@pytest.mark.parametrize("source", ["import os\nos.frobnicate", "import frobnicate", "[].frobnicate"])
def test_other_missing_names_get_no_hint(tmp_path, source):
    done = rushlight("run", write(tmp_path, "script.py", source))
    assert done.returncode == 1 and "hint:" not in done.stderr


WORKERS = """
import torch
from torch.utils.data import DataLoader, Dataset
class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor(index) ** 2
if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    print([batch.tolist() for batch in loader])
"""


def test_worker_processes_find_torch_too(tmp_path):
    done = rushlight("run", write(tmp_path, "script.py", WORKERS))
    assert done.stdout == "[[0, 1], [4, 9]]\n", done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "no script was named"),
        (["-m"], "no module was named"),
        (["--frobnicate", "x.py"], "unknown option --frobnicate"),
        (["missing.py"], "can't open file"),
        (["."], "Is a directory"),
        (["-m", "missing.module"], "No module named 'missing'"),
        (["-m", "missing"], "No module named missing"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    done = rushlight("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("rushlight run: error: ") and message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_of_run():
    done = rushlight("run", "--help")
    assert done.returncode == 0 and "script.py" in done.stdout


def test_find_nonfinite_stops_at_the_first_one(tmp_path):
    script = write(tmp_path, "script.py", "import torch\nx = torch.zeros(2)\ny = x.log()\nprint('never')\n")
    done = rushlight("run", "--find-nonfinite", script)
    assert done.returncode == 1 and done.stdout == ""
    assert "NonFiniteError: log made -inf in the forward pass: 2 of 2 elements" in done.stderr
    assert f"at {script}:3: y = x.log()" in done.stderr and "hint:" in done.stderr


def test_versions_are_told_within_the_process(tmp_path):
    script = write(
        tmp_path,
        "script.py",
        "import importlib.metadata as found, importlib.util as util, torch, torchvision\n"
        "print(torch.__version__, found.version('torch'), torchvision.__version__, found.version('torchvision'))\n"
        "print(util.find_spec('torch.nn') is not None, util.find_spec('torch.frobnicate'), util.find_spec('torchvision').name)\n",
    )
    lines = rushlight("run", script).stdout.splitlines()
    assert lines == ["2.13.0+rushlight 2.13.0+rushlight 0.28.0+rushlight 0.28.0+rushlight", "True None torchvision"]
