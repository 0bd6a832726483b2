"""What functions do with MaskedTensors: by the data and its mask, family by family."""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import Any

from ..base import dtypes
from ..base.device import sparse_coo, strided
from ..base.errors import hinted
from ..base.user_code import to_user
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.interception import intercept_for
from ..tensor.overrides import DisableTorchFunctionSubclass
from .tensors import MaskedTensor, masked, same_numbers

UNARY = frozenset(
    ("abs", "absolute", "acos", "arccos", "acosh", "arccosh", "angle", "asin", "arcsin", "asinh", "arcsinh", "atan", "arctan",
     "atanh", "arctanh", "bitwise_not", "ceil", "clamp", "clip", "conj_physical", "cos", "cosh", "deg2rad", "digamma", "erf",
     "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "logit", "i0",
     "isfinite", "isnan", "nan_to_num", "neg", "negative", "positive", "pow", "rad2deg", "reciprocal", "round", "rsqrt", "sigmoid", "sign",
     "sgn", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc")
)  # fmt: skip
BINARY = frozenset(
    ("add", "atan2", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "div",
     "divide", "floor_divide", "fmod", "logaddexp", "logaddexp2", "mul", "multiply", "nextafter", "remainder", "sub", "subtract",
     "rsub", "true_divide", "eq", "ne", "le", "ge", "greater", "greater_equal", "gt", "less_equal", "lt", "less", "maximum",
     "minimum", "fmax", "fmin", "not_equal", "isclose")
)  # fmt: skip
_NOT_IN_PLACE = frozenset(
    ("angle", "positive", "signbit", "isnan", "logaddexp", "logaddexp2", "rsub", "fmin", "minimum", "maximum", "fmax")
)  # fmt: skip
IN_PLACE = frozenset(name + "_" for name in (UNARY | BINARY) - _NOT_IN_PLACE)
REDUCTIONS = frozenset(
    ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std")
)  # fmt: skip
# Applied to data and mask alike.
MOVING = frozenset(
    ("select", "transpose", "swapaxes", "swapdims", "split", "chunk", "t", "narrow", "index", "__getitem__", "expand",
     "expand_as", "view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "cat", "concat", "concatenate",
     "unsqueeze", "unfold", "stack", "hstack", "vstack", "tensor_split")
)  # fmt: skip
# Asked of the data as of any tensor, or done to the tensor itself.
_PLAIN = frozenset(
    ("requires_grad_", "retain_grad", "backward", "register_hook", "register_post_accumulate_grad_hook", "size", "dim",
     "ndimension", "numel", "nelement", "stride", "storage_offset", "is_contiguous", "is_floating_point", "is_complex",
     "is_signed", "element_size", "data_ptr", "get_device", "type", "is_same_size", "__len__", "__hash__", "is_tensor",
     "is_inference", "__format__", "untyped_storage", "is_pinned")
)  # fmt: skip
_OPERATORS = {
    f"__{name}__": other
    for name, other in dict(
        add="add", radd="add", sub="sub", rsub="rsub", mul="mul", rmul="mul", truediv="div",
        floordiv="floor_divide", mod="remainder", pow="pow", neg="neg", abs="abs", pos="positive", invert="bitwise_not",
        eq="eq", ne="ne", lt="lt", le="le", gt="gt", ge="ge", xor="bitwise_xor", lshift="bitwise_left_shift",
        rshift="bitwise_right_shift",
    ).items()
} | {"__and__": "bitwise_and", "__or__": "bitwise_or"}  # fmt: skip


# PyTorch's names of forms of operations, where a MaskedTensor meets another than the default one.
_OVERLOADS = {"unbind": ".int", "masked_fill": ".Scalar", "fill_": ".Scalar"}


def call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for arguments with a MaskedTensor among them."""
    name = _OPERATORS.get(function.__name__, function.__name__)
    if name in _PLAIN:
        with DisableTorchFunctionSubclass():
            return function(*args, **kwargs)
    if name in _OWN:
        return _OWN[name](function, args, kwargs)
    for names, apply in _FAMILIES:
        if name in names:
            return apply(name, function, args, kwargs)
    warnings.warn(
        hinted(
            f"{name} is not implemented in __torch_dispatch__ for MaskedTensor.",
            "get_data() and get_mask() are plain tensors, to_tensor(value) is one without holes",
        ),
        stacklevel=to_user(),
    )
    raise TypeError(
        hinted(
            f"Multiple dispatch failed for 'torch._ops.aten.{name}{_OVERLOADS.get(name, '.default')}'; all __torch_dispatch__ handlers returned NotImplemented:",
            "compute with get_data(), and mask the result with as_masked_tensor()",
        )
    )


def _mapped(value, function):
    """The value with ``function`` of each MaskedTensor in its place, also in lists."""
    if isinstance(value, MaskedTensor):
        return function(value)
    if value.__class__ in (list, tuple):
        return type(value)([_mapped(item, function) for item in value])
    return value


def _data(value):
    return _mapped(value, MaskedTensor.get_data)


def _mask(value):
    return _mapped(value, MaskedTensor.get_mask)


def _elements(compute, data, *others):
    """``compute`` of data, element by element; of sparse tensors of the values, which must lie at the same places."""
    if data.layout is strided:
        return compute(data, *others)
    others = [_values_beside(data, other) if isinstance(other, Tensor) else other for other in others]
    size, parts, coalesced = functions.sparse_parts(data)
    values = compute(data.values(), *others)
    return functions.sparse_from_parts(data.layout, size, (*parts[:-1], values), coalesced)


def _values_beside(data, other):
    """The values of a second sparse tensor, whose places must be those of ``data``; a plain tensor as it is."""
    if other.layout is not data.layout:
        return other
    names = ("indices",) if data.layout is sparse_coo else ("crow_indices", "col_indices")
    if not all(same_numbers(getattr(data, name)(), getattr(other, name)()) for name in names):
        kind = "sparse_coo" if data.layout is sparse_coo else "sparse_csr"
        raise ValueError(f"{kind} indices must match. If you need support for this, please open an issue on Github.")
    if data.shape != other.shape:
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    return other.values()


# ---------------------------------------------------------------- families


def _unary(name, function, args, kwargs):
    if kwargs and name not in ("clamp", "clip"):
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. "
            "If you need support for this, please open an issue on Github."
        )
    first, *rest = args
    if any(isinstance(value, Tensor) for value in rest):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    found = _elements(lambda data: function(data, *rest, **kwargs), first.get_data())
    return masked(found, first.get_mask())


def _binary(name, function, args, kwargs):
    _check_operands(args, kwargs)
    first, second = (_data(value) for value in args[:2])
    if isinstance(first, Tensor):
        found = _elements(lambda data, other: function(data, other, *args[2:]), first, second)
    else:
        found = _elements(lambda data: function(first, data, *args[2:]), second)
    mask = next(value for value in args[:2] if isinstance(value, MaskedTensor)).get_mask()
    return masked(found, mask.expand_as(found) if found.layout is strided else mask)


def _check_operands(args, kwargs):
    """Refuse options, more tensors than two, and two masks that differ."""
    if kwargs:
        raise ValueError(hinted("len(kwargs) must equal 0", "operations of two MaskedTensors have no options"))
    if any(isinstance(value, Tensor) for value in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    masks = [value.get_mask() for value in args[:2] if isinstance(value, MaskedTensor)]
    if len(masks) == 2 and not _match(*masks):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")


def _match(first, second):
    """Whether two masks are equal: those of sparse tensors are, where they lie at the same places and have equal values."""
    if first.layout is not strided:
        first, second = first.to_dense(), second.to_dense()
    return same_numbers(first, second)


def _in_place(name):
    """The in-place method ``name``: it writes into the data, whose memory a strided MaskedTensor shares, and keeps the mask."""
    function, binary = getattr(Tensor, name), name.strip("_") not in UNARY or name.startswith("__")

    def method(self, *args, **kwargs):
        if binary:
            _check_operands((self, *args), kwargs)
        if self.layout is not strided:
            raise TypeError(hinted(f"{name}() writes into strided MaskedTensors", "use the form without _"))
        rest = [_data(value) for value in args]
        with DisableTorchFunctionSubclass():
            function(self, *rest, **kwargs)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    return method


def _reduction(name, function, args, kwargs):
    input, *rest = args
    if input.layout is not strided and (rest or kwargs):
        raise TypeError(
            hinted(f"The sparse version of {name} is not implemented in reductions.", "to_dense() can be reduced")
        )
    data, mask = input.get_data(), input.get_mask()
    if input.layout is not strided:
        data, mask = data.values(), mask.values()
    options = dict(zip(("dim", "keepdim", "dtype"), rest)) | kwargs
    dim, keepdim = options.get("dim"), options.get("keepdim", False)
    if name == "all":
        options.pop("dtype", None)
        found = data.masked_fill(~mask, True).all(**options)
    else:
        found = _reducer(name)(data.masked_fill(~mask, 0), mask=mask, **options)  # no NaN of masked elements comes back
    if function is getattr(import_module(__package__), name, None):  # those of torch.masked give plain tensors
        return found
    return masked(found, mask.any() if dim is None else _any_of(mask, dim, keepdim))


def _reducer(name):
    """The function of ``torch.masked`` that leaves masked elements out."""
    found = getattr(import_module(__package__), name)
    return partial(found, ord=2) if name == "norm" else found


def _any_of(mask, dim, keepdim):
    """Whether any element along the dimensions counts."""
    for each in sorted([dim] if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(dim=each, keepdim=keepdim)
    return mask


def _moving(name, function, args, kwargs):
    data = function(*_data(args), **{key: _data(value) for key, value in kwargs.items()})
    mask = function(*_mask(args), **{key: _mask(value) for key, value in kwargs.items()})
    if data.__class__ in (tuple, list):
        return type(data)(map(masked, data, mask))
    return masked(data, mask)


_FAMILIES = ((UNARY, _unary), (BINARY, _binary), (REDUCTIONS, _reduction), (MOVING, _moving))


# ---------------------------------------------------------------- single functions


def _where(function, args, kwargs):
    if len(args) != 3 or kwargs:
        raise ValueError(f"__torch_function__, torch.where: len(args) must be 3 but got {len(args)}")
    condition, *choices = args
    data = [_data(value) for value in choices]
    masks = [
        value.get_mask() if isinstance(value, MaskedTensor) else functions.ones_like(value, dtype=dtypes.bool_)
        for value in choices
    ]
    return masked(functions.where(condition, *data), functions.where(condition, *masks))


def _converted(function, args, kwargs):
    """A copy, or the data in another dtype, or in another order in memory: the mask stays."""
    input, *rest = args
    return masked(function(input.get_data(), *rest, **kwargs), input.get_mask())


def _contiguous(function, args, kwargs):
    input = args[0]
    if input.layout is not strided:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    with DisableTorchFunctionSubclass():
        done = input.is_contiguous()
    return input if done else masked(input.get_data().contiguous(), input.get_mask().contiguous())


def _softmax(function, args, kwargs):
    input, *rest = args
    mask = input.get_mask()
    return masked(import_module(__package__).softmax(input.get_data(), *rest, mask=mask, **kwargs), mask)


def _ones_like(function, args, kwargs):
    return masked(function(args[0]._masked_data, **kwargs), args[0].get_mask())


def _copy(function, args, kwargs):
    target, source = args[:2]
    if not _match(target.get_mask(), source.get_mask() if isinstance(source, MaskedTensor) else target.get_mask()):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    target._masked_data.copy_(_data(source))
    return target


_CONVERTING = "clone to double float half int long short char bool to_copy type_as"
_OWN = {
    "where": _where, "contiguous": _contiguous, "softmax": _softmax, "ones_like": _ones_like, "copy_": _copy,
    **dict.fromkeys(_CONVERTING.split(), _converted),
}  # fmt: skip


def _torch_function(cls, function, types, args=(), kwargs=None):
    return call(function, args, kwargs or {})


for _name in (*IN_PLACE, "__iadd__", "__isub__", "__imul__", "__itruediv__"):
    if hasattr(Tensor, _name):
        setattr(MaskedTensor, _name, _in_place(_name))
MaskedTensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[method-assign, assignment]
intercept_for(MaskedTensor)
