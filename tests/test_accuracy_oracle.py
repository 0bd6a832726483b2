"""Rounding errors against float64 are at most 1.5 times PyTorch's, and one rounding, in every family of benchmarks/accuracy.py."""

import importlib
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host

torch = pytest.importorskip("torch")
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

BOUND = 1.5
SAMPLE, SMALL = 3, 70_000  # rows of a family that the plain suite measures, and how many operands they have at most


@pytest.fixture(scope="module")
def meter():
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("accuracy")
    sys.path.remove(str(BENCHMARKS))
    for name in ("accuracy", "accuracy_rows"):
        sys.modules.pop(name, None)


def _families():
    text = (BENCHMARKS / "accuracy_rows.py").read_text(encoding="utf-8")
    space = {"__name__": "accuracy_rows"}
    exec(compile(text, "accuracy_rows.py", "exec"), space)
    return space["FAMILIES"]


FAMILIES = _families()


def check(meter, rows):
    wrong = []
    for row in rows:
        found = max(map(meter.ratio, meter.compared(row, rushlight, torch)[has_small_mean(row) :]))
        if found > BOUND:
            wrong.append(f"{row.name}: {found:.2f}")
    assert not wrong, wrong


def has_small_mean(row):
    """Whether the first result is the running mean of numbers around 0: `test_running_means_around_zero`."""
    return row.name.startswith("running") and not row.mean


@pytest.mark.skipif(host() is None, reason="NumPy's sums are not ours")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample_of(meter, family):
    rows = sorted(FAMILIES[family], key=meter.size)
    rows = [row for row in rows if meter.size(row) <= SMALL] or rows[:1]
    check(meter, rows[len(rows) // SAMPLE :: max(1, len(rows) // SAMPLE)])


@pytest.mark.skipif(host() is None, reason="NumPy's sums are not ours")
def test_running_means_around_zero(meter):
    """Of many numbers they are small, and as exact as the numbers, not as themselves (PyTorch adds them up in double, which
    takes longer): off by less than a hundredth of what a number is by its rounding, or by 1.5 times PyTorch's error."""
    for row in filter(has_small_mean, FAMILIES["batch_norm"]):
        arrays = meter.operands(row)
        exact, _ = meter.computed(torch, row, [array.astype(np.float64) for array in arrays])
        away = np.abs(meter.computed(rushlight, row, arrays)[0] - exact).max()
        assert away <= 0.01 * 2**-24 or meter.ratio(meter.compared(row, rushlight, torch)[0]) <= BOUND, row.name


@pytest.mark.slow
@pytest.mark.skipif(host() is None, reason="NumPy's sums are not ours")
@pytest.mark.parametrize("family", FAMILIES)
def test_all_of(meter, family):
    largest = int(os.environ.get("RUSHLIGHT_EXAMPLES", 100_000))
    check(meter, [row for row in FAMILIES[family] if meter.size(row) <= largest])


# ---------------------------------------------------------------- data far from 0, and huge numbers


VARIANCES = ("var", "std", "var_mean", "std_mean")


LAYOUTS = {
    "as it is": lambda tensor: tensor,
    "turned": lambda tensor: tensor.transpose(0, 1).contiguous().transpose(0, 1),
    "with steps": lambda tensor: tensor[:, ::2],
    "with gaps": lambda tensor: tensor[3:, 1:],
}


def statistic(module, name, tensor, dim):
    """The results of a statistic as a list of arrays of float64."""
    found = getattr(module, name)(tensor, dim=dim)
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [np.atleast_1d(value.double().numpy()) for value in found]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_variances_far_from_zero(layout, kind):
    """They are exact but for one rounding; PyTorch's of all numbers are not, so these are compared with float64's."""
    middle = {"float32": 1e6, "float64": 1e6, "float16": 1e3, "bfloat16": 100.0}[kind]
    tolerance = {"float32": 2e-7, "float64": 1e-9, "float16": 1e-3, "bfloat16": 8e-3}[kind]
    for shape in ((7, 3), (40, 25), (700, 90)):
        array = np.random.default_rng(0).random(shape) + middle
        mine, theirs = (LAYOUTS[layout](each.from_numpy(array).to(getattr(each, kind))) for each in (rushlight, torch))
        for name, dim in itertools.product(VARIANCES, (None, 0, 1, (0, 1))):
            found, exact = statistic(rushlight, name, mine, dim), statistic(torch, name, theirs.double(), dim)
            for one, other in zip(found, exact, strict=True):
                np.testing.assert_allclose(one, other, rtol=tolerance)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("repeats", [1, 2, 50, 5000])
def test_variances_of_huge_numbers(kind, repeats):
    huge = {"float32": 1e20, "float64": 1e160, "float16": 6e4, "bfloat16": 1e20}[kind]
    array = np.array([huge, 0.0, huge] * repeats).reshape(-1, 1) * np.ones((1, 3))
    mine, theirs = (module.from_numpy(array).to(getattr(module, kind)) for module in (rushlight, torch))
    for name, dim in itertools.product(VARIANCES, (None, 0)):
        for one, other in zip(statistic(rushlight, name, mine, dim), statistic(torch, name, theirs, dim), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-2 if kind == "bfloat16" else 1e-3)


def test_norms_of_huge_numbers():
    array = np.array([[1e20, 0.0, 1e20, -3e19]] * 5, np.float32)

    def of(module):
        functional, x = module.nn.functional, module.from_numpy(array)
        return (
            functional.rms_norm(x, (4,)),
            functional.normalize(x),
        )

    for mine, theirs in zip(of(rushlight), of(torch), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
