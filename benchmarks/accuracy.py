"""How far float32 results are from float64's, beside PyTorch's.

Usage:
    python accuracy.py                        # every family
    python accuracy.py matmul variance        # some
    python accuracy.py --ratio 1.5            # only the rows above a ratio
    RUSHLIGHT_KERNELS=256 ATEN_CPU_CAPABILITY=avx2 python accuracy.py      # as on a CPU with AVX2; "off": NumPy alone

Both modules compute the same on the same float32 operands, PyTorch once more in float64. An error is relative to the size of
the results: the root mean square of the differences (``rms``), or the largest (``max``), divided by the root mean square of
the results; all of it over several draws of the operands, as errors of one draw may have one cause. A row with several results (gradients, say) shows the one where Rushlight does worst beside PyTorch.
"""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple

import numpy as np
from accuracy_rows import FAMILIES

FLOOR = 3e-8  # what one rounding costs: half a unit in the last place of float32 at most
ENOUGH = 1000  # numbers that an average is taken of
DRAWS, MOST_DRAWS, LARGE = 8, 32, 300_000  # draws at least, at most; a quarter of them of more than LARGE operands


class Errors(NamedTuple):
    """Relative errors of one result."""

    rms: float
    largest: float


def operands(row, seed=0):
    """The float32 arrays of a row: normal numbers around its mean, of its spread; those that it makes itself otherwise."""
    draws = np.random.default_rng(seed)
    arrays = [draws.standard_normal(shape) * row.spread + row.mean for shape in row.shapes]
    return [array.astype(np.float32) for array in arrays]


def computed(module, row, arrays):
    """The row's results by a module, as float64 arrays."""
    tensors = [module.from_numpy(array.copy()) for array in arrays]
    found = row.compute(module, *tensors)
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [each.detach().cpu().double().numpy() for each in found]


def errors(found, exact):
    """The Errors of a result of several draws."""
    size = np.sqrt(mean(np.abs(each) ** 2 for each in exact)) or 1.0
    away = [np.abs(a - b) for a, b in zip(found, exact)]
    rms, largest = np.sqrt(mean(each**2 for each in away)), max(each.max(initial=0) for each in away)
    return Errors(float(rms / size), float(largest / size))


def mean(arrays):
    """The mean of arrays' means."""
    return float(np.mean([each.mean() for each in arrays]))


def compared(row, ours, theirs):
    """(our Errors, their Errors) for each of a row's results, over several draws of operands."""
    draws, numbers, (least, most) = (
        [],
        0,
        [count if size(row) <= LARGE else count // 4 for count in (DRAWS, MOST_DRAWS)],
    )
    while len(draws) < least or (numbers < ENOUGH and len(draws) < most):
        arrays = operands(row, len(draws))
        exact = computed(theirs, row, [array.astype(np.float64) for array in arrays])
        draws.append([exact, *(computed(module, row, arrays) for module in (ours, theirs))])
        numbers += min(each.size for each in exact)
    exact, mine, other = (list(zip(*results, strict=True)) for results in zip(*draws))
    return [(errors(a, e), errors(b, e)) for a, b, e in zip(mine, other, exact, strict=True)]


def size(row):
    """How many elements a row's operands have."""
    return sum(int(np.prod(shape)) for shape in row.shapes)


def ratio(pair):
    """How many times PyTorch's error ours is, where one rounding more or less does not count."""
    ours, theirs = pair
    return max(ours.rms - FLOOR, 0) / max(theirs.rms, FLOOR)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--ratio", type=float, default=0.0)
    options = parser.parse_args()
    ours, theirs = (importlib.import_module(name) for name in ("rushlight", "torch"))
    print(f"{'':44}{'Rushlight':^20}{'PyTorch':^20}")
    print(f"{'':44}{'rms':>10}{'max':>10}{'rms':>10}{'max':>10}  ratio")
    for family in options.families or FAMILIES:
        for row in FAMILIES[family]:
            pair = max(compared(row, ours, theirs), key=ratio)
            if ratio(pair) >= options.ratio:
                numbers = "".join(f"{number:10.1e}" for errors in pair for number in errors)
                print(f"{family + ' ' + row.name:44}{numbers}{ratio(pair):7.2f}", flush=True)


if __name__ == "__main__":
    main()
