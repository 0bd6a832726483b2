"""``torch.testing._internal.common_utils``: test cases that compare tensors, and cases for every value of a parameter.

It is no documented part of PyTorch; suites outside of it use what stands here.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import inspect
import itertools
import os
import platform
import random
import sys
import unittest

import numpy as np

from ... import random as generators
from ...base import dtypes
from ...base.contexts import contextmanager
from ...random import default_generator
from ...tensor import Tensor
from ..comparison import assert_close, make_tensor

_Inline: type
try:
    _Inline = importlib.import_module("expecttest").TestCase  # has assertExpectedInline
except ImportError:
    _Inline = unittest.TestCase

__all__ = [
    "SEED", "TestCase", "decorateIf", "disable_gc", "freeze_rng_state", "instantiate_parametrized_tests", "make_tensor", "parametrize", "run_tests",
    "set_default_dtype", "set_rng_seed", "slowTest", "subtest",
]  # fmt: skip

SEED = 1234
IS_WINDOWS, IS_MACOS, IS_LINUX = (sys.platform == each for each in ("win32", "darwin", "linux"))
IS_X86, IS_ARM64 = platform.machine() in ("x86_64", "i386", "AMD64"), platform.machine() in ("arm64", "aarch64")
IS_CI, IS_SANDCASTLE, IS_FBCODE, IS_JETSON = bool(os.getenv("CI")), False, False, False
TEST_NUMPY, TEST_SCIPY = True, importlib.util.find_spec("scipy") is not None
TEST_MKL = TEST_CUDA = TEST_MPS = TEST_XPU = False
TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_ROCM = TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = (
    False
)
TEST_WITH_SLOW = bool(os.getenv("PYTORCH_TEST_WITH_SLOW"))

slowTest = unittest.skipUnless(TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")


def _as_it_is(*arguments, **options):
    """A mark for machines and modes that are not here: alone or with arguments, it leaves a test as it is."""
    alone = len(arguments) == 1 and not options and (inspect.isfunction(arguments[0]) or inspect.isclass(arguments[0]))
    return arguments[0] if alone else lambda test: test


skipIfTorchDynamo = skipIfTorchInductor = skipIfRocm = skipIfMps = skipIfCrossRef = xfailIfTorchDynamo = (
    markDynamoStrictTest
) = _as_it_is
suppress_warnings = unMarkDynamoStrictTest = _as_it_is


def run_tests(argv=None):
    """Run the test cases of the program, as ``unittest.main`` does."""
    unittest.main(argv=argv)


def set_rng_seed(seed=SEED):
    """Seed the generators of tensors, of Python and of NumPy."""
    generators.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextmanager
def freeze_rng_state():
    """A block after which the generator of tensors is where it was."""
    before = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(before)


@contextmanager
def set_default_dtype(dtype):
    """A block with another default dtype."""
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtype)
    try:
        yield
    finally:
        dtypes.set_default_dtype(before)


@contextmanager
def disable_gc():
    """A block without garbage collection."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class TestCase(_Inline):
    """A test case that seeds all generators before each test, and whose `assertEqual` compares tensors.

    >>> from rushlight.testing._internal.common_utils import TestCase
    >>> import rushlight as torch
    >>> TestCase().assertEqual(torch.ones(2) + 1e-7, torch.ones(2))
    """

    precision: float | None = None
    rel_tol: float | None = None

    def setUp(self):
        set_rng_seed()

    def assertEqual(
        self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True, exact_device=False, exact_layout=False,
        exact_stride=False, exact_is_coalesced=False,
    ):  # fmt: skip
        """Assert that two values, sequences or mappings of them are equal: tensors and numbers to the tolerances of `assert_close`."""
        if not _has_numbers(x) or not _has_numbers(y):
            super().assertEqual(x, y, msg)
            return
        for mine, its in _pairs(x, y):
            if isinstance(mine, Tensor) or isinstance(its, Tensor):
                both = [each if isinstance(each, Tensor) else np.asarray(each) for each in (mine, its)]
                mine, its = (each if isinstance(each, Tensor) else _as_tensor(each, both) for each in both)
            elif not (_is_number(mine) and _is_number(its)) or isinstance(mine, bool):
                super().assertEqual(mine, its, msg)
                continue
            tolerances = {"rtol": rtol, "atol": atol} if atol is not None or rtol is not None else {}
            tolerances = {name: 0.0 if value is None else value for name, value in tolerances.items()}
            options = {
                "check_dtype": exact_dtype and isinstance(mine, Tensor),
                "check_stride": exact_stride,
                "equal_nan": equal_nan,
            }
            assert_close(mine, its, **tolerances, **options, check_layout=exact_layout, msg=msg)

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **options):
        """Assert that `assertEqual` would fail."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **options)

    def assertEqualIgnoreType(self, *args, **options):
        """`assertEqual`, whatever the dtypes."""
        return self.assertEqual(*args, exact_dtype=False, **options)


def _is_number(value):
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def _has_numbers(value):
    """Whether a value is a tensor, a number, an array, or holds one."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_numbers, value))
    if isinstance(value, dict):
        return any(map(_has_numbers, value.values()))
    return isinstance(value, (Tensor, np.ndarray)) or _is_number(value)


def _pairs(x, y):
    """The values of two nests beside each other; AssertionError where they are built differently."""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            raise AssertionError(f"The length of the sequences mismatch: {len(x)} != {len(y)}")
        return [pair for pair in zip(x, y) for pair in _pairs(*pair)]
    if isinstance(x, dict) and isinstance(y, dict):
        if set(x) != set(y):
            raise AssertionError(f"The keys of the mappings do not match: {sorted(map(str, set(x) ^ set(y)))}")
        return [pair for key in x for pair in _pairs(x[key], y[key])]
    return [(x, y)]


def _as_tensor(array, both):
    """An array beside a tensor, as a tensor of its dtype."""
    other = next(each for each in both if isinstance(each, Tensor))
    return other.new_tensor(array, dtype=other.dtype)


# ---------------------------------------------------------------- parameters


class subtest:
    """Values of one test, with a name of its own and decorators."""

    def __init__(self, arg_values, name=None, decorators=None):
        self.arg_values, self.name, self.decorators = arg_values, name, decorators or []


def parametrize(arg_str, arg_values, name_fn=None):
    """A decorator: the test runs once for each of ``arg_values``, given as the arguments that ``arg_str`` names.

    The class needs `instantiate_parametrized_tests`. Several such decorators give all combinations.
    """
    names = [name.strip() for name in arg_str.split(",")]

    def mark(test):
        rows = []
        for number, each in enumerate(arg_values):
            case = each if isinstance(each, subtest) else subtest(each)
            values = [case.arg_values] if len(names) == 1 else list(case.arg_values)
            suffix = case.name or (
                name_fn(*values) if name_fn else "_".join(map(_name_of, names, values, [number] * len(values)))
            )
            rows.append((suffix, dict(zip(names, values)), case.decorators))
        test.parametrize_rows = [rows, *getattr(test, "parametrize_rows", [])]
        return test

    return mark


def _name_of(name, value, number):
    known = isinstance(value, (bool, int, float, str, dtypes.DType))
    told = str(value).removeprefix("torch.") if known else getattr(value, "__name__", number)
    return f"{name}_{told}".replace(".", "_").replace(" ", "_").replace("-", "_")


def instantiate_parametrized_tests(generic_cls):
    """Give a class the tests that its `parametrize` marks ask for; returns the class."""
    for name, test in list(vars(generic_cls).items()):
        rows = getattr(test, "parametrize_rows", None)
        if rows is None:
            continue
        delattr(generic_cls, name)
        for combination in itertools.product(*rows):
            made = _with_arguments(test, {key: value for _, values, _ in combination for key, value in values.items()})
            for decorate in (each for _, _, decorators in combination for each in decorators):
                made = decorate(made)
            setattr(generic_cls, "_".join([name, *(suffix for suffix, _, _ in combination)]), made)
    return generic_cls


def _with_arguments(test, given):
    @functools.wraps(test)
    def case(self):
        return test(self, **given)

    return case


def decorateIf(decorator, predicate_fn):
    """A decorator that is ``decorator`` for the parameters of which ``predicate_fn(dictionary)`` is true."""

    def mark(test):
        @functools.wraps(test)
        def case(self, **given):
            chosen = decorator(test) if predicate_fn(given) else test
            return chosen(self, **given)

        return case

    return mark
