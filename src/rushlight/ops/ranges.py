"""Ranges of numbers: whole ones, and lines and powers between two ends."""

import functools
import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import is_signed_word, number_array, number_in
from ..base.user_code import to_user
from .copy import filler
from .moving import progression
from .table import CREATE, composite, functions, is_half, op

FLOAT, DOUBLE, INT64 = dtypes.float32.numpy, dtypes.float64.numpy, dtypes.int64.numpy
_FEW = 1024  # numbers of a range that NumPy counts in no time, and of a line whose places are kept


@composite(names=("torch",))
def arange(*bounds, start=None, end=None, step=1, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False):  # fmt: skip
    """Numbers from ``start`` up to, not including, ``end``, in steps of ``step``.

    ``arange(end)``, ``arange(start, end)`` or ``arange(start, end, step)``. Whole numbers give int64, others the default
    floating dtype.

    >>> import rushlight as torch
    >>> torch.arange(1, 2, 0.5)
    tensor([1.0000, 1.5000])
    """
    if len(bounds) > 3:
        raise TypeError(
            hinted(
                f"arange() takes 3 positional arguments but {len(bounds)} were given",
                "the call takes (start, end, step)",
            )
        )
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    elif bounds:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    if end is None:
        raise TypeError(hinted('arange() missing 1 required positional arguments: "end"', "name where to stop"))
    if isinstance(end, str) or isinstance(start, str) or isinstance(step, str):
        texts = [isinstance(value, str) for value in (end, start, step)]
        place = texts.index(True)
        name = ("end", "start", "step")[place]
        raise TypeError(
            hinted(f"arange(): argument '{name}' (position {place + 1}) must be Number, not str", "give a number")
        )
    start = 0 if start is None else start
    if out is layout is device is dtype is None and not requires_grad:
        return functions.arange_values(start, end, step)
    return functions.arange_values(
        start, end, step, dtype=dtype, out=out, layout=layout, device=device, requires_grad=requires_grad,
    )  # fmt: skip


def _range_kind(name, dtype):
    """The NumPy dtype in which the numbers of a range of ``dtype`` are counted."""
    if dtype is dtypes.bool_ or dtype.is_complex or dtype in dtypes.FLOAT8:
        raise NotImplementedError(
            hinted(f"\"{name}_cpu\" not implemented for '{dtype.legacy_name}'", "ranges are of real numbers")
        )
    return INT64 if dtype.category <= dtypes.SIGNED else FLOAT if dtype.itemsize == 2 else DOUBLE


def _check_range(start, end, step):
    """PyTorch's refusals of the numbers of a range."""
    if not (step > 0 or step < 0):
        raise RuntimeError(hinted("step must be nonzero", f"a step of {step:g} never arrives"))
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(hinted(f"unsupported range: {start:g} -> {end:g}", "both ends have to be finite"))
    if start > end if step > 0 else start < end:
        raise RuntimeError(
            hinted("upper bound and lower bound inconsistent with step sign", f"from {start:g} to {end:g} by {step:g}")
        )


def _whole_numbers(start, end, step):
    """The int64 numbers from ``start`` up to ``end``."""
    count = -(-(end - start) // step)
    if count <= _FEW:
        found = np.arange(start, end, step, INT64)
        if found.size == count:  # NumPy counts them in float64
            return found
    return progression(np.empty(count, INT64), start, step, INT64)


def _half_numbers(start, step, count, dtype):
    """``start + step * i`` in half precision as PyTorch counts: of 32 numbers at a time in float32 from every sixteenth on,
    which is rounded itself; the rest each from ``start``."""
    places, whole = np.arange(count), count // 32 * 32
    firsts = (FLOAT.type(start) + FLOAT.type(step) * places.astype(FLOAT)).astype(dtype)
    body = firsts[:whole:16].astype(np.float64)[:, None] + FLOAT.type(step) * np.arange(16.0)  # as one operation rounds
    firsts[:whole] = body.astype(FLOAT).astype(dtype).reshape(-1)
    return firsts


@op(
    "arange(Scalar start, Scalar end, Scalar step, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=(),
)  # fmt: skip
class arange_values:
    """`arange` with all of its numbers."""

    def forward(start, end, step, dtype=None):
        plain = start.__class__ is end.__class__ is step.__class__ is int and (dtype is None or dtype is dtypes.int64)
        if plain and step > 0 and start <= end and is_signed_word(start) and is_signed_word(end):
            return _whole_numbers(start, end, step)
        if dtype is None:
            whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
            dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
        computed = _range_kind("arange", dtype)
        start, end, step = [n if n.__class__ is int else number_in(DOUBLE, n) for n in (start, end, step)]
        _check_range(start, end, step)
        if dtype is dtypes.int64:
            start, step, end = [number_in(INT64, value) for value in (start, step, end)]
            if step == 0:
                raise ValueError(hinted("step must be nonzero", "whole numbers have no smaller step than 1"))
            return _whole_numbers(start, end, step)
        count = math.ceil((end - start) / step)
        if count >= 1 << 62:
            raise RuntimeError(hinted("invalid size, possible overflow?", f"the range has {count:.3g} numbers"))
        start, end, step = (number_in(computed, value) for value in (start, end, step))
        if is_half(dtype.numpy):
            return _half_numbers(start, step, count, dtype.numpy)
        # Smaller integers are counted before they are cut.
        return progression(np.empty(count, dtype.numpy), start, step, np.int64 if computed is INT64 else np.float64)


@op(
    "range(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch:range",),
)
class range_:
    """Deprecated in PyTorch: numbers from ``start`` to ``end``, the end included, as floats."""

    def forward(start, end, step, dtype):
        warnings.warn(
            "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
            "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
            stacklevel=to_user(),
        )
        dtype = dtype or dtypes.get_default_dtype()
        computed = _range_kind("range", dtype)
        start, end, step = (number_in(computed, value) for value in (start, end, step))
        _check_range(start, end, step)
        count = math.floor((end - start) / step) + 1
        return progression(np.empty(count, dtype.numpy), start, step, np.int64 if computed is INT64 else np.float64)


def _line_kind(name, start, end, steps, dtype):
    """The NumPy dtype of `linspace` and `logspace`, after the checks that they share."""
    dims = [(end_name, value.ndim) for end_name, value in (("start", start), ("end", end)) if getattr(value, "ndim", 0)]
    if dims:
        told = " and ".join(f"{end_name} with {count} dimension(s)" for end_name, count in dims)
        message = f"{name} only supports 0-dimensional start and end tensors, but got {told}."
        raise RuntimeError(hinted(message, "both ends are numbers, or tensors that hold one"))
    if steps < 0:
        raise RuntimeError(hinted("number of steps must be non-negative", f"it is {steps}"))
    whole = dtypes.get_default_dtype()
    if isinstance(start, complex) or isinstance(end, complex):
        whole = whole.to_complex()
        if dtype is not None and not dtype.is_complex:
            inner = "double" if whole is dtypes.complex128 else "float"
            raise RuntimeError(
                hinted(
                    f"torch.{name}(): inferred dtype c10::complex<{inner}> can't be safely cast to passed dtype "
                    f"{dtype.legacy_name}",
                    "ask for a complex dtype, or give real ends",
                )
            )
    dtype = dtype or whole
    if dtype is dtypes.bool_ and steps > 1:
        raise NotImplementedError(hinted(f"\"{name}_cpu\" not implemented for 'Bool'", "two values make no line"))
    if dtype is dtypes.complex32 or dtype in dtypes.FLOAT8:
        message = f"\"{name}_cpu\" not implemented for '{dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "make it in another dtype, and convert it with .to()"))
    return dtype.numpy


@functools.lru_cache(64)
def _from_both_ends(steps, dtype):
    """The places of the elements of a line, those of its second half counted from its end: 0, 1, -1, 0."""
    places = np.arange(steps).astype(dtype)
    places[steps // 2 :] = -places[: steps - steps // 2][::-1]  # with a negative zero: the end less nothing
    return places


@functools.lru_cache(256)
def _step(start, end, steps, dtype):
    """The distance of the elements of a line, computed in its dtype, as an array."""
    number = dtype.type
    return np.array((number(end) - number(start)) / number(steps - 1))


def _short_line(start, end, steps, dtype):
    found, half = _from_both_ends(steps, dtype) * _step(start, end, steps, dtype), steps // 2
    lower, upper = found[:half], found[half:]
    np.add(lower, number_array(dtype, start), lower)
    np.add(upper, number_array(dtype, end), upper)
    return found


def _half_line(start, end, steps, dtype):
    """A line in half precision: every operation is rounded, also the places."""

    def rounded(values):
        return np.asarray(values, FLOAT).astype(dtype).astype(FLOAT)

    first, last, half = rounded(start), rounded(end), steps // 2
    with np.errstate(all="ignore"):
        step = rounded(rounded(last - first) / rounded(steps - 1))
        below, above = rounded(np.arange(half)), rounded(np.arange(steps - half)[::-1])
        return np.concatenate([first + rounded(step * below), last - rounded(step * above)]).astype(dtype)


@op("linspace(Endpoint start, Endpoint end, int steps, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class linspace:
    """``steps`` numbers from ``start`` to ``end``, both included, equally far apart."""

    def forward(start, end, steps, dtype):
        kind = _line_kind("linspace", start, end, steps, dtype)
        if steps < 2:
            return np.full(steps, filler(1, kind, start) if steps else 0, kind)
        start, end = number_in(kind, start), number_in(kind, end)
        # Counted from both ends, in the dtype itself, as PyTorch does: symmetric, and the ends exact. Integers are counted in
        # float32 and cut.
        dtype = dtypes.from_numpy(kind)
        if is_half(kind):
            return _half_line(start, end, steps, kind)
        whole = dtype.category <= dtypes.SIGNED
        wide = FLOAT if whole else kind
        if steps <= _FEW and not whole:
            return _short_line(start, end, steps, wide)
        first, last = np.array(start, wide), np.array(end, wide)
        step = np.array((end - start) / (steps - 1), wide) if whole else (last - first) / np.array(steps - 1, wide)
        found, half = np.empty(steps, kind), steps // 2
        progression(found[:half], first, step, wide)
        progression(found[half:], last, -step, wide, first=steps - 1 - half, direction=-1)
        return found


@op(
    "logspace(Endpoint start, Endpoint end, int steps, float base=10.0, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class logspace:
    """``steps`` numbers from ``base ** start`` to ``base ** end``, whose logarithms are equally far apart."""

    def forward(start, end, steps, base, dtype):
        kind = _line_kind("logspace", start, end, steps, dtype)
        if steps > 1:
            start, end = number_in(kind, start), number_in(kind, end)
        if isinstance(start, complex) or isinstance(end, complex) or kind.kind == "c":
            step = (end - start) / max(steps - 1, 1)
            return np.power(base, start + step * np.arange(steps)).astype(kind)
        if steps < 2:
            return np.full(steps, filler(1, kind, np.power(base, float(start)).item()) if steps else 0, kind)
        if kind.kind in "iu":
            # Integers step in float32 and their powers are cut, as in PyTorch.
            step, index = np.float32((end - start) / (steps - 1)), np.arange(steps)
            below, above = start + step * index, end - step * (steps - index - 1)
            with np.errstate(all="ignore"):
                return np.power(np.float64(base), np.where(index < steps // 2, below, above)).astype(kind)
        exponents = functions.linspace(start, end, steps, dtype=dtypes.float64)
        return functions.pow(base, exponents).to(dtypes.from_numpy(kind))._array
