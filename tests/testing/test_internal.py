"""``torch.testing._internal.common_utils``: the test cases of suites that were written for PyTorch."""

import io
import unittest

import numpy as np
import pytest

import rushlight as torch
from rushlight.testing._internal import common_utils as utils

case = utils.TestCase()


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        (torch.ones(2), torch.ones(2) + 1e-7, {}),
        (torch.ones(2), [1.0, 1.0], {}),
        (torch.ones(2), np.ones(2), {}),
        (1.0, 1.0 + 1e-9, {}),
        ([torch.ones(2), "a"], (torch.ones(2), "a"), {}),
        ({"a": torch.ones(2)}, {"a": torch.ones(2)}, {}),
        ("a", "a", {}),
        (True, True, {}),
        (torch.ones(2), torch.ones(2) * 1.05, {"atol": 0.1}),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), {"exact_dtype": False}),
        (float("nan"), float("nan"), {}),
    ],
    ids=str,
)
def test_what_is_equal(x, y, options):
    case.assertEqual(x, y, **options)
    with pytest.raises(AssertionError):
        case.assertNotEqual(x, y, **options)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (torch.ones(2), torch.ones(3)),
        (torch.ones(2), torch.ones(2) + 1e-3),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (1.0, 1.1),
        ([torch.ones(2)], [torch.ones(2)] * 2),
        ({"a": 1}, {"b": 1}),
        ("a", "b"),
        (True, False),
    ],
    ids=str,
)
def test_what_is_not(x, y):
    case.assertNotEqual(x, y)
    with pytest.raises(AssertionError):
        case.assertEqual(x, y)


def test_parameters_make_tests():
    seen = []

    class Cases(utils.TestCase):
        @utils.parametrize("dtype", [torch.float32, torch.int64])
        @utils.parametrize("a,b", [(1, 2), utils.subtest((3, 4), name="big")])
        def test_sum(self, a, b, dtype):
            seen.append((a + b, dtype, torch.rand(1).item()))

        @utils.slowTest
        def test_slow(self):
            seen.append("slow")

    utils.instantiate_parametrized_tests(Cases)
    names = [name for name in dir(Cases) if name.startswith("test_sum")]
    assert names == [
        f"test_sum_{dtype}_{pair}" for dtype in ("dtype_float32", "dtype_int64") for pair in ("a_1_b_2", "big")
    ]
    result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Cases))
    assert result.testsRun == 5 and len(result.skipped) == 1 and not result.failures and not result.errors
    torch.manual_seed(utils.SEED)
    assert {each[2] for each in seen} == {torch.rand(1).item()} and len(seen) == 4


def test_blocks():
    torch.manual_seed(0)
    with utils.freeze_rng_state():
        first = torch.rand(1).item()
    assert torch.rand(1).item() == first
    with utils.set_default_dtype(torch.float64):
        assert torch.ones(1).dtype is torch.float64
    assert torch.ones(1).dtype is torch.float32
