"""Creation: tensors of given shapes and values."""

import functools
import math

import numpy as np

from ..base import dtypes
from ..base.arrays import strided_view
from ..base.device import channels_last, check_device, contiguous_format, preserve_format
from ..base.errors import hinted
from ..base.scalars import check_number, is_signed_word, number_in
from ..base.shapes import sizes_argument
from .copy import filler
from .moving import filled, progression, ramps
from .table import CREATE, composite, functions, op

_NUMBERS = frozenset((bool, int, float, complex))
_FEW = 1024  # numbers of a range that NumPy counts in no time, and of a line whose places are kept
FLOAT, DOUBLE, INT64 = dtypes.float32.numpy, dtypes.float64.numpy, dtypes.int64.numpy


def default_kind(dtype):
    """The NumPy dtype meant by a dtype argument; the default floating type where it is None."""
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    kind = dtype._numpy
    return dtype.numpy if kind is None else kind


def negative_size(size, error, name=None):
    """PyTorch's error for a size with a negative length, which ``error`` is about; ``error`` itself without one.

    ``name`` is a function that says so in words of its own.
    """
    for length in size:
        if length < 0:
            return RuntimeError(
                hinted(
                    f"{name}: Dimension size must be non-negative."
                    if name
                    else f"Trying to create tensor with negative dimension {length}: {list(size)}",
                    f"the size is {list(size)}; lengths are 0 or more",
                )
            )
    return error


@op("zeros(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class zeros:
    """A tensor of zeros.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """

    def forward(size, dtype=None):
        try:
            return filled(size, 0, default_kind(dtype))
        except ValueError as error:
            raise negative_size(size, error, "zeros") from None


@op("ones(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class ones:
    """A tensor of ones."""

    def forward(size, dtype=None):
        try:
            return filled(size, 1, default_kind(dtype))
        except ValueError as error:
            raise negative_size(size, error) from None


@op("empty(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class empty:
    """A tensor whose elements are not set to anything."""

    def forward(size, dtype=None):
        try:
            return np.empty(size, default_kind(dtype))
        except ValueError as error:
            raise negative_size(size, error) from None


@op("full(int[] size, Scalar fill_value, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class full:
    """A tensor with one value everywhere; its dtype follows the value unless given."""

    def forward(size, fill_value, dtype):
        kind = (dtypes.of_scalar(fill_value) if dtype is None else dtype).numpy
        try:
            return filled(size, filler(math.prod(size), kind, fill_value), kind)
        except (ValueError, RuntimeError) as error:
            raise negative_size(size, error) from None


@op("empty_strided(int[] size, int[] stride, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class empty_strided:
    """An uninitialised tensor of the given sizes and strides (in elements)."""

    def forward(size, stride, dtype):
        kind = default_kind(dtype)
        if len(size) != len(stride):
            raise RuntimeError(
                hinted(
                    f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
                    "every dimension has one of each",
                )
            )
        if any(n < 0 for n in size):
            raise negative_size(size, None)
        if any(s < 0 for s in stride):
            raise RuntimeError(
                hinted(
                    f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}",
                    "strides are 0 or more",
                )
            )
        memory = np.empty(0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride)), kind)
        return strided_view(memory, tuple(size), tuple(s * kind.itemsize for s in stride))


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
    if dtype is dtypes.bool_ or dtype.is_complex:
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
        if computed is INT64:  # smaller integers are counted before they are cut
            return progression(np.empty(count, dtype.numpy), start, step, np.int64)
        return progression(np.empty(count, dtype.numpy), start, step, np.float64)


@op(
    "range(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch:range",),
)
class range_:
    """Deprecated in PyTorch: numbers from ``start`` to ``end``, the end included, as floats."""

    def forward(start, end, step, dtype):
        dtype = dtype or dtypes.get_default_dtype()
        computed = _range_kind("range", dtype)
        start, end, step = (number_in(computed, value) for value in (start, end, step))
        _check_range(start, end, step)
        count = math.floor((end - start) / step) + 1
        if computed is INT64:
            return (start + step * np.arange(count)).astype(dtype.numpy)
        return (start + step * np.arange(count, dtype=np.float64)).astype(dtype.numpy)


def _line_kind(name, start, end, steps, dtype):
    """The NumPy dtype of `linspace` and `logspace`, after the checks that they share."""
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
    return dtype.numpy


@functools.lru_cache(64)
def _from_both_ends(steps, dtype):
    """The places of the elements of a line, those of its second half counted from its end: 0, 1, -1, 0."""
    places = np.arange(steps).astype(dtype)
    places[steps // 2 :] = -places[: steps - steps // 2][::-1]  # with a negative zero: the end less nothing
    return places


def _short_line(start, end, steps, dtype):
    number = dtype.type
    start, end = number(start), number(end)
    found = _from_both_ends(steps, dtype) * np.array((end - start) / number(steps - 1))
    lower, upper = found[: steps // 2], found[steps // 2 :]
    np.add(lower, np.array(start), lower)
    np.add(upper, np.array(end), upper)
    return found


@op("linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class linspace:
    """``steps`` numbers from ``start`` to ``end``, both included, equally far apart."""

    def forward(start, end, steps, dtype):
        kind = _line_kind("linspace", start, end, steps, dtype)
        if steps < 2:
            return np.full(steps, filler(1, kind, start) if steps else 0, kind)
        start, end = number_in(kind, start), number_in(kind, end)
        dtype = dtypes.from_numpy(kind)
        if dtype.category <= dtypes.SIGNED:
            step = np.float32((end - start) / (steps - 1))
            index = np.arange(steps)
            below = start + step * index.astype(np.float32)
            above = end - step * (steps - index - 1).astype(np.float32)
            return np.trunc(np.where(index < steps // 2, below, above)).astype(kind)
        # Counted from both ends, in the dtype itself, as PyTorch does: symmetric, and the ends exact.
        wide = FLOAT if dtype.itemsize == 2 else kind
        if steps <= _FEW:
            found = _short_line(start, end, steps, wide)
            return found if kind is wide else found.astype(kind)
        first, last = np.array(start, wide), np.array(end, wide)
        step = (last - first) / np.array(steps - 1, wide)
        found, half = np.empty(steps, kind), steps // 2
        progression(found[:half], first, step, wide)
        progression(found[half:], last, -step, wide, first=steps - 1 - half, direction=-1)
        return found


@op(
    "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, dtype? dtype=None) -> Tensor",
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
        index = np.arange(steps)
        if steps < 2:
            return np.full(steps, filler(1, kind, np.power(base, float(start)).item()) if steps else 0, kind)
        if kind.kind in "iu":
            # Integers step in float32 and their powers are cut, as in PyTorch.
            step = np.float32((end - start) / (steps - 1))
            below, above = start + step * index, end - step * (steps - index - 1)
            with np.errstate(all="ignore"):
                return np.power(np.float64(base), np.where(index < steps // 2, below, above)).astype(kind)
        step = (end - start) / (steps - 1)
        exponents = np.where(index < steps // 2, start + step * index, end - step * (steps - index - 1))
        return np.power(np.float64(base), exponents).astype(kind)


@op("eye(int n, int? m=None, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class eye:
    """Ones on the diagonal of an n x m matrix (m = n by default), zeros elsewhere."""

    def forward(n, m, dtype):
        if n < 0:
            raise RuntimeError(hinted(f"n must be greater or equal to 0, got {n}", "n counts the rows"))
        if m is not None and m < 0:
            raise RuntimeError(hinted(f"m must be greater or equal to 0, got {m}", "m counts the columns"))
        width = n if m is None else m
        found = filled((n, width), 0, default_kind(dtype))
        found.reshape(-1)[: min(n, width) * (width + 1) : width + 1] = 1
        return found


def _like(name, input, value, dtype, device, requires_grad, memory_format):
    """A tensor of one value (None: whatever is there) in the shape, and order in memory, of ``input``."""
    if not hasattr(input, "_edge"):
        raise TypeError(
            hinted(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}",
                "torch.as_tensor() makes one",
            )
        )
    check_device(device)
    array = input._array
    kind = (dtype or input.dtype).numpy
    if memory_format in (None, preserve_format):
        order, back = _memory_order(array)
    else:
        order, back = _format_order(array, memory_format)
    shape = array.shape if order is None else [array.shape[d] for d in order]
    if value is None:
        made = np.empty(shape, kind)
    else:
        made = filled(shape, value if value.__class__ is int and not value else filler(array.size, kind, value), kind)
    found = functions.in_class_of(input, functions.wrap(made if order is None else made.transpose(back)))
    return found.requires_grad_(True) if requires_grad else found


def _memory_order(array):
    """The dimensions of a dense array from the outermost in memory inwards, and the way back; (None, None) for row order."""
    if array.flags.c_contiguous or (0 in array.strides and array.size > 1):
        return None, None
    order = sorted(range(array.ndim), key=lambda d: (-array.strides[d], d))
    return order, sorted(range(array.ndim), key=order.__getitem__)


def _format_order(array, memory_format):
    if memory_format is contiguous_format:
        return None, None
    rank = 4 if memory_format is channels_last else 5
    if array.ndim != rank:
        name = "channels_last" if rank == 4 else "channels_last_3d"
        raise RuntimeError(
            hinted(f"required rank {rank} tensor to use {name} format", f"this one has {array.ndim} dimensions")
        )
    order = [0, *range(2, rank), 1]
    return order, sorted(range(rank), key=order.__getitem__)


@composite(names=("torch",))
def zeros_like(
    input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None
):
    """Zeros of the shape and dtype of ``input``."""
    return _like("zeros_like", input, 0, dtype, device, requires_grad, memory_format)


@composite(names=("torch",))
def ones_like(
    input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None
):
    """Ones of the shape and dtype of ``input``."""
    return _like("ones_like", input, 1, dtype, device, requires_grad, memory_format)


@composite(names=("torch",))
def empty_like(
    input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None
):
    """A tensor of the shape and dtype of ``input`` whose elements are not set to anything."""
    return _like("empty_like", input, None, dtype, device, requires_grad, memory_format)


@composite(names=("torch",))
def full_like(
    input,
    fill_value,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    memory_format=None,
):
    """``fill_value`` in the shape and dtype of ``input``."""
    if fill_value.__class__ in _NUMBERS:
        check_number(fill_value)
        return _like("full_like", input, fill_value, dtype, device, requires_grad, memory_format)
    made = _like("full_like", input, None, dtype, device, False, memory_format).fill_(fill_value)
    return made.requires_grad_(True) if requires_grad else made


def _new(name, make, doc):
    def new(input, *size, dtype=None, **options):
        if "size" in options:
            size = (options.pop("size"),)
        return functions.in_class_of(input, make(input, size, dtype=dtype or input.dtype, **options))

    new.__name__ = new.__qualname__ = name
    new.__doc__ = doc
    return composite(new, names=("Tensor",))


new_zeros = _new(
    "new_zeros",
    lambda x, size, **o: functions.zeros_beside(x, size, o),
    "Zeros of a given size and this dtype.",
)
new_ones = _new(
    "new_ones", lambda x, size, **o: functions.ones(sizes_argument(size), **o), "Ones of a given size and this dtype."
)
new_empty = _new(
    "new_empty",
    lambda x, size, **o: functions.empty(sizes_argument(size), **o),
    "Uninitialised, of a given size and this dtype.",
)


@composite(names=("Tensor",))
def new_full(input, size, fill_value, *, dtype=None, **options):
    """``fill_value`` in a given size and this tensor's dtype."""
    return functions.in_class_of(input, functions.full(size, fill_value, dtype=dtype or input.dtype, **options))


@composite(names=("Tensor",))
def new_empty_strided(input, size, stride, *, dtype=None, **options):
    """Uninitialised, with given sizes and strides and this tensor's dtype."""
    return functions.empty_strided(size, stride, dtype=dtype or input.dtype, **options)


@composite(names=("Tensor",))
def new_tensor(input, data, *, dtype=None, device=None, requires_grad=False):
    """``data`` as a new tensor of this tensor's dtype."""
    return functions.tensor(data, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


@composite(names=("torch",))
def empty_permuted(size, physical_layout, *, dtype=None, requires_grad=False, **options):
    """Uninitialised, with dimensions in memory in the order ``physical_layout``."""
    if len(physical_layout) != len(size):
        raise RuntimeError(
            hinted(
                f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}",
                "name every dimension once",
            )
        )
    if len(set(physical_layout)) != len(physical_layout):
        raise RuntimeError(hinted("Duplicate dim not allowed", f"the layout is {list(physical_layout)}"))
    made = functions.empty([size[d] for d in physical_layout], dtype=dtype, **options)
    made = made.permute(sorted(range(len(size)), key=list(physical_layout).__getitem__)).detach()
    return made.requires_grad_(True) if requires_grad else made


@composite(names=("torch",))
def scalar_tensor(s, *, dtype=None, **options):
    """A number as a 0-dim tensor of the default dtype."""
    return functions.full((), s, dtype=dtype or dtypes.get_default_dtype(), **options)


def _places(firsts, lengths, dtype):
    """Row and column numbers of ``lengths[i]`` elements of each row i, from column ``firsts[i]`` on."""
    ends = np.cumsum(lengths)
    found = np.empty((2, int(ends[-1]) if ends.size else 0), (dtype or dtypes.int64).numpy)
    ramps(found[0], np.arange(lengths.size), lengths, 0)
    ramps(found[1], firsts, lengths, 1)
    return found


def _check_counts(row, col):
    for name, count in (("row", row), ("col", col)):
        if count < 0:
            raise RuntimeError(hinted(f"{name} must be non-negative, got{count}", "it counts lines of the matrix"))


@op("tril_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class tril_indices:
    """Row and column numbers of the lower triangle of a row x col matrix, as a 2 x N tensor."""

    def forward(row, col, offset, dtype):
        _check_counts(row, col)
        lengths = (np.arange(row) + (offset + 1)).clip(0, col)
        return _places(np.zeros(row, np.int64), lengths, dtype)


@op("triu_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class triu_indices:
    """Row and column numbers of the upper triangle of a row x col matrix, as a 2 x N tensor."""

    def forward(row, col, offset, dtype):
        _check_counts(row, col)
        first = (np.arange(row) + offset).clip(0, col)
        return _places(first, col - first, dtype)
