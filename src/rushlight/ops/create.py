"""Creation: tensors of given shapes and values."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import strided_view
from ..base.errors import hinted
from ..base.shapes import sizes_argument
from .table import CREATE, composite, functions, op


def default_kind(dtype):
    """The NumPy dtype meant by a dtype argument; the default floating type where it is None."""
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy


def checked_shape(size):
    """``size``, refused where a length is negative."""
    for length in size:
        if length < 0:
            raise RuntimeError(
                hinted(
                    f"Trying to create tensor with negative dimension {length}: {list(size)}", "lengths are 0 or more"
                )
            )
    return size


@op("zeros(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class zeros:
    """A tensor of zeros.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """

    def forward(size, dtype):
        return np.zeros(checked_shape(size), default_kind(dtype))


@op("ones(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class ones:
    """A tensor of ones."""

    def forward(size, dtype):
        return np.ones(checked_shape(size), default_kind(dtype))


@op("empty(int[]* size, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class empty:
    """A tensor whose elements are not set to anything."""

    def forward(size, dtype):
        return np.empty(checked_shape(size), default_kind(dtype))


@op("full(int[] size, Scalar fill_value, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class full:
    """A tensor with one value everywhere; its dtype follows the value unless given."""

    def forward(size, fill_value, dtype):
        kind = dtypes.of_scalar(fill_value) if dtype is None else dtype
        return np.full(checked_shape(size), fill_value, kind.numpy)


@op("empty_strided(int[] size, int[] stride, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class empty_strided:
    """An uninitialised tensor of the given sizes and strides (in elements)."""

    def forward(size, stride, dtype):
        kind = default_kind(dtype)
        if 0 in size:
            return np.empty(size, kind)
        memory = np.empty(1 + sum((n - 1) * s for n, s in zip(size, stride)), kind)
        return strided_view(memory, tuple(size), tuple(s * kind.itemsize for s in stride))


@composite(names=("torch",))
def arange(
    start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Numbers from ``start`` (0 where only the end is given) up to, not including, ``end``, in steps of ``step``.

    >>> import rushlight as torch
    >>> torch.arange(1, 2, 0.5)
    tensor([1.0000, 1.5000])
    """
    if end is None:
        start, end = 0, start
    return functions.arange_values(
        start,
        end,
        step,
        dtype=dtype,
        out=out,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


@op("arange(Scalar start, Scalar end, Scalar step, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=())
class arange_values:
    """`arange` with all of its numbers."""

    def forward(start, end, step, dtype):
        if step == 0:
            raise RuntimeError("step must be nonzero")
        if not all(math.isfinite(v) for v in (start, end)):
            raise RuntimeError(f"unsupported range: {start} -> {end}")
        if (end - start) * step < 0:
            raise RuntimeError("upper bound and lower bound inconsistent with step sign")
        if dtype is None:
            whole = all(isinstance(v, int) for v in (start, end, step))
            dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
        if dtype.category <= dtypes.SIGNED:
            start, step, end = int(start), int(step), int(end)
            count = -(-(end - start) // step)
            return (start + step * np.arange(count)).astype(dtype.numpy)
        count = math.ceil((end - start) / step)
        return (start + step * np.arange(count, dtype=np.float64)).astype(dtype.numpy)


@composite(names=("torch:range",))
def range_(start=0, end=None, step=1, **options):
    """Deprecated in PyTorch: numbers from ``start`` to ``end``, the end included, as floats."""
    options.setdefault("dtype", dtypes.get_default_dtype())
    count = math.floor((end - start) / step) + 1
    return functions.arange(0, count, **options) * step + start


@op("linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class linspace:
    """``steps`` numbers from ``start`` to ``end``, both included, equally far apart."""

    def forward(start, end, steps, dtype):
        if steps < 0:
            raise RuntimeError("number of steps must be non-negative")
        if dtype is None:
            whole = dtypes.get_default_dtype()
            dtype = whole.to_complex() if isinstance(start, complex) or isinstance(end, complex) else whole
        kind = dtype.numpy
        if dtype.category <= dtypes.SIGNED:
            if steps == 1:
                return np.full(1, start).astype(kind)
            start, end = int(start), int(end)
            step = np.float32((end - start) / max(steps - 1, 1))
            index = np.arange(steps)
            below = start + step * index.astype(np.float32)
            above = end - step * (steps - index - 1).astype(np.float32)
            return np.trunc(np.where(index < steps // 2, below, above)).astype(kind)
        # Counted from both ends, in the dtype itself, as PyTorch does: symmetric, and the ends exact.
        wide = np.float32 if dtype.itemsize == 2 else kind
        first, last = np.array(start, wide), np.array(end, wide)
        step = (last - first) / np.array(max(steps - 1, 1), wide)
        index = np.arange(steps).astype(wide)
        below = np.arange(steps) < steps // 2
        found = np.where(below, first + step * index, last - step * (np.array(steps - 1).astype(wide) - index))
        if steps == 1:
            found = np.full(1, start, wide)
        return found.astype(kind)


@op(
    "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class logspace:
    """``steps`` numbers from ``base ** start`` to ``base ** end``, whose logarithms are equally far apart."""

    def forward(start, end, steps, base, dtype):
        kind = default_kind(dtype)
        exponents = np.linspace(start, end, steps) if steps != 1 else np.array([float(start)])
        return np.power(base, exponents).astype(kind)


@op("eye(int n, int? m=None, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class eye:
    """Ones on the diagonal of an n x m matrix (m = n by default), zeros elsewhere."""

    def forward(n, m, dtype):
        if n < 0:
            raise RuntimeError(f"n must be greater or equal to 0, got {n}")
        return np.eye(n, m, dtype=default_kind(dtype))


def _like(name, make, doc):
    def like(input, *args, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, **options):
        made = make(input, *args, dtype=dtype or input.dtype, device=device, **options)
        if memory_format is None and not input._array.flags.c_contiguous:
            made = _with_layout_of(input, made)
        return functions.require_grad(made) if requires_grad else made

    like.__name__ = like.__qualname__ = name
    like.__doc__ = doc
    return composite(like, names=("torch",))


def _with_layout_of(input, made):
    """``made`` with its dimensions in memory in the order of those of ``input``, where that is dense."""
    array = input._array
    order = sorted(range(array.ndim), key=lambda d: (-abs(array.strides[d]), d))
    if 0 in array.strides:
        return made
    back = sorted(range(array.ndim), key=order.__getitem__)
    return made.permute(order).contiguous().permute(back).detach()


zeros_like = _like(
    "zeros_like", lambda x, **o: functions.zeros(x.shape, **o), "Zeros of the shape and dtype of ``input``."
)
ones_like = _like("ones_like", lambda x, **o: functions.ones(x.shape, **o), "Ones of the shape and dtype of ``input``.")
empty_like = _like(
    "empty_like", lambda x, **o: functions.empty(x.shape, **o), "Uninitialised, of the shape and dtype of ``input``."
)
full_like = _like(
    "full_like",
    lambda x, fill_value, **o: functions.full(x.shape, fill_value, **o),
    "``fill_value`` in the shape and dtype of ``input``.",
)


def _new(name, make, doc):
    def new(input, *size, dtype=None, **options):
        if "size" in options:
            size = (options.pop("size"),)
        return make(input, size, dtype=dtype or input.dtype, **options)

    new.__name__ = new.__qualname__ = name
    new.__doc__ = doc
    return composite(new, names=("Tensor",))


new_zeros = _new(
    "new_zeros",
    lambda x, size, **o: functions.zeros(sizes_argument(size), **o),
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
    return functions.full(size, fill_value, dtype=dtype or input.dtype, **options)


@composite(names=("Tensor",))
def new_empty_strided(input, size, stride, *, dtype=None, **options):
    """Uninitialised, with given sizes and strides and this tensor's dtype."""
    return functions.empty_strided(size, stride, dtype=dtype or input.dtype, **options)


@composite(names=("Tensor",))
def new_tensor(input, data, *, dtype=None, device=None, requires_grad=False):
    """``data`` as a new tensor of this tensor's dtype."""
    return functions.tensor(data, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


@composite(names=("torch",))
def empty_permuted(size, physical_layout, *, dtype=None, **options):
    """Uninitialised, with dimensions in memory in the order ``physical_layout``."""
    made = functions.empty([size[d] for d in physical_layout], dtype=dtype, **options)
    return made.permute(sorted(range(len(size)), key=list(physical_layout).__getitem__)).detach()


@composite(names=("torch",))
def scalar_tensor(s, *, dtype=None, **options):
    """A number as a 0-dim tensor of the default dtype."""
    return functions.full((), s, dtype=dtype or dtypes.get_default_dtype(), **options)


@op("tril_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class tril_indices:
    """Row and column numbers of the lower triangle of a row x col matrix, as a 2 x N tensor."""

    def forward(row, col, offset, dtype):
        return np.stack(np.nonzero(np.tri(row, col, offset, dtype=bool))).astype((dtype or dtypes.int64).numpy)


@op("triu_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class triu_indices:
    """Row and column numbers of the upper triangle of a row x col matrix, as a 2 x N tensor."""

    def forward(row, col, offset, dtype):
        return np.stack(np.nonzero(~np.tri(row, col, offset - 1, dtype=bool))).astype((dtype or dtypes.int64).numpy)
