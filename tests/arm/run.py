"""Runs generated code for ARM: a Python of its own under qemu's user emulation makes calls of every family of kernels.

    python tests/arm/run.py                  in a fresh folder
    python tests/arm/run.py --make FOLDER    downloads what it takes to FOLDER, and runs nothing
    python tests/arm/run.py --here FOLDER    in such a folder

The folder gets Debian's Python for arm64 and, for this machine, qemu; NumPy and LLVM are the package index's. Nothing is
installed, and nobody has to be root. `calls.py` makes the same random calls there and here, with vectors of the same
length; NEON's numbers must be ours up to rounding. Where packages cannot be had, it says so and leaves ARM out.
"""

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
COUNT = 2  # calls of each family: together they reach every folder of kernels
PARTS = 2  # processes that share the families out
LIMIT = 600  # seconds that a process may take
ABSENT = "absent.txt"  # in the folder, if packages could not be had: why
PACKAGES = "numpy", "llvmlite", "ml_dtypes"
WHEELS = [f"manylinux{kind}_aarch64" for kind in ("2014", "_2_17", "_2_27", "_2_28")]
# What a number may be off, of the largest in its array.
ERRORS = {"float32": 3e-6, "complex64": 3e-6, "float64": 1e-13, "complex128": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}


class Missing(Exception):
    """A package, or what fetches it, is not to be had."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--make", type=Path, metavar="FOLDER", help="download to a folder for --here")
    where.add_argument("--here", type=Path, metavar="FOLDER", help="in this folder")
    options = parser.parse_args()
    if options.make:
        make(options.make)
        return 0
    if options.here:
        return compare(options.here)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        return compare(Path(folder))


# ---------------------------------------------------------------- what it takes


def make(folder):
    """Fill a folder; where that cannot be done, the file ABSENT there says why."""
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    try:
        version = debian(folder)
        wheels(folder, version)
    except Missing as error:
        (folder / ABSENT).write_text(str(error))
    print(f"a Python for ARM took {time.monotonic() - start:.0f} s to make", flush=True)


def debian(folder):
    """Python and its libraries for arm64 at ``root``, qemu at ``tools``; Python's version, two numbers."""
    for name in ("lists/partial", "cache/archives/partial", "packages", "root", "tools"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    native = output("dpkg", "--print-architecture").strip()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": f"arm64,{native}",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "",  # no other user, who could not write here
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    output("apt-get", *options, "update")
    version = re.search(r"^Version: (\d+\.\d+)", output("apt-cache", *options, "show", "python3-minimal"), re.M)[1]
    wanted = [f"python{version}-minimal", f"libpython{version}-stdlib", "libstdc++6"]
    only = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    found = output("apt-cache", *options, "depends", "--recurse", *only, *wanted)
    libraries = {name for name in found.split() if re.fullmatch(r"z?lib(?!perl)[^:]*", name)}
    output("apt-get", *options, "download", wanted[0], *libraries, f"qemu-user-static:{native}", at=folder / "packages")
    for package in (folder / "packages").iterdir():
        output("dpkg", "-x", package, folder / ("tools" if package.name.startswith("qemu") else "root"))
    for name in ("lists", "cache", "packages"):
        shutil.rmtree(folder / name)
    return version


def wheels(folder, version):
    """NumPy, LLVM and bfloat16 for that machine and version of Python at ``site``."""
    platforms = [word for name in WHEELS for word in ("--platform", name)]
    kind = ["--only-binary=:all:", "--python-version", version]
    at = folder / "wheels"
    output(sys.executable, "-m", "pip", "download", "--quiet", *platforms, *kind, "--dest", at, *PACKAGES)
    for wheel in at.iterdir():
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder / "site")
    shutil.rmtree(at)


def output(*words, at=None):
    """What a command prints; Missing if there is no such command, or it fails."""
    try:
        done = subprocess.run([str(word) for word in words], cwd=at, capture_output=True, text=True, timeout=LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{words[0]}: {error}") from error
    if done.returncode:
        raise Missing(f"{' '.join(map(str, words))}:\n{done.stderr[-1000:]}")
    return done.stdout


# ---------------------------------------------------------------- what it runs


def compare(folder):
    """Make the calls on both machines, and print where their numbers differ; the exit status."""
    absent = folder / ABSENT
    if absent.exists():
        print(f"ARM was left out, packages for it could not be had: {absent.read_text()}")
        return 0
    start = time.monotonic()
    (python,) = (folder / "root/usr/bin").glob("python3.*[0-9]")
    emulated = [folder / "tools/usr/bin/qemu-aarch64-static", "-L", folder / "root", python]
    places = {"PYTHONHOME": folder / "root/usr", "PYTHONPATH": f"{folder / 'site'}:{SOURCE}"}
    there = everything(emulated, folder / "there", places | {"RUSHLIGHT_CACHE": folder / "kernels"})
    here = everything([sys.executable], folder / "here", {"PYTHONPATH": SOURCE, "RUSHLIGHT_KERNELS": "128"})
    differing = differences(there, here)
    for line in differing:
        print(line)
    kernels = there["kernels"]
    table = ", ".join(f"{name} {count}" for name, count in sorted(kernels.items()))
    print(f"kernels that ran on {' '.join(there['machines'])}: {table}")
    unseen = sorted(set(here["kernels"]) - set(kernels))
    if unseen:
        print(f"none of these ran there: {', '.join(unseen)}")
    took = time.monotonic() - start
    print(f"{len(there['calls'])} calls on ARM, {len(differing)} arrays differ from {here['machines']}; {took:.0f} s")
    return 1 if differing or unseen else 0


def everything(python, file, environment):
    """What the processes of `calls.py` found, put together."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment = inherited | {name: str(value) for name, value in environment.items()}

    def run(part):
        words = [*python, HERE / "calls.py", f"{file}{part}", COUNT, part, PARTS]
        words = [str(word) for word in words]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
        with open(f"{file}{part}", "rb") as found:
            return pickle.load(found)

    found = {"machines": set(), "calls": {}, "kernels": {}}
    with ThreadPoolExecutor(PARTS) as pool:
        for machine, calls, kernels in pool.map(run, range(PARTS)):
            found["machines"].add(machine.split()[0])
            found["calls"] |= calls
            found["kernels"] = {
                name: kernels[name] + found["kernels"].get(name, 0) for name in kernels | found["kernels"]
            }
    return found


def differences(there, here):
    """A line for each array that is not the same on both machines, up to rounding."""
    found = []
    for name in sorted(there["calls"] | here["calls"]):
        mine, others = (side["calls"].get(name) for side in (here, there))
        if mine is None or others is None or len(mine) != len(others):
            found.append(f"{name}: refused, or with other results, on one machine alone")
            continue
        for place, ((kind, wanted), (its_kind, got)) in enumerate(zip(mine, others)):
            if kind != its_kind or wanted.shape != got.shape:
                found.append(f"{name} result {place}: {its_kind} {got.shape}, not {kind} {wanted.shape}")
            elif not alike(wanted, got, ERRORS.get(kind.removeprefix("torch."), 0)):
                found.append(f"{name} result {place}: {kind} {wanted.shape} differs")
    return found


def alike(wanted, got, error):
    """Whether numbers are equal, or off by so much of the largest one."""
    if error == 0 or wanted.size == 0:
        return np.array_equal(wanted, got)
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(got)) or not np.array_equal(
        wanted[~finite], got[~finite], equal_nan=True
    ):
        return False
    wanted, got = wanted[finite], got[finite]
    return wanted.size == 0 or np.abs(wanted - got).max() <= error * np.abs(wanted).max()


if __name__ == "__main__":
    sys.exit(main())
