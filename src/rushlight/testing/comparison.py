"""``assert_close`` and ``make_tensor``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..base import dtypes
from ..base.device import DeviceLike, sparse_bsc, sparse_coo, sparse_csc, strided
from ..base.dtypes import DType
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor

# (rtol, atol) by dtype, as PyTorch's.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}  # fmt: skip


def _as_tensor(value):
    return value if hasattr(value, "_edge") else functions.as_tensor(value)


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool=True, rtol: float | None=None, atol: float | None=None, equal_nan: bool=False, check_device: bool=True,
                 check_dtype: bool=True, check_layout: bool=True, check_stride: bool=False, msg: str | Callable[[str], str] | None=None) -> None:  # fmt: skip
    """Raise AssertionError unless ``actual`` and ``expected`` agree: ``|a - e| <= atol + rtol * |e|`` everywhere.

    Takes tensors, numbers, and sequences or mappings of them. Tolerances depend on the dtype unless both are given.

    >>> import rushlight as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    options = dict(rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, check_stride=check_stride)
    options["check_layout"] = check_layout
    _compare(actual, expected, options, msg, "")


def _compare(actual, expected, options, msg, where):
    if isinstance(expected, dict) and isinstance(actual, dict):
        if actual.keys() != expected.keys():
            _fail(
                f"The keys of the mappings do not match:{sorted(map(str, actual))} != {sorted(map(str, expected))}",
                msg,
                where,
            )
        for key in expected:
            _compare(actual[key], expected[key], options, msg, f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", msg, where)
        for position, (a, e) in enumerate(zip(actual, expected)):
            _compare(a, e, options, msg, f"{where}[{position}]")
    else:
        numbers = not hasattr(actual, "_edge") and not hasattr(expected, "_edge") and not hasattr(actual, "dtype")
        _compare_tensors(_as_tensor(actual), _as_tensor(expected), options, msg, where, numbers)


def _compare_tensors(actual, expected, options, msg, where, numbers):
    if actual.shape != expected.shape:
        _fail(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", msg, where)
    if options["check_layout"] and actual.layout is not expected.layout:
        _fail(f"The values for attribute 'layout' do not match: {actual.layout} != {expected.layout}.", msg, where)
    if actual.layout is not expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout is not strided:
        _compare_sparse(actual, expected, options, msg, where)
        return
    if options["check_stride"] and actual.stride() != expected.stride():
        _fail(
            f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", msg, where
        )
    if options["check_dtype"] and not numbers and actual.dtype is not expected.dtype:
        _fail(f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.", msg, where)
    rtol, atol = options["rtol"], options["atol"]
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    if rtol is None:
        pairs = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    kind = dtypes.promote_types(actual.dtype, expected.dtype)
    a, e = actual.detach().to(kind), expected.detach().to(kind)
    close = functions.isclose(a, e, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    wrong = int(close.logical_not().sum().item())
    if not wrong:
        return
    if numbers or a.numel() == 1:
        first = f"{'Scalars' if a.ndim == 0 else 'Tensor-likes'} are not close!"
    else:
        first = "Tensor-likes are not close!" if rtol or atol else "Tensor-likes are not equal!"
    _fail(_report(first, a, e, close, wrong, rtol, atol), msg, where)


def _compare_sparse(actual, expected, options, msg, where):
    """As `_compare_tensors` for two sparse tensors of one layout: the same places, and close values."""
    if actual.layout is sparse_coo:
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        message = f"The number of specified values in sparse {{}} tensors does not match: {actual._nnz()} != {expected._nnz()}"
        _fail(message.format("COO" if actual.layout is sparse_coo else str(actual.layout)[-3:].upper()), msg, where)
    names = ("indices",) if actual.layout is sparse_coo else ("crow_indices", "col_indices")
    names = ("ccol_indices", "row_indices") if actual.layout in (sparse_csc, sparse_bsc) else names
    for name in (*names, "values"):
        parts = [getattr(each, name)() for each in (actual, expected)]
        _compare_tensors(*parts, {**options, "check_layout": False}, msg, f"{where}.{name}()", False)


def _report(first, actual, expected, close, wrong, rtol, atol):
    wide = dtypes.complex128 if actual.is_complex() else dtypes.float64
    difference = (actual.to(wide) - expected.to(wide)).abs().masked_fill(close, 0)
    relative = (difference / expected.to(wide).abs()).masked_fill(close, 0)
    total = max(actual.numel(), 1)
    lines = [first, ""]
    if actual.numel() > 1:
        lines.append(f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})")
    for name, values, limit in (("absolute", difference, atol), ("relative", relative, rtol)):
        flat = values.reshape(-1)
        place = int(flat.nan_to_num(math.inf).argmax().item())
        position = _position(place, tuple(actual.shape))
        at = f" at index {position}" if actual.ndim else ""
        lines.append(f"Greatest {name} difference: {flat[place].item()}{at} (up to {limit} allowed)")
    return "\n".join(lines)


def _position(flat, shape):
    """The index of the ``flat``-th element of ``shape``."""
    found = []
    for length in reversed(shape):
        flat, rest = divmod(flat, length)
        found.append(rest)
    return tuple(reversed(found))


def _fail(text, msg, where):
    text = text if not where else f"{text}\n\nThe failure occurred for item {where}"
    if callable(msg):
        text = msg(text)
    elif msg is not None:
        text = msg
    raise AssertionError(text)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated in PyTorch: `assert_close` without a look at dtypes."""
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape: int | Size | list[int] | tuple[int, ...], dtype: DType, device: str | DeviceLike | None=None, low: float | None=None, high: float | None=None, requires_grad: bool=False, noncontiguous: bool=False, exclude_zero: bool=False,
                memory_format: Any=None) -> Tensor:  # fmt: skip
    """A tensor of random numbers for tests: uniform in [low, high), by default -9 to 9 (0 to 9 for unsigned, 0 or 1 for bool)."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if low is not None and high is not None and low >= high:
        raise ValueError(
            hinted(f"make_tensor: low must be less than high, but got {low} >= {high}", "high itself is never drawn")
        )
    if dtype is dtypes.bool_:
        made = functions.randint(0, 2, shape, dtype=dtype)
    elif dtype.category <= dtypes.SIGNED:
        lowest = 0 if dtype.category == dtypes.UNSIGNED else -9
        made = functions.randint(
            math.floor(lowest if low is None else low), math.ceil(10 if high is None else high), shape, dtype=dtype
        )
    else:
        first, last = (-9 if low is None else low), (9 if high is None else high)
        real = dtype.to_real()
        made = functions.rand(shape, dtype=real) * (last - first) + first
        if dtype.is_complex:
            made = functions.complex(made, functions.rand(shape, dtype=real) * (last - first) + first)
    if exclude_zero:
        made = made.masked_fill(made == 0, 1)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, -1)[..., ::2]
    return made.requires_grad_(True) if requires_grad else made
