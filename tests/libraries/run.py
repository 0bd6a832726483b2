"""Runs libraries of the package index under the shim, and compares what they print with what they printed under PyTorch.

    python tests/libraries/run.py [LIBRARY ...]             in a fresh virtual environment
    python tests/libraries/run.py --make FOLDER             makes such an environment there, and runs nothing
    python tests/libraries/run.py --here [LIBRARY ...]      in the environment that runs this, shim and libraries installed
    python tests/libraries/run.py --record [LIBRARY ...]    writes expected.json; the environment has the real torch

torchvision on the side of PyTorch may be one whose compiled operations were not built.
"""

import argparse
import concurrent.futures
import importlib.metadata
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
EXPECTED = HERE / "expected.json"
CASES = sorted(path.stem.removeprefix("case_") for path in HERE.glob("case_*.py"))
RELATIVE = 1e-5
ABSOLUTE = 1e-9  # a float that is 0 on one side
LIMIT = 150  # seconds that a case may take
# Declares torchvision's compiled operations to PyTorch where they were not built, then runs a case as a program.
BESIDE_TORCH = """
import runpy, sys, torch
library = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("libraries", nargs="*", choices=[[], *CASES], metavar="LIBRARY", help=", ".join(CASES))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--make", type=Path, metavar="FOLDER", help="make a virtual environment for --here")
    where.add_argument("--here", action="store_true", help="in this environment")
    where.add_argument("--record", action="store_true", help="write what the real torch of this environment prints")
    options = parser.parse_args()
    names = options.libraries or CASES
    if options.record:
        return record(names)
    if options.make:
        environment(options.make)
        return 0
    if options.here:
        return compare(sys.executable, names)
    with tempfile.TemporaryDirectory() as folder:
        return compare(environment(Path(folder)), names)


def environment(folder):
    """A virtual environment with Rushlight, its shim and the libraries; its Python."""
    start = time.monotonic()
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    source = folder / "source"  # a copy, as building leaves files that a later build would take in
    shutil.copytree(
        CHECKOUT / "src" / "rushlight", source / "src" / "rushlight", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    call(python, "-m", "pip", "install", "--quiet", source)
    call(folder / "bin" / "rushlight", "shim", "install")
    answers = folder / "answers.json"
    requirements = str(HERE / "requirements.txt")
    call(python, "-m", "pip", "install", "--quiet", "--report", str(answers), "--requirement", requirements)
    fetched = [item["metadata"]["name"] for item in json.loads(answers.read_text())["install"]]
    of_torch = [name for name in fetched if name.startswith(("torch", "nvidia", "triton")) and name not in CASES]
    if of_torch:
        sys.exit(f"pip did not take the shim for torch: it fetched {', '.join(of_torch)}")
    print(f"{len(fetched)} packages installed beside the shim in {time.monotonic() - start:.0f} s")
    return str(python)


def call(*command):
    subprocess.run([str(part) for part in command], check=True, env=surroundings(), stdout=subprocess.DEVNULL)


def surroundings():
    """The environment variables of a case: no network, no packages but those of its Python, kernels kept in the checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    kept.setdefault("RUSHLIGHT_CACHE", str(CHECKOUT / ".kernel_cache"))
    return kept | {"HF_HUB_OFFLINE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "TOKENIZERS_PARALLELISM": "false"}


def run(command):
    """What a case printed, as {name: (kind, value, tolerance)}, its error if it ended with one, and its seconds."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=surroundings(), capture_output=True, text=True, timeout=LIMIT
            )
            error = done.stderr if done.returncode else ""
        except subprocess.TimeoutExpired:
            return {}, f"took more than {LIMIT} s", LIMIT
    return printed(done.stdout), error, time.monotonic() - start


def printed(text):
    """Lines of another shape are the library's own."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        kind, _, value = rest.partition(" ") if rest.startswith(("cannot ", "can ")) else ("says", "", rest)
        value, _, tolerance = value.rpartition(" within ") if " within " in value else (value, "", RELATIVE)
        try:
            found[name] = (kind, json.loads(value), float(tolerance))
        except ValueError:
            continue
    return found


def case(name):
    return str(HERE / f"case_{name}.py")


def each(names, command):
    """Run cases, two at once; (name, result) in the order of names."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from zip(names, pool.map(lambda name: run(command(name)), names))


def record(names):
    import torch

    if "rushlight" in torch.__version__:
        sys.exit("--record asks the real torch, and this environment has Rushlight's shim")
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name, (lines, error, seconds) in each(names, lambda name: [sys.executable, "-c", BESIDE_TORCH, case(name)]):
        if error:
            sys.exit(f"{name} fails under PyTorch:\n{error}")
        numbers = {key: value for key, (_, value, _) in lines.items()}
        expected[name] = {"version": importlib.metadata.version(name), "numbers": numbers}
        print(f"{name:14} {expected[name]['version']:10} {len(numbers):4} numbers {seconds:6.1f} s")
    ordered = {name: expected[name] for name in sorted(expected) if name in CASES}
    EXPECTED.write_text(json.dumps(ordered, indent=0) + "\n")
    return 0


def compare(python, names):
    """Print the table; the exit code."""
    expected = json.loads(EXPECTED.read_text())
    lines, faults = [], []
    for name, (found, error, seconds) in each(names, lambda name: [python, case(name)]):
        known = expected[name]["numbers"]
        wrong = differences(known, found)
        if error:
            wrong.append(f"ended with an error:\n{error[-3000:]}")
        equal = sum(
            key in found and found[key][0] == "says" and not difference(known[key], *found[key][1:]) for key in known
        )
        lines.append(f"{name:14} {expected[name]['version']:10} {equal:4} of {len(known):3} {seconds:8.1f}")
        faults += [f"{name}: {text}" for text in wrong]
        lines += [f"    cannot yet: {key} ({value})" for key, (kind, value, _) in found.items() if kind == "cannot"]
    print(f"{'library':14} {'version':10} {'numbers equal':>10}  seconds", *lines, *faults, sep="\n")
    return 1 if faults else 0


def differences(known, found):
    """What is other than expected, one text a number."""
    wrong = []
    for name in [*known, *(name for name in found if name not in known)]:
        if name not in found or name not in known:
            wrong.append(f"{name} was {'not printed' if name in known else 'never recorded'}")
            continue
        kind, value, tolerance = found[name]
        if kind == "can":
            wrong.append(f"{name} works now: let the case say it")
        elif kind == "says" and (text := difference(known[name], value, tolerance)):
            wrong.append(f"{name} {text}")
    return wrong


def difference(expected, value, tolerance):
    """How a value differs, or an empty text; floats may differ by the tolerance, all else by nothing."""
    if isinstance(expected, list) and isinstance(value, list) and len(expected) == len(value):
        parts = (difference(one, other, tolerance) for one, other in zip(expected, value))
        return next((f"[{index}] {text}" for index, text in enumerate(parts) if text), "")
    if isinstance(expected, dict) and isinstance(value, dict) and list(expected) == list(value):
        return difference(list(expected.values()), list(value.values()), tolerance)
    if isinstance(expected, float) and isinstance(value, float):
        same = math.isclose(expected, value, rel_tol=tolerance, abs_tol=ABSOLUTE) or (
            expected != expected and value != value
        )
        return "" if same else f"is {value!r}, PyTorch {expected!r}, within {tolerance} allowed"
    return "" if type(expected) is type(value) and expected == value else f"is {value!r}, PyTorch {expected!r}"


if __name__ == "__main__":
    sys.exit(main())
