"""Writes docs/compatibility.md, which of PyTorch's public names are there: ``python tools/write_compatibility.py``.

PyTorch, which has to be installed, says which names it has; a second process, in which Rushlight stands in as ``torch``, says
which of them it finds.
"""

import importlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import TypeVar

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
HEAD = """\
# PyTorch's names, and which of them are there

A name counts where PyTorch {version} has it in the module and documents it: it begins with no underscore, stands in `__all__` or was defined there or
below, and has a docstring (dtypes need none). Names that *refuse* can be imported and
asked for with `isinstance`, so that programs start; using one raises a NotImplementedError that says what to do instead. A name that
is there works for what PyTorch documents of it, unless its own page or docstring says what is missing.

This page is written by `python tools/write_compatibility.py` from both libraries; a test compares it with them.

| module | names | there | refuse | missing | there, of all |
|---|---:|---:|---:|---:|---:|
"""
# Most used first; a module below one of these counts by itself.
_PATHS = """
torch torch.Tensor torch.autograd torch.autograd.forward_ad torch.autograd.functional torch.autograd.graph torch.autograd.profiler
torch.nn torch.nn.functional torch.nn.init torch.nn.attention torch.nn.attention.flex_attention torch.nn.parallel torch.nn.utils
torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.prune torch.nn.utils.rnn torch.nn.utils.stateless
torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.func torch.linalg torch.fft torch.special torch.signal.windows
torch.distributions torch.distributions.constraints torch.distributions.kl torch.distributions.transforms torch.sparse torch.masked
torch.nested torch.quasirandom torch.random torch.utils torch.utils.benchmark torch.utils.checkpoint torch.utils.data
torch.utils.data.distributed torch.utils.dlpack torch.utils.flop_counter torch.utils.hooks torch.utils.module_tracker
torch.amp torch.profiler torch.serialization torch.storage torch.hub torch.testing torch.overrides
torch.library torch.types torch.futures torch.multiprocessing torch.jit torch.fx torch.compiler torch.export torch.onnx
torch.distributed torch.distributed.checkpoint torch.distributed.device_mesh torch.distributed.fsdp torch.distributed.nn.functional
torch.distributed.optim torch.distributed.pipelining torch.distributed.tensor torch.monitor torch.accelerator torch.cpu torch.cuda torch.mps
torch.xpu
"""
MODULES = _PATHS.split()

NOTHING = (ModuleType, TypeVar, str)
# What a binding generator writes where nobody documented a function: its signature alone.
_GENERATED_DOC = re.compile(r"\w+\(.*\) -> .*\n?")


def resolved(path):
    """The module or class at a dotted path."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        parent, _, name = path.rpartition(".")
        return getattr(importlib.import_module(parent), name)


def is_public(owner, name, value, torch):
    """Whether a name of a module or class is one of its documented ones."""
    if name.startswith("_") or isinstance(value, NOTHING) or type(value).__name__ == "pybind11_type":
        return False
    if isinstance(value, torch.dtype):  # those of less than a byte hold no numbers in PyTorch either
        return not name.startswith("bit") and name.lstrip("u") not in {f"int{bits}" for bits in range(1, 8)}
    if not getattr(value, "__doc__", None):
        return False
    if isinstance(owner, type):
        return True
    listed = name in getattr(owner, "__all__", ())
    defined = (getattr(value, "__module__", None) or owner.__name__).startswith(owner.__name__)
    bound = isinstance(value, BuiltinFunctionType) and not value.__name__.startswith("_")
    return callable(value) and (listed or defined or bound) and not _GENERATED_DOC.fullmatch(value.__doc__)


def names_of_pytorch():
    """``(PyTorch's version, {module: its names})``."""
    import torch

    found = {}
    for path in MODULES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            owner = resolved(path)
            names = set(getattr(owner, "__all__", ())) | set(dir(owner))
            found[path] = [name for name in sorted(names) if is_public(owner, name, getattr(owner, name, None), torch)]
    return torch.__version__.partition("+")[0], found


def states(names):
    """``{module: {name: "there" | "refuses" | "missing"}}`` in a process where Rushlight stands in as ``torch``."""
    program = "import sys; sys.path[:0] = sys.argv[1:]; import write_compatibility; write_compatibility.tell_states()"
    given = [str(ROOT / "src"), str(Path(__file__).parent)]
    told = subprocess.run(
        [sys.executable, "-c", program, *given], input=json.dumps(names), capture_output=True, text=True
    )
    if told.returncode:
        raise RuntimeError(told.stderr)
    return json.loads(told.stdout)


def tell_states():
    """What `states` runs in the other process."""
    import rushlight
    from rushlight.base.absent import is_absent

    rushlight.compat.install_as_torch()
    told = {}
    for path, names in json.load(sys.stdin).items():
        try:
            owner = resolved(path)
        except (ImportError, AttributeError):
            owner = None
        told[path] = {}
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(owner, name, is_absent)
            missing = owner is None or value is is_absent
            told[path][name] = "missing" if missing else "refuses" if is_absent(value) else "there"
    json.dump(told, sys.stdout)


def page():
    """The text of docs/compatibility.md."""
    version, names = names_of_pytorch()
    lines, lists = [], []
    for path, told in states(names).items():
        by_state = {state: [name for name in told if told[name] == state] for state in ("there", "refuses", "missing")}
        counts = [len(found) for found in by_state.values()]
        share = 100 * counts[0] / max(1, len(told))
        lines.append(f"| `{path}` | {len(told)} | {counts[0]} | {counts[1]} | {counts[2]} | {share:.1f} % |")
        for state in ("refuses", "missing"):
            if by_state[state]:
                lists.append(f"- `{path}`, {state}: " + ", ".join(f"`{name}`" for name in by_state[state]))
    return HEAD.format(version=version) + "\n".join(lines) + "\n\n## What is not there\n\n" + "\n".join(lists) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
