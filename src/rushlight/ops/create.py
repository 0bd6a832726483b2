"""Creation: tensors of given shapes and values."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import aligned_bytes, bounds, result_order, window_on
from ..base.device import META, channels_last, check_device, contiguous_format, preserve_format
from ..base.errors import hinted, kind_name
from ..base.lazy import LazyArray, is_meta, no_shape
from ..base.limits import LARGEST_WORD, too_much_memory
from ..base.reserved import reserve
from ..base.shapes import sizes_argument
from ..base.uninitialised import FILLING, fill_new
from .copy import filler
from .moving import filled, ramps
from .schema import TENSOR_CLASSES, number_of
from .table import CREATE, composite, functions, op

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
    if isinstance(error, ValueError) and math.prod(filter(None, size)) > 1 << 58:
        return too_much_memory(size)
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
            made = np.empty(size, default_kind(dtype))
        except ValueError as error:
            raise negative_size(size, error) from None
        if FILLING:
            fill_new(made)
        return made


@op("full(int[0] size, Scalar fill_value, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class full:
    """A tensor with one value everywhere; its dtype follows the value unless given."""

    def forward(size, fill_value, dtype):
        kind = (dtypes.of_scalar(fill_value) if dtype is None else dtype).numpy
        try:
            return filled(size, filler(math.prod(size), kind, fill_value), kind)
        except (ValueError, RuntimeError) as error:
            raise negative_size(size, error) from None


@op("empty_strided(int[0] size, int[0] stride, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
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
        steps = tuple(s * kind.itemsize for s in stride)
        needed = 0 if 0 in size else bounds(size, steps, kind.itemsize)[1]
        if needed > LARGEST_WORD:
            raise too_much_memory(size, stride)
        made = window_on(aligned_bytes(needed), tuple(size), kind, 0, steps)
        if FILLING:
            fill_new(made)
        return made


@op("eye(int n, int? m=None, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class eye:
    """Ones on the diagonal of an n x m matrix (m = n by default), zeros elsewhere."""

    def forward(n, m, dtype):
        if n < 0:
            raise RuntimeError(hinted(f"n must be greater or equal to 0, got {n}", "n counts the rows"))
        if m is not None and m < 0:
            raise RuntimeError(hinted(f"m must be greater or equal to 0, got {m}", "m counts the columns"))
        if dtype is dtypes.complex32:
            raise NotImplementedError(hinted("\"eye\" not implemented for 'ComplexHalf'", "convert it: .to(dtype)"))
        width = n if m is None else m
        found = filled((n, width), 0, default_kind(dtype))
        found.reshape(-1)[: min(n, width) * (width + 1) : width + 1] = 1
        return found


def _like(name, input, value, dtype, device, requires_grad, memory_format):
    """A tensor of one value (None: whatever is there) in the shape, and order in memory, of ``input``."""
    if not hasattr(input, "_edge"):
        raise TypeError(
            hinted(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_name(input)}",
                "torch.as_tensor() makes one",
            )
        )
    where = None if device is None else check_device(device)
    array, order = input._array, None
    nowhere = where is META
    if array.__class__ is LazyArray:
        array, nowhere = array.stored, array.meta if where is None else nowhere
    kind = array.dtype if dtype is None else dtypes.PYTHON.get(dtype, dtype).numpy
    if memory_format is not None and memory_format is not preserve_format:
        order, back = _format_order(array, memory_format)
    elif not array.flags.c_contiguous:
        order, back = _memory_order(array)
    shape = array.shape if order is None else [array.shape[d] for d in order]
    if nowhere:
        made = reserve(shape, kind)
    elif value is None:
        made = np.empty(shape, kind)
        if FILLING:
            fill_new(made)
    else:
        made = filled(shape, value if value.__class__ is int and not value else filler(array.size, kind, value), kind)
    made = made if order is None else made.transpose(back)
    found = functions.wrap(LazyArray(made, False, False, True) if nowhere else made)
    if input.__class__ not in TENSOR_CLASSES:
        found = functions.in_class_of(input, found)
    return found.requires_grad_(True) if requires_grad else found


def _memory_order(array):
    """The dimensions of an array from the outermost in memory inwards, and the way back; (None, None) for 0, 1, 2, ..."""
    order = result_order((array,), array.shape)
    return order, order and sorted(range(array.ndim), key=order.__getitem__)


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
    if layout is not None and layout is not input.layout:
        return functions.zeros(
            input.shape, dtype=dtype or input.dtype, layout=layout, device=device, requires_grad=requires_grad
        )
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
    if layout is not None and layout is not input.layout:
        return functions.empty(
            input.shape, dtype=dtype or input.dtype, layout=layout, device=device, requires_grad=requires_grad
        )
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
    number = number_of(fill_value)
    if number is None:
        raise TypeError(
            hinted(
                f"full_like(): argument 'fill_value' (position 2) must be Number, not {kind_name(fill_value)}",
                "it is one number for all elements",
            )
        )
    return _like("full_like", input, number, dtype, device, requires_grad, memory_format)


def _new(name, make, doc):
    def new(input, *size, dtype=None, **options):
        if "size" in options:
            size = (options.pop("size"),)
        if is_meta(input._array) and options.get("device") is None:
            options["device"] = META
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
    if is_meta(input._array) and options.get("device") is None:
        options["device"] = META
    return functions.in_class_of(input, functions.full(size, fill_value, dtype=dtype or input.dtype, **options))


@composite(names=("Tensor",))
def new_empty_strided(input, size, stride, *, dtype=None, **options):
    """Uninitialised, with given sizes and strides and this tensor's dtype."""
    if is_meta(input._array) and options.get("device") is None:
        options["device"] = META
    return functions.empty_strided(size, stride, dtype=dtype or input.dtype, **options)


@composite(names=("Tensor",))
def new_tensor(input, data, *, dtype=None, device=None, requires_grad=False):
    """``data`` as a new tensor of this tensor's dtype."""
    device = META if device is None and is_meta(input._array) else device
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


@composite(names=("torch",))
def from_file(
    filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The first ``size`` elements of a file as a 1-dim tensor on its memory.

    Args:
        shared: writes go into the file, which is made, or made longer, where it has to be. Default: False, writes stay here.

    >>> import os, tempfile, rushlight as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     torch.from_file(path, shared=True, size=2, dtype=torch.int32).fill_(5)
    ...     torch.from_file(path, size=1, dtype=torch.int32)
    tensor([5, 5], dtype=torch.int32)
    tensor([5], dtype=torch.int32)
    """
    if pin_memory:
        raise RuntimeError(hinted("tensors constructed from a file cannot be pinned", "the file is their memory"))
    if device is not None and check_device(device) is META:
        raise no_shape("from_file")
    made = functions.mapped_file(filename, bool(shared), size, dtype or dtypes.get_default_dtype())
    return made.requires_grad_(True) if requires_grad else made
