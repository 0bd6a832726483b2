"""Calls with tensors of the meta device: the shape, dtype and layout of what an operation gives, and no elements.

- A view is made of reserved memory (`base.reserved`), as of any other.
- An elementwise operation is computed on a corner of its operands, of at most two elements a dimension, which tells dtype and
  order in memory and refuses what is to be refused; the result then gets its full lengths.
- Where each length of a result is one of the operands' (`BY_LENGTHS`: sums, products, softmax, norms, ...), operands are
  computed whose lengths are small numbers in place of theirs, equal where theirs are.
- Convolutions, `cat`, random and new tensors have rules of their own.
- What is left is computed on reserved memory, which reads as zeros, if it is small, and refused if it is large.
- Writing checks what it would check, and does nothing.
"""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.device import CPU, META
from ..base.errors import hinted
from ..base.lazy import LazyArray, as_meta, is_meta, meta_array, no_numbers, no_shape, plain
from ..base.reserved import is_reserved, reserve
from ..base.shapes import broadcast_shapes
from ..ops import table
from ..ops.conv_checks import check_fit
from ..ops.create import default_kind, negative_size
from ..ops.table import TABLE
from ..random.fork import fork_rng
from .base import quiet, wrap
from .elementwise import elementwise_result

_MOST = 1 << 22  # elements of the operands of an operation that is computed on zeros
_LENGTHS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)  # that stand for those of operands

# fmt: off
BY_LENGTHS = frozenset((
    "sum", "mean", "nansum", "prod_all", "prod_dim", "any", "all", "logsumexp", "mm", "mv", "dot", "vdot", "outer_product", "bmm",
    "linear_rows", "transposed_mm", "scaled_scores", "attention", "attention_backward", "roll", "flip", "clone", "to_copy", "fill", "mse_loss_pair",
    "mse_loss_gradient", "smooth_l1_loss_pair", "smooth_l1_loss_gradient", "huber_loss_pair", "huber_loss_gradient",
    "batched_product", "vector_products", "index_select", "index_add", "index_copy", "index_fill", "embedding", "max_all",
    "min_all", "max_dim", "min_dim", "amax", "amin", "aminmax_pair", "argmax", "argmin", "gather", "scatter_src",
    "scatter_value", "scatter_add", "nll_loss_parts", "cross_entropy_parts", "multi_margin_loss_parts", "index", "rot90",
    "multilabel_margin_loss_parts", "binary_cross_entropy_pair", "binary_cross_entropy_with_logits_pair", "binary_cross_entropy_with_logits_steps", "count_nonzero",
    "soft_margin_loss_pair", "masked_fill", "masked_scatter", "addmm", "baddbmm", "addmv", "addr", "addbmm",
    "layer_norm_parts", "layer_norm_gradients", "rms_norm_gradients", "batch_norm_gradients", "rms_norm_parts", "batch_norm_parts", "vector_norm_parts", "sort_pair", "median_dim", "median_all",
    "nanmedian_dim", "nanmedian_all", "cumsum", "cumprod", "cummax_pair", "cummin_pair", "logcumsumexp", "tril", "triu",
    "trace", "softmax", "softmax_gradient", "log_softmax", "log_softmax_gradient", "var_corrected", "std_corrected",
    "var_mean_corrected", "std_mean_corrected",
))
_RANDOM = frozenset((
    "bernoulli_each", "normal_each", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet", "dropout_pair",
))
# fmt: on
_BY_VALUES = {
    "nonzero_rows": "nonzero",
    "masked_select": "nonzero",
    "unique_parts": "_unique2",
    "bincount": "bincount",
    "equal": "equal",
}  # fmt: skip


def on_meta(op, schema, values):
    """The array, or arrays, that an operation gives for values with meta tensors among them; None where it writes."""
    if op.kind == table.VIEW:
        return _meta_of(op.forward(_stored(values[0]), *values[1:]))
    if op.kind in (table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED):
        return _elementwise(op, schema, values)
    if op.kind == table.INPLACE:
        _check_write(op, values)
        return None
    if op.name in _BY_VALUES:
        raise no_shape(_BY_VALUES[op.name])
    if op.name in _RULES:
        return _meta_of(_RULES[op.name](op, values))
    if op.name in BY_LENGTHS:
        found = _by_lengths(op, schema, values)
        if found is not None:
            return found
    if op.name in _RANDOM:
        found = meta_array(values[0]._array.shape, _dtype_of(values[0]))
        return (found, as_meta(found)) if schema.returns.strip() == "Tensor[]" else found
    return _on_zeros(op, values)


def _dtype_of(tensor):
    array = tensor._array
    return array.dtype.numpy if array.__class__ is LazyArray else array.dtype


def _stored(value):
    """What forward gets for a value: the reserved array of a meta tensor, the array of another one."""
    if value.__class__ is list:
        return list(map(_stored, value))
    if not hasattr(value, "_edge"):
        return value
    array = value._array
    return array.stored if is_meta(array) else plain(array)


def _meta_of(found):
    if found.__class__ is tuple:
        return tuple(map(_meta_of, found))
    if found.__class__ is LazyArray:
        return LazyArray(found.stored, found.conj, found.neg, True) if not found.meta else found
    found = np.asarray(found)
    try:
        return LazyArray(found, False, False, True) if is_reserved(found) else as_meta(found)
    except ValueError:
        return meta_array(found.shape, found.dtype)


# ---------------------------------------------------------------- elementwise


def common_device(tensors):
    """The device on which tensors meet; PyTorch's error where they do not. Tensors without dimensions meet any from the CPU."""
    expected = None
    for tensor in tensors:
        if tensor._array.ndim or is_meta(tensor._array):
            where = META if is_meta(tensor._array) else CPU
            if expected is None:
                expected = where
            elif where is not expected:
                raise RuntimeError(
                    hinted(
                        f"Tensor on device {where} is not on the expected device {expected}!",
                        "the device 'meta' has shapes alone: make all operands there, or none",
                    )
                )
    return expected


def _elementwise(op, schema, values):
    operands = [values[place] for place in schema.tensor_positions if hasattr(values[place], "_edge")]
    common_device(operands)
    shape = broadcast_shapes(*[tensor._array.shape for tensor in operands])
    corner = [wrap(_corner(value._array)) if hasattr(value, "_edge") else value for value in values]
    found = quiet().run(elementwise_result, op, schema, corner)
    return _spread(found, shape)


def _corner(array):
    """Ones in an array of at most two elements a dimension, in the order in memory of ``array``."""
    shape = tuple([min(length, 2) for length in array.shape])
    dtype = array.dtype.numpy if array.__class__ is LazyArray else array.dtype
    return _ones(shape, dtype, array)


def _ones(shape, dtype, like):
    """Ones of a shape, laid out as another array is."""
    strides = like.strides
    order = sorted(range(len(shape)), key=lambda d: -strides[d]) if not like.flags.c_contiguous else range(len(shape))
    made = np.ones([1 if strides[d] == 0 and like.shape[d] > 1 else shape[d] for d in order], dtype)
    found = made.transpose(np.argsort(order)) if len(shape) else made
    return np.broadcast_to(found, shape) if found.shape != shape else found


def _spread(found, shape):
    """The meta array of a full shape that lies in memory as ``found``, computed on a corner, does."""
    if found.ndim < 2 or found.flags.c_contiguous:
        return meta_array(shape, found.dtype)
    return meta_array(shape, found.dtype, _dense(shape, found))


def _dense(shape, like):
    """The strides of a dense array of this shape whose dimensions are in the order of those of ``like``."""
    strides, step = [0] * len(shape), like.itemsize
    for place in sorted(range(len(shape)), key=lambda d: (like.strides[d], -d)):
        strides[place] = step
        step *= max(shape[place], 1)
    return tuple(strides)


# ---------------------------------------------------------------- lengths that stand for others


def _tensors_of(values):
    for value in values:
        for each in value if value.__class__ is list else (value,):
            if hasattr(each, "_edge"):
                yield each


def _by_lengths(op, schema, values):
    """The result where each of its lengths is one of the operands'; None where small lengths do not stand for them."""
    known = sorted({n for tensor in _tensors_of(values) for n in tensor._array.shape if n > 1})
    if len(known) > len(_LENGTHS):
        return None
    small = {0: 0, 1: 1, **dict(zip(known, _LENGTHS))}
    back = {place: length for length, place in small.items()}
    try:
        found = quiet().run(
            op.forward, *[_in_small(value, small, argument.name) for argument, value in zip(schema.arguments, values)]
        )
    except (ValueError, IndexError, RuntimeError):
        return None
    results = found if found.__class__ is tuple else (found,)
    made = []
    for each in map(np.asarray, results):
        if any(length not in back for length in each.shape):
            return None
        made.append(_spread(each, tuple([back[length] for length in each.shape])))
    return tuple(made) if found.__class__ is tuple else made[0]


def _in_small(value, small, argument=None):
    if argument == "normalized_shape":
        return [small[length] for length in value]
    if value.__class__ is list:
        return [_in_small(each, small) for each in value]
    if not hasattr(value, "_edge"):
        return value
    array = value._array
    found = _ones(tuple([small[n] for n in array.shape]), _dtype_of(value), array)
    return found * 0 if found.dtype.kind in "iu" else found  # whole numbers are places more often than not


# ---------------------------------------------------------------- rules of their own


def _convolution(op, values):
    input, weight, _, stride, padding, dilation, _ = values
    x, w = input._array, weight._array
    spaces = zip(x.shape[2:], w.shape[2:], stride, padding, dilation)
    lengths = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in spaces]
    kind = _dtype_of(input)
    check_fit((x.shape, kind), (w.shape, _dtype_of(weight)), None, *map(tuple, (stride, padding, dilation)), values[6])
    return meta_array((x.shape[0], w.shape[0], *lengths), kind)


def _input_gradient(op, values):
    return meta_array(tuple(values[2]), _dtype_of(values[0]))


def _joined(op, values):
    tensors = values[0]
    common_device(tensors)
    dim = values[1]
    first = next((each for each in tensors if each._array.shape != (0,)), tensors[0])
    corner = [_corner_beside(each, first, dim) for each in tensors]
    found = quiet().run(op.forward, corner, dim)
    shape = list(first._array.shape)
    if shape:
        shape[dim] = sum(each._array.shape[dim] for each in tensors if each._array.shape != (0,))
    return _spread(found, tuple(shape))


def _corner_beside(tensor, first, dim):
    """The corner of a tensor to be joined; a length that fits the first's no more does so in the corner neither."""
    shape, other = tensor._array.shape, first._array.shape
    corner = _corner(tensor._array)
    if len(shape) != len(other):
        return corner
    odd = [d for d in range(len(shape)) if d != dim % len(shape) and shape[d] != other[d]]
    return np.ones([shape[d] if d in odd else n for d, n in enumerate(corner.shape)], corner.dtype) if odd else corner


def _stacked(op, values):
    tensors, dim = values
    common_device(tensors)
    shapes = {each._array.shape for each in tensors}
    if len(shapes) > 1:
        return op.forward([reserve(each._array.shape, _dtype_of(each)) for each in tensors], dim)
    found = quiet().run(op.forward, [_corner(each._array) for each in tensors], dim)
    shape = list(tensors[0]._array.shape)
    shape.insert(dim + (len(shape) + 1 if dim < 0 else 0), len(tensors))
    return meta_array(tuple(shape), found.dtype)


def _reshaped(op, values):
    return np.reshape(reserve(values[0]._array.shape, _dtype_of(values[0])), tuple(values[1]))


def _repeated(op, values):
    lengths, repeats = values[0]._array.shape, tuple(values[1])
    op.forward(np.empty((0,) * len(lengths), np.uint8), (1, *repeats[1:]) if repeats else repeats)  # says what is wrong
    lengths = (1,) * (len(repeats) - len(lengths)) + lengths
    return meta_array(tuple([n * r for n, r in zip(lengths, repeats)]), _dtype_of(values[0]))


def _split_heads(op, values):
    tensor, batch, count, heads = values
    rows, width = tensor._array.shape
    shape = batch * heads, rows // max(batch, 1), width // (count * heads)
    return tuple([meta_array(shape, _dtype_of(tensor)) for _ in range(count)])


def _merge_heads(op, values):
    tensor, batch, _ = values
    copies, steps, size = tensor._array.shape
    return meta_array((steps * batch, copies // batch * size), _dtype_of(tensor))


def _padded(op, values):
    tensor, pad = values[:2]
    shape = list(tensor._array.shape)
    for place, (before, after) in enumerate(zip(pad[::2], pad[1::2]), 1):
        shape[-place] += before + after
    return meta_array(_lengths(shape), _dtype_of(tensor))


def _copied_view(op, values):
    """The copy of a view: what the view would be, without gaps."""
    found = TABLE[op.name.removesuffix("_copy")].forward(_stored(values[0]), *values[1:])
    if found.__class__ is tuple:
        return tuple([meta_array(each.shape, each.dtype) for each in found])
    return meta_array(found.shape, found.dtype)


def _by_samples(op, values):
    """What an operation on samples gives, found on one or two of them: the first dimension of every tensor counts them."""
    count = values[0]._array.shape[0]
    few = min(count, 1)
    arrays = [
        np.zeros((few, *value._array.shape[1:]), _dtype_of(value)) if hasattr(value, "_edge") else value
        for value in values
    ]
    found = quiet().run(op.forward, *arrays)
    results = found if found.__class__ is tuple else (found,)
    made = tuple(
        [meta_array((count, *each.shape[1:]), each.dtype, _dense((count, *each.shape[1:]), each)) for each in results]
    )
    return made if found.__class__ is tuple else made[0]


def _as_first(op, values):
    shape = values[0]._array.shape
    return meta_array(shape, _dtype_of(values[0]), _dense(shape, values[0]._array))


_RULES = {
    "reshape_copy": _reshaped,
    "unsafe_view": _reshaped,
    "repeat": _repeated,
    "constant_pad_nd": _padded,
    "split_heads": _split_heads,
    "merge_heads": _merge_heads,
    **dict.fromkeys(("avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "max_pool_values"), _by_samples),
    **dict.fromkeys(
        [
            f"{view}_copy"
            for view in ("diagonal", "expand", "permute", "select", "slice", "squeeze", "transpose", "unsqueeze")
        ],
        _copied_view,
    ),
    **dict.fromkeys(("as_strided_scatter", "select_scatter", "slice_scatter", "diagonal_scatter"), _as_first),
    "convolution": _convolution,
    "convolution_input_gradient": _input_gradient,
    "convolution_weight_gradient": _input_gradient,
    "cat": _joined,
    "stack": _stacked,
}


# ---------------------------------------------------------------- what has no rule


def _on_zeros(op, values):
    if sum(tensor._array.size for tensor in _tensors_of(values)) > _MOST:
        raise no_shape(op.name)
    arrays = list(map(_stored, values))
    if op.__wrapped__.__module__.startswith("rushlight.ops.linalg"):
        arrays = list(map(_regular, arrays))
    if op.name in ("multinomial", *_RANDOM):
        arrays = [a + 1 if a.__class__ is np.ndarray and a.dtype.kind == "f" else a for a in arrays]
    with fork_rng():
        found = quiet().run(op.forward, *arrays)
    return _meta_of(found)


def _regular(array):
    """A regular matrix, or stack of them, of the shape of an array that reads as zeros; of whole numbers (pivots), ones."""
    if array.__class__ is not np.ndarray or not array.ndim:
        return array
    if array.ndim < 2 or array.dtype.kind not in "fc":
        return array + array.dtype.type(1) if array.dtype.kind == "i" else array
    return np.broadcast_to(np.eye(*array.shape[-2:], dtype=array.dtype), array.shape)


def _check_write(op, values):
    """What writing into a meta tensor, or with one, is refused for."""
    target, others = values[0], [value for value in values[1:] if hasattr(value, "_edge")]
    if not is_meta(target._array):
        raise no_numbers()
    if op.name == "copy_from":
        source = others[0]._array
        if broadcast_shapes(target._array.shape, source.shape) != target._array.shape:
            op.forward(
                reserve(target._array.shape, _dtype_of(target)), reserve(source.shape, _dtype_of(others[0])), False
            )


# ---------------------------------------------------------------- new tensors


def created_nowhere(op, schema, values):
    """The tensor of the meta device that a creation makes for bound values; nothing is drawn for it, nor filled in."""
    sizes = values[schema.index["size"]] if "size" in schema.index else None
    dtype = values[schema.index["dtype"]] if "dtype" in schema.index else None
    if op.name in ("zeros", "ones", "empty", "rand", "randn"):
        return wrap(meta_array(_lengths(sizes), default_kind(dtype)))
    if op.name == "full":
        return wrap(meta_array(_lengths(sizes), (dtype or dtypes.of_scalar(values[1])).numpy))
    if op.name in ("random_integers", "normal_of_size"):
        small = [*values]
        small[schema.index["size"]] = (0,)
        with fork_rng():
            kind = op.forward(*small).dtype
        return wrap(meta_array(_lengths(sizes), kind))
    if op.name == "empty_strided":
        kind = default_kind(dtype)
        if len(sizes) != len(values[1]) or min((*sizes, *values[1]), default=0) < 0:
            op.forward(*values)  # says what is wrong
        return wrap(meta_array(sizes, kind, tuple(step * kind.itemsize for step in values[1])))
    with fork_rng():
        return wrap(as_meta(quiet().run(op.forward, *values)))


def _lengths(size):
    shape = tuple(size)
    if any(length < 0 for length in shape):
        raise negative_size(shape, None)
    return shape
