"""Calls of every family of kernels, the same on every machine: what they give goes into a file, for `run.py` to compare.

``python calls.py FILE COUNT [PART PARTS]`` makes COUNT random calls of each family (of one in so many families), those that
are refused not counted. The file holds (family, number of the call) -> arrays, and which kernels ran, by folder.
"""

import pickle
import random
import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "kernels"))
from filled_calls import leaves
from guarded_calls import LowThresholds

REFUSALS = RuntimeError, ValueError, TypeError, IndexError, AssertionError  # what PyTorch refuses, too
MOST_TRIES = 20


def main(path, count, part=0, parts=1):
    sys.meta_path.insert(0, LowThresholds())
    warnings.simplefilter("ignore")
    from guarded_families import FAMILIES

    from rushlight.kernels.compiler.kernel import known
    from rushlight.kernels.machine.host import host

    found = {}
    for name in sorted(FAMILIES)[int(part) :: int(parts)]:
        tries = iter(range(MOST_TRIES))
        for _ in range(int(count)):
            number, arrays = next((n, a) for n in tries if (a := results(FAMILIES[name], f"{name}/{n}")) is not None)
            found[name, number] = arrays
            print(name, number, file=sys.stderr, flush=True)
    ran = Counter(folder(kernel) for kernel in known() if kernel.launches)
    with open(path, "wb") as file:
        pickle.dump((host().description, found, ran), file)


def results(function, seed):
    """All arrays that a call gives or writes, gradients included; None if it is refused."""
    from guarded_operands import Draw

    import rushlight as torch

    draw = Draw(random.Random(seed), "after")
    torch.manual_seed(0)
    try:
        function(draw)
    except REFUSALS:
        return None
    tensors = [*draw.results, *(leaf.grad for leaf in leaves(draw.results) if leaf.grad is not None), *draw.targets]
    return [(str(tensor.dtype), array(tensor.detach())) for tensor in tensors]


def array(tensor):
    """A tensor's numbers as an array of NumPy's own dtypes."""
    if tensor.is_complex():
        return tensor.resolve_conj().resolve_neg().numpy().copy()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy().copy()


def folder(kernel):
    """The folder of `rushlight/kernels` that a kernel is from."""
    named = str(kernel.key[1]) if len(kernel.key) > 1 else ""
    module = named if named.startswith("rushlight.kernels.") else kernel.build.__module__
    return module.split(".")[2]


if __name__ == "__main__":
    main(*sys.argv[1:])
