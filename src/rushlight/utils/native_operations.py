"""Calls of the table's operations as calls of PyTorch's native ones: ``aten.addmm.default(bias, input, weight)``.

Where PyTorch has no such operation, or another cut between operations, the call stands under its own name in the namespace
``rushlight``, with the values of the table's schema.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ..base.device import device
from ..base.errors import hinted
from ..ops import table
from ..tensor import Tensor
from ..tensor.base import wrap
from ..tensor.compute import schema_of
from ..tensor.dispatch import run

_REDUCTIONS = ("none", "mean", "sum")

# Overloads by which operands are numbers: none, the second, the first.
_BY_NUMBERS = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "fmod", "copysign", "rsub"), ("Tensor", "Scalar", "Scalar")),
    **dict.fromkeys(("remainder", "bitwise_and", "bitwise_or", "bitwise_xor"), ("Tensor", "Scalar", "Scalar_Tensor")),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), ("Tensor", "Tensor_Scalar", "Scalar_Tensor")),
    **dict.fromkeys(("add", "sub", "mul"), ("Tensor", "Tensor", "Tensor")),
    **dict.fromkeys(("special_zeta", "special_xlog1py"), ("default", "other_scalar", "self_scalar")),
    **{f"special_{name}": ("default", "n_scalar", "x_scalar") for name in (
        *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")},
    "pow": ("Tensor_Tensor", "Tensor_Scalar", "Scalar"),
    "xlogy": ("Tensor", "Scalar_Other", "Scalar_Self"),
}  # fmt: skip
# The argument whose class decides: of a tensor and of a number.
_BY_ARGUMENT = {
    **dict.fromkeys(("masked_fill", "masked_fill_", "fill"), ("value", "Tensor", "Scalar")),
    **dict.fromkeys(("index_fill", "index_fill_"), ("value", "int_Tensor", "int_Scalar")),
    "lerp": ("weight", "Tensor", "Scalar"),
    "clamp_min": ("min", "Tensor", "default"),
    "clamp_max": ("max", "Tensor", "default"),
}
# Without dimensions, with one, with several.
_BY_DIMENSIONS = {
    "sum": ("default", "dim_IntList", "dim_IntList"),
    "mean": ("default", "dim", "dim"),
    "all": ("default", "dim", "dims"),
    "any": ("default", "dim", "dims"),
    "count_nonzero": ("default", "default", "dim_IntList"),
    "squeeze": ("default", "dim", "dims"),
    "squeeze_copy": ("default", "dim", "dims"),
}
_ONE_DIMENSION = frozenset(("all", "any", "count_nonzero", "squeeze", "squeeze_copy"))  # of these, one goes as a number
_OVERLOADS = {
    "empty": "memory_format", "index": "Tensor", "ldexp": "Tensor", "scatter_reduce": "two", "scatter_reduce_": "two",
    "select": "int", "select_copy": "int", "slice_copy": "Tensor", "split_copy": "Tensor", "unsafe_split": "Tensor",
    "transpose": "int", "transpose_copy": "int", "unbind": "int", "unbind_copy": "int",
    "clamp": lambda v: "Tensor" if any(isinstance(each, Tensor) for each in v[1:]) else "default",
    "div": lambda v: "Tensor" if v[2] is None else "Tensor_mode",
    "eye": lambda v: "default" if v[1] is None else "m",
    "round": lambda v: "decimals" if v[1] else "default",
    "rand": lambda v: "default" if v[1] is None else "generator",
    "randn": lambda v: "default" if v[1] is None else "generator",
    "randperm": lambda v: "default" if v[1] is None else "generator",
    "bernoulli_": lambda v: "Tensor" if isinstance(v[1], Tensor) else "float",
    "where_select": lambda v: ("self", "ScalarSelf", "ScalarOther", "Scalar")[sum(
        place for place, each in ((1, v[1]), (2, v[2])) if not isinstance(each, Tensor))],
    "arange_values": lambda v: "start" if v[2] == 1 else "start_step",
    "normal_each": lambda v: f"{_kind(v[0])}_{_kind(v[1])}",
}  # fmt: skip


def _kind(value):
    return "Tensor" if isinstance(value, Tensor) else "float"


# Operations whose native call has another name or other arguments than their own schema: the name, then the arguments by the
# schema's names. ``name=value`` is left out where it would be the last and has that value; ``*name`` goes by keyword unless it is
# None or has that value; ``=value`` is what PyTorch has there and we have not, found by `_COMPUTED` or as it stands. In names,
# ``#`` is the number of dimensions of windows. Of several, `_CHOICES` tells one.
_FORMS = {
    "index": "index.Tensor self indices",
    "reshape_alias": "view.default self size",
    "max_pool_places": "max_pool#d_with_indices.default self kernel stride padding dilation =ceil_mode",
    "avg_pool": "avg_pool#d.default self kernel stride padding =ceil_mode count_include_pad=True divisor_override=None",
    "adaptive_avg_pool": "_adaptive_avg_pool#d.default self out",
    "group_norm_parts": "native_group_norm.default input weight bias =batch =channels =inner num_groups eps",
    "index_put_arrays": "index_put.default self indices values accumulate=False",
    "index_put_arrays_": "index_put_.default self indices values accumulate=False",
    "to_copy": "_to_copy.default self *dtype *memory_format",
    "copy_from": "copy_.default self src non_blocking=False",
    "fill_number": "fill_.Scalar self value",
    "fill_tensor": "fill_.Tensor self value",
    "arange_values": "arange start end step=1 *dtype",
    "random_integers": "randint.low low high size *generator *dtype",
    "normal_each": "normal mean std *generator",
    "normal_of_size": "normal.float_float mean std size *generator *dtype",
    "bernoulli_each": "bernoulli.default self *generator",
    "softmax": "_softmax.default self dim =False",
    "log_softmax": "_log_softmax.default self dim =False",
    "nll_loss_parts": ("nll_loss_forward.default self target weight reduction ignore_index",
                       "nll_loss2d_forward.default self target weight reduction ignore_index"),
    "mse_loss_pair": "mse_loss.default self target reduction='mean'",
    "smooth_l1_loss_pair": "smooth_l1_loss.default self target reduction='mean' parameter=1.0",
    "huber_loss_pair": "huber_loss.default self target reduction='mean' parameter=1.0",
    "binary_cross_entropy_pair": "binary_cross_entropy.default self target weight=None reduction='mean'",
    "binary_cross_entropy_with_logits_pair": "binary_cross_entropy_with_logits.default self target weight=None pos_weight=None "
    "reduction='mean'",
    "std_corrected": "std.correction self dim *correction *keepdim=False",
    "var_corrected": "var.correction self dim *correction *keepdim=False",
    "std_mean_corrected": "std_mean.correction self dim *correction *keepdim=False",
    "var_mean_corrected": "var_mean.correction self dim *correction *keepdim=False",
    "where_select": "where condition self other",
    "convolution": "convolution.default input weight bias stride padding dilation =False =zeros groups",
    "embedding": "embedding.default weight indices padding_idx=-1 scale_grad_by_freq=False sparse=False",
    "embedding_gradient": "embedding_dense_backward.default grad indices rows padding_idx scale_grad_by_freq",
    "expand": "expand.default self size *implicit=False",
    "vector_norm_parts": "linalg_vector_norm.default self ord dim=None keepdim=False *dtype",
    "sort_pair": ("sort.default self dim=-1 descending=False", "sort.stable self *stable *dim=-1 *descending=False"),
    "topk_pair": "topk.default self k dim=-1 largest=True sorted=True",
    "kthvalue_pair": "kthvalue.default self k dim=-1 keepdim=False",
    "mode_pair": "mode.default self dim=-1 keepdim=False",
    "prod_all": "prod.default self *dtype",
    "prod_dim": "prod.dim_int self dim keepdim=False *dtype",
    **{f"{name}_all": f"{name}.default self" for name in ("max", "min", "median", "nanmedian")},
    **{f"{name}_dim": f"{name}.dim self dim keepdim=False" for name in ("max", "min", "median", "nanmedian")},
    "gelu_backward": "gelu_backward.default gradient self *approximate='none'",
    "aminmax_pair": "aminmax.default self *dim *keepdim=False",
    "cummax_pair": "cummax.default self dim",
    "cummin_pair": "cummin.default self dim",
    "softmax_gradient": "_softmax_backward_data.default grad output dim =dtype",
    "log_softmax_gradient": "_log_softmax_backward_data.default grad output dim =dtype",
    "select_gradient": "select_backward.default self shape dim index",
    "slice_gradient": "slice_backward.default self shape dim start end step",
    "slice_dim": "slice.Tensor self dim start end step=1",
    "split_even": "split.Tensor self split_size dim=0",
    "unfold_dim": "unfold.default self dimension size step",
    "view_shape": "view.default self size",
    "view_dtype": "view.dtype self dtype",
    "unsafe_view": "_unsafe_view.default self size",
    "layer_norm_parts": "native_layer_norm.default input normalized_shape weight bias eps",
    "batch_norm_parts": "native_batch_norm.default input weight bias running_mean running_var training momentum eps",
    "dropout_pair": "native_dropout.default self p train",
    "search_positions": "searchsorted.Tensor sorted_sequence self *out_int32=False *right=False",
    "inverse_parts": "linalg_inv_ex.default A",
    "cholesky_parts": "linalg_cholesky_ex.default A *upper=False",
    "svd_parts": "_linalg_svd.default A full_matrices=False",
    "scatter_src": "scatter.src self dim index src",
    "scatter_src_": "scatter_.src self dim index src",
    "scatter_value": "scatter.value self dim index value",
    "scatter_value_": "scatter_.value self dim index value",
    "nonzero_rows": "nonzero.default self",
    "complex_of_parts": "complex.default self imag",
    "cross_parts": "linalg_cross.default self other *dim",
    "vector_products": "dot.default self other",
    "logsigmoid": "log_sigmoid.default self",
}  # fmt: skip

_CHOICES = {"sort_pair": lambda v: int(v[3]), "nll_loss_parts": lambda v: int(v[0].dim() == 4)}

# Operations that have PyTorch's native names, under which they are public nowhere.
_INNER = {"silu", "mish", "elu", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "rrelu_with_noise"}


def _ceil_mode(values):
    """Whether a window that begins within its padded input, but does not end there, counts."""
    input, kernel, stride, padding = values[:4]
    dilation, out = ((1,) * len(kernel), values[4]) if isinstance(values[5], bool) else values[4:6]
    sizes = input.shape[-len(kernel) :]
    floors = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation)]
    return list(out) != floors


_COMPUTED: dict[str, Callable] = {
    "zeros": lambda values: [0] * len(values[3]),
    "dtype": lambda values: values[0].dtype,
    "batch": lambda values: values[0].shape[0],
    "channels": lambda values: values[0].shape[1],
    "inner": lambda values: values[0].shape[2:].numel(),
    "ceil_mode": _ceil_mode,
}


# ---------------------------------------------------------------- operations that PyTorch makes of several


def _linear(input, weight, bias):
    call = table.functions
    return call.mm(input, call.t(weight)) if bias is None else call.addmm(bias, input, call.t(weight))


def _batched(self, mat2):
    """A product of batches: one of three dimensions each, as PyTorch makes of any number."""
    call = table.functions
    batch = call.broadcast_shapes(self.shape[:-2], mat2.shape[:-2])
    (rows, inner), columns = self.shape[-2:], mat2.shape[-1]
    first = call.reshape(call.expand(self, (*batch, rows, inner)), (prod(batch), rows, inner))
    second = call.reshape(call.expand(mat2, (*batch, inner, columns)), (prod(batch), inner, columns))
    return call.reshape(call.bmm(first, second), (*batch, rows, columns))


def _converted(name):
    """A softmax in another dtype: of the converted tensor."""

    def call(self, dim, dtype):
        if dtype is None or dtype is self.dtype:
            return NotImplemented
        return _run(name, (self.to(dtype), dim, None))

    return call


def _run(name, values):
    op = table.TABLE[name]
    return run(op, schema_of(op), [*values])


# What PyTorch makes of several, or NotImplemented where it is one.
_PARTS = {
    **{name: _converted(name) for name in ("softmax", "log_softmax")},
    "linear_rows": _linear,
    "max_pool_values": lambda *values: _run("max_pool_places", values)[0],
    "transposed_mm": lambda self, mat2: table.functions.mm(table.functions.t(self), mat2),
    "batched_product": _batched,
    "scaled_scores": lambda query, key, scale: _batched(
        table.functions.mul(query, scale**0.5), table.functions.mul(table.functions.transpose(key, -2, -1), scale**0.5)
    ),
}


def in_parts(op, values):
    """What a call gives where PyTorch makes several operations of it, made so; NotImplemented where it makes one."""
    return _PARTS[op.name](*values) if op.name in _PARTS else NotImplemented


# ---------------------------------------------------------------- calls

_GIVEN = object()  # the default of an argument that has none


class _Argument(NamedTuple):
    """An argument of a native call: where its value stands among ours (None: nowhere), its keyword (None: by position), its default."""

    position: int | None
    keyword: str | None
    default: Any


class _Form(NamedTuple):
    namespace: str
    name: str
    overload: str | None
    arguments: list


class NativeCall(NamedTuple):
    """A call of ``torch.ops.<namespace>.<name>.<overload>(*arguments, **keywords)``; ``values_of(arguments, keywords)`` are the values
    of our operation that such arguments stand for."""

    namespace: str
    name: str
    overload: str
    arguments: tuple
    keywords: dict
    values_of: Callable


def _form_for(op, values, writes):
    """The form of the native call that a call of an operation stands for."""
    return _form_of(op, writes, _CHOICES[op.name](values) if op.name in _CHOICES else 0)


def _texts(name):
    """The texts of an operation's forms."""
    found = _FORMS.get(name, ())
    return (found,) if isinstance(found, str) else found


@functools.cache
def _form_of(op, writes, number=0):
    schema, texts = schema_of(op), _texts(op.name)
    if not texts:
        known = bool(op.names) or op.name.endswith("_backward") or op.name in _INNER
        found = [_Argument(i, None if i < schema.positional else each.name, _GIVEN if each.is_required else each.default)
                 for i, each in enumerate(schema.arguments)]  # fmt: skip
        return _Form("aten" if known else "rushlight", _written_name(op.name, writes), None, found)
    head, *words = texts[number].split()
    name, _, overload = head.partition(".")
    found = []
    for word in words:
        own, equals, text = word.lstrip("*").partition("=")
        keyword = own if word.startswith("*") else None
        default = _GIVEN if not equals else text if text in _COMPUTED else ast.literal_eval(text)
        found.append(_Argument(schema.index[own] if own else None, keyword, default))
    return _Form("aten", _written_name(name, writes), overload or None, found)


def _written_name(name, writes):
    return f"{name}_" if writes and not name.endswith("_") else name


def native_call(op, schema, values, writes=False):
    """The native call that a call of ``op`` with these values stands for, in place if it ``writes``."""
    form = _form_for(op, values, writes)
    keywords = {
        keyword: _told(schema.arguments[position], values[position])
        for position, keyword, default in form.arguments
        if keyword is not None and values[position] is not None and not _is_default(values[position], default)
    }
    ordered = [each for each in form.arguments if each.keyword is None]
    while (
        ordered and ordered[-1].position is not None and _is_default(values[ordered[-1].position], ordered[-1].default)
    ):
        ordered.pop()
    arguments = tuple(
        _beside(default, values) if position is None else _told(schema.arguments[position], values[position])
        for position, _, default in ordered
    )
    if op.name in _ONE_DIMENSION:
        arguments = tuple([each[0] if isinstance(each, list) and len(each) == 1 else each for each in arguments])
    if op.kind == table.CREATE:
        keywords |= {"device": device("cpu"), "pin_memory": False}
    name = form.name.replace("#", str(len(values[1]))) if "#" in form.name else form.name
    overload = form.overload or _overload(op, schema, values)
    return NativeCall(
        form.namespace, name, overload, arguments, keywords, functools.partial(_values_of, schema, form, values)
    )


def _is_default(value, default):
    """Whether a value is the default of its argument: the last ones in order, and keywords, are left out then."""
    return value.__class__ is default.__class__ and not isinstance(value, Tensor) and value == default


def _told(argument, value):
    """A value of our schema as native calls have it: lists for tuples, numbers for reductions, tensors for positions."""
    if argument.type == "positions":
        return [each if each is None or isinstance(each, Tensor) else wrap(each) for each in value]
    if argument.name == "reduction":
        return _REDUCTIONS.index(value)
    return [*value] if isinstance(value, tuple) else value


def _read(argument, value):
    """`_told` the other way."""
    if argument.type == "positions":
        return tuple(each._array if isinstance(each, Tensor) else each for each in value)
    if argument.name == "reduction" and isinstance(value, int):
        return _REDUCTIONS[value]
    if argument.is_int_list and isinstance(value, int):
        return (value,)
    return tuple(value) if isinstance(value, list) and not argument.is_list else value


def _beside(default, values):
    """What PyTorch has at a place where our schema has nothing."""
    return _COMPUTED[default](values) if default in _COMPUTED else default


def _values_of(schema, form, values, arguments, keywords):
    """Our values with those exchanged that a native call's arguments give."""
    found = [*values]
    ordered = [each for each in form.arguments if each.keyword is None]
    for each, value in zip(ordered, arguments):
        if each.position is not None:
            found[each.position] = _read(schema.arguments[each.position], value)
    for name, value in keywords.items():
        position = schema.index.get(name)
        if position is not None:
            found[position] = _read(schema.arguments[position], value)
    return found


def _overload(op, schema, values):
    """The overload that PyTorch chooses for an operation with several."""
    name = op.name
    if name in _OVERLOADS:
        found = _OVERLOADS[name]
        return found if isinstance(found, str) else found(values)
    if name in _BY_NUMBERS:
        first, second = (isinstance(each, Tensor) for each in values[:2])
        return _BY_NUMBERS[name][0 if first and second else 1 if first else 2]
    if name in _BY_ARGUMENT:
        place, of_tensor, of_number = _BY_ARGUMENT[name]
        return of_tensor if isinstance(values[schema.index[place]], Tensor) else of_number
    if name in _BY_DIMENSIONS:
        dims, kept = values[schema.index["dim"]], "keepdim" in schema.index and values[schema.index["keepdim"]]
        none, one, several = _BY_DIMENSIONS[name]
        return (
            (several if kept else none) if dims is None else one if isinstance(dims, int) or len(dims) == 1 else several
        )
    return "default"


def native_name(name):
    """What PyTorch calls the native operation that an operation of the table stands for, where that is public under no name of its
    own; None where there is none with the same arguments."""
    for text in _texts(name):
        return text.split()[0].partition(".")[0].replace("#", "")
    return name if name in _INNER or name.endswith("_backward") else None


def native_operation(name):
    """The function of an operation of ``torch.ops.aten`` that is no public one of ours, in terms of the table; None where there is
    none. It takes the arguments of `NativeCall`s."""
    own = _by_native_name().get(name)
    if own is None:
        return None
    op, number = table.TABLE[own[0]], own[1]
    schema, form = schema_of(op), _form_of(op, False, number)

    def call(*arguments, **keywords):
        values = _values_of(schema, form, _defaults(schema, form), arguments, keywords)
        missing = next((each.name for each, value in zip(schema.arguments, values) if value is _GIVEN), None)
        if missing is not None:
            message = f"aten::{name}() is missing value for argument '{missing}'."
            raise TypeError(hinted(message, f"in the words of Rushlight's own schema: {op.schema}"))
        return run(op, schema, values)

    call.__name__ = name
    return call


def _defaults(schema, form):
    """Our values where a native call gives none: `_GIVEN` for what it must give, None for what it cannot."""
    found = [None if each.is_required else each.default for each in schema.arguments]
    for position, _, default in form.arguments:
        if position is not None and (default is not _GIVEN or schema.arguments[position].is_required):
            found[position] = default
    return found


@functools.cache
def _by_native_name():
    """(the operation, the number of its form) by native names."""
    found: dict = {}
    for own in _FORMS:
        for number, text in enumerate(_texts(own)):
            name = text.split()[0].partition(".")[0]
            if not name.endswith("_"):
                for count in "123":
                    found.setdefault(name.replace("#", count), (own, number))
    return found
