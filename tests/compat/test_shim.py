"""``rushlight shim``: programs, metadata and pip believe that torch is installed; remove leaves nothing behind."""

import base64
import csv
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import rushlight
from rushlight.cli import main
from rushlight.cli import shim as command
from rushlight.compat import shim
from rushlight.compat.packages import REQUIREMENTS, TORCH_VERSION, VERSIONS, VISION_VERSION

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(rushlight.__file__)))


@pytest.fixture
def site(tmp_path):
    """A site-packages folder with the shim."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    assert main(["shim", "install", "--folder", str(folder)]) == 0
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def python(site, *arguments, **options):
    """Run Python where the folder is the first that packages are found in; its output."""
    path = os.pathsep.join([str(site), SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = """
import importlib.metadata, importlib.util, multiprocessing, sys
assert importlib.util.find_spec("torch").origin.endswith("__init__.py") and "rushlight" not in sys.modules
import torch.nn.functional as F
import torch, torchvision, functorch
from torch import nn
from torchvision import datasets

def double(x):
    return 2 * x

if __name__ == "__main__":
    import rushlight
    print(torch.__name__, torch.__version__, torchvision.__version__, rushlight.__version__ == torch.__version__)
    print(torch.__version__ >= "2.9", torch.__version__ < (2, 14), type(torch.__version__).__name__, torch.__spec__.name)
    print(importlib.metadata.version("torch"), importlib.metadata.version("torchvision"))
    print(sum(found.name in ("torch", "torchvision") for found in importlib.metadata.distributions(path=sys.path[1:2])))
    print(torch.Tensor is rushlight.Tensor, F is rushlight.nn.functional, nn is torch.nn, torch.nn is rushlight.nn)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [torch.ones(2)]))
"""


def test_a_program_finds_torch(site, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = python(site, "program.py", cwd=tmp_path).splitlines()
    assert lines == [
        f"torch {TORCH_VERSION} {VISION_VERSION} False",
        "True True TorchVersion torch",
        f"{TORCH_VERSION} {VISION_VERSION}",
        "2",
        "True True True True",
        "[tensor([2., 2.])]",
    ]


def test_other_programs_pay_nothing(site):
    assert not list(site.glob("*.pth"))
    assert (
        python(site, "-c", "import sys; print('torch' in sys.modules, 'rushlight' in sys.modules)") == "False False\n"
    )


def test_a_module_of_torch_runs_as_a_program(site):
    assert python(site, "-m", "torch.version") == ""


def test_installing_again_changes_nothing(site, capsys):
    before = contents(site)
    assert main(["shim", "install", "--folder", str(site)]) == 0
    assert contents(site) == before and "was installed already" in capsys.readouterr().out


def test_records_are_right(site):
    listed = {}
    for record in site.glob("*.dist-info/RECORD"):
        listed.update((path, (digest, size)) for path, digest, size in csv.reader(record.read_text().splitlines()))
    found = contents(site)
    assert set(listed) == set(found)
    for path, data in found.items():
        if not path.endswith("RECORD"):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert listed[path] == (f"sha256={digest}", str(len(data)))


def test_remove_leaves_nothing(site, capsys):
    python(site, "-c", "import torch, torchvision, functorch")
    assert list(site.rglob("*.pyc"))
    assert main(["shim", "remove", "--folder", str(site)]) == 0
    assert list(site.iterdir()) == []
    assert "torch 2.13.0+rushlight is removed" in capsys.readouterr().out
    assert main(["shim", "remove", "--folder", str(site)]) == 0
    assert "was not installed" in capsys.readouterr().out


def test_remove_leaves_what_is_not_the_shims(site, capsys):
    (site / "torch" / "mine.py").write_text("mine = 1\n")
    (site / "other.py").write_text("")
    (site / "torch_other-1.0+rushlight.dist-info").mkdir()
    assert main(["shim", "remove", "--folder", str(site)]) == 0
    assert set(contents(site)) == {os.path.join("torch", "mine.py"), "other.py"}
    assert (site / "torch_other-1.0+rushlight.dist-info").is_dir()
    assert f"left {site / 'torch'}" in capsys.readouterr().out


def test_another_version_of_the_shim_is_replaced(site):
    before = contents(site)
    (site / f"torch-{TORCH_VERSION}.dist-info").rename(site / "torch-2.12.0+rushlight.dist-info")
    assert main(["shim", "install", "--folder", str(site)]) == 0
    assert contents(site) == before


@pytest.mark.parametrize("name", ["torch", "torchvision"])
@pytest.mark.parametrize("kind", ["package", "metadata", "module"])
def test_a_real_one_is_refused(tmp_path, capsys, name, kind):
    if kind == "package":
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("real = True\n")
    elif kind == "module":
        (tmp_path / f"{name}.py").write_text("real = True\n")
    else:
        (tmp_path / f"{name}-2.13.0+cpu.dist-info").mkdir()
        (tmp_path / f"{name}-2.13.0+cpu.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 2.13.0+cpu\n")
    before = contents(tmp_path)
    assert main(["shim", "install", "--folder", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert (
        error.startswith("rushlight shim: error: ") and name in error and str(tmp_path) in error and "hint: " in error
    )
    assert contents(tmp_path) == before
    assert main(["shim", "remove", "--folder", str(tmp_path)]) == 0  # which leaves it alone, too
    assert contents(tmp_path) == before


def test_outside_an_environment_it_asks(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(command, "search_path", list)
    monkeypatch.setattr(command, "in_environment", lambda: False)
    assert main(["shim", "install"]) == 2
    assert "is not a virtual environment" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert main(["shim", "install", "--system"]) == 0 and list(tmp_path.iterdir())


def test_the_stub_says_where_rushlight_is_missing(site):
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import torch"], env={"PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert (
        "ModuleNotFoundError: No module named 'torch'\nhint: " in done.stderr and "pip install rushlight" in done.stderr
    )


@pytest.mark.slow
def test_pip_and_programs_in_an_environment_of_their_own(tmp_path):
    """A new environment, with the packages of this one beside it: pip needs no network to be content."""
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    purelib = sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)})
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*arguments):
        done = subprocess.run(arguments, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for name in [*needed(), os.path.join(SOURCE, "rushlight")]:
        os.symlink(name, os.path.join(purelib, os.path.basename(name)))
    before = set(os.listdir(purelib))
    python = scripts / "python"
    assert f"torch {TORCH_VERSION} is installed" in run(python, "-m", "rushlight", "shim", "install")
    lacking = subprocess.run([python, "-m", "pip", "check"], env=environment, capture_output=True, text=True).stdout
    for (
        package,
        requirements,
    ) in REQUIREMENTS.items():  # libraries import these unasked, since PyTorch's packages bring them
        for name in (re.match("[a-z0-9-]+", requirement)[0] for requirement in requirements):
            if name != "torch":
                assert f"{package} {VERSIONS[package]} requires {name}, which is not installed." in lacking
                other = Path(purelib, f"{name.replace('-', '_')}-99.dist-info")
                other.mkdir()
                (other / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 99\n")
                before.add(other.name)
    told = run(python, "-m", "pip", "install", "--no-index", "torch>=2.4", "torchvision")
    assert "Requirement already satisfied: torch>=2.4 in " in told and f"({TORCH_VERSION})" in told
    assert TORCH_VERSION in run(python, "-m", "pip", "show", "torch")
    assert "No broken requirements" in run(python, "-m", "pip", "check")
    assert run(python, "-c", "import torch; print(torch.ones(1))") == "tensor([1.])\n"
    run(python, "-m", "pip", "uninstall", "-y", "torch", "torchvision")
    assert set(os.listdir(purelib)) == before
    assert "installed" in run(python, "-m", "rushlight", "shim", "install")
    assert "is removed" in run(python, "-m", "rushlight", "shim", "remove")
    assert set(os.listdir(purelib)) == before


def needed():
    """The folders of the packages that Rushlight needs, and of their own libraries."""
    import ml_dtypes
    import numpy

    found = [os.path.dirname(module.__file__) for module in (numpy, ml_dtypes)]
    return [*found, *(f"{place}.libs" for place in found if os.path.isdir(f"{place}.libs"))]


def test_torchrun(tmp_path):
    assert shim.put_script(tmp_path) == [f"torchrun is in {tmp_path}"]
    told = subprocess.run([tmp_path / "torchrun", "--nnodes=2", "x.py"], capture_output=True, text=True)
    assert told.returncode != 0 and "rushlight launch: error: --nnodes=2 needs the names" in told.stderr
    assert shim.remove_script(tmp_path) == ["torchrun is removed"] and not list(tmp_path.iterdir())
    (tmp_path / "torchrun").write_text("another's")
    assert shim.put_script(tmp_path) == [f"{tmp_path / 'torchrun'} is another program's, and stays"]
    assert shim.remove_script(tmp_path) == []
