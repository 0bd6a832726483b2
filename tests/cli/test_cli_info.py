"""``rushlight info``, the help, and what importing the program costs."""

import os
import platform
import subprocess
import sys

import numpy
from command import rushlight, source_path

import rushlight as rl
from rushlight.base import processors
from rushlight.cli import info
from rushlight.kernels.machine.host import host


def test_info():
    done = rushlight("info")
    assert (done.returncode, done.stderr) == (0, "")
    found = {line[:18].strip(): line[19:] for line in done.stdout.splitlines()}
    assert found["Rushlight"].startswith(rl.__version__)
    assert found["PyTorch interface"] == "2.13"
    assert found["Python"].startswith(platform.python_version())
    assert found["numpy"] == numpy.__version__
    assert found["generated kernels"].startswith(("for ", "none; "))
    assert found["cores"] == f"{info.usable_cores()} usable of {os.cpu_count()}"
    assert found["processor"]
    assert ("GFLOP/s in float32" in found.get("multiply-adds", "")) == (host() is not None)


def test_caches_are_told_as_the_system_tells_them(monkeypatch):
    files = {processors._CACHE.format(0, "size"): "48K", processors._CACHE.format(2, "size"): "1280K"}
    files |= {
        processors._CACHE.format(3, "size"): "36864K",
        processors._CACHE.format(3, "shared_cpu_list"): "0-3,8,10-11",
    }
    monkeypatch.setattr(processors, "_read", files.get)
    assert info.caches() == "48 KB, 1.25 MB, 36 MB; the last for 7 cores"
    assert processors.near_bytes() == 1 << 20
    files[processors._CACHE.format(2, "size")] = "512K"
    assert processors.near_bytes() == 512 << 10
    monkeypatch.setattr(processors, "_read", lambda path: None)
    assert info.caches() == "not told by the system"
    assert (processors.shared_cache_bytes(), processors.near_bytes()) == (32 << 20, 1 << 20)


def test_info_names_the_command_for_what_is_missing(monkeypatch):
    monkeypatch.setattr(info, "PACKAGES", (("no-such-package", "rushlight[vision]", "images"),))
    assert ("no-such-package", "not installed: pip install 'rushlight[vision]' (images)") in list(info.lines())


def test_threads_follow_the_environment():
    assert "1 (OMP_NUM_THREADS)" in rushlight("info", OMP_NUM_THREADS="1").stdout
    done = rushlight("info", OMP_NUM_THREADS="1", RUSHLIGHT_NUM_THREADS="3")
    assert "3 (RUSHLIGHT_NUM_THREADS)" in done.stdout


def test_kernels_can_be_switched_off():
    done = rushlight("info", RUSHLIGHT_KERNELS="off")
    assert (
        "none; NumPy computes everything (RUSHLIGHT_KERNELS=off)" in done.stdout
        or "pip install llvmlite" in done.stdout
    )


def test_help_and_unknown_command():
    for arguments in ([], ["--help"]):
        done = rushlight(*arguments)
        assert done.returncode == 0 and all(word in done.stdout for word in ("demo", "run", "info"))
    done = rushlight("frobnicate")
    assert done.returncode == 2 and "invalid choice: 'frobnicate'" in done.stderr.splitlines()[-1]


def test_importing_the_program_imports_no_command():
    code = "import sys, rushlight.cli; print([name for name in sys.modules if name.startswith('rushlight.') and "
    code += "name.split('.')[1] in ('draw', 'vision', 'nn', 'optim', 'utils')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": source_path()}, capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


def test_version():
    done = rushlight("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rushlight {rl.__version__}\n", "")
