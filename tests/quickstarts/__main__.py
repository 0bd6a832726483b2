"""``python tests/quickstarts [--folder DIR] [NAME ...]``: quickstarts of public libraries, under Rushlight's shim and under PyTorch.

Each program here is run twice, in two environments that are made in the folder and kept: one with the shim, one that sees the
PyTorch of the Python which runs this. What they print must be equal, numbers to a few units of float32. Needs the package index.
"""

import argparse
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
NEEDS = {
    "timm": ["timm"],
    "torchinfo": ["torchinfo"],
    "lightning": ["lightning"],
    "torchmetrics": ["torchmetrics"],
    "einops": ["einops"],
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
RELATIVE, ABSOLUTE = 2e-3, 2e-4  # what some layers of float32 make of another order of sums
# For the side of PyTorch: torchvision of the index is built for a PyTorch with CUDA; without its native operations it cannot describe them.
WITHOUT_NATIVE = """import torch
registered = torch.library.register_fake
def register_fake(op, *rest, **options):
    if str(op).startswith("torchvision::"):
        return lambda function: function
    return registered(op, *rest, **options)
torch.library.register_fake = register_fake
"""


def environment(place, sees, packages, shim):
    """A virtual environment that finds the modules in the folder ``sees`` and has the packages; returns its Python."""
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        site = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        )
        Path(site.stdout.strip(), "seen.pth").write_text(f"{sees}\n")
        if shim:
            subprocess.run(
                [python, "-m", "pip", "install", "-q", "numpy", "llvmlite", "ml_dtypes", "pillow"], check=True
            )
            subprocess.run([python, "-m", "rushlight", "shim", "install"], check=True)
        else:
            Path(site.stdout.strip(), "sitecustomize.py").write_text(WITHOUT_NATIVE)
            subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "torchvision==0.28.0"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def printed(python, program, folder):
    """What a program prints; its error where it fails."""
    done = subprocess.run([python, program], capture_output=True, text=True, cwd=folder, timeout=900)
    return done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr[-2000:]}\nexit status {done.returncode}"


def differing(ours, theirs):
    """The pairs of lines that differ by more than rounding."""
    lines = [text.splitlines() for text in (ours, theirs)]
    count = max(map(len, lines))
    pairs = zip(*(one + ["(nothing)"] * (count - len(one)) for one in lines))
    return [(a, b) for a, b in pairs if not same(a, b)]


def same(a, b):
    """Whether two lines are equal but for the last digits of their numbers."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    numbers = [map(float, NUMBER.findall(line)) for line in (a, b)]
    return all(abs(x - y) <= ABSOLUTE + RELATIVE * abs(y) for x, y in zip(*numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NEEDS)}; all unless given")
    parser.add_argument("--folder", default="libraries", help="where the two environments are kept")
    given = parser.parse_args()
    folder, failed = Path(given.folder).absolute(), 0
    for name in given.names or NEEDS:
        ours = environment(folder / "shim", SOURCE, NEEDS[name], shim=True)
        theirs = environment(folder / "torch", sysconfig.get_path("purelib"), NEEDS[name], shim=False)
        texts = [printed(python, HERE / f"{name}_quickstart.py", folder) for python in (ours, theirs)]
        found = differing(*texts)
        failed += bool(found)
        print(f"{name}: {len(texts[0].splitlines())} lines, {len(found)} differ")
        for a, b in found[:20]:
            print(f"  Rushlight  {a}\n  PyTorch    {b}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
