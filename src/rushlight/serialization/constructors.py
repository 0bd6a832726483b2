"""The table of names that checkpoints may use, and what each rebuilds: the data that ``weights_only=True`` reads."""

from __future__ import annotations

from collections import Counter, OrderedDict

from ..base import device as devices
from ..base.dtypes import NAMES
from ..base.lazy import rebuilt
from ..base.size import Size
from ..nn.parameter import Parameter
from ..ops.table import functions
from ..tensor import Tensor
from .messages import malformed, refused, shorten
from .storages import STORAGE_NAMES, UNTYPED, Storage, StorageType
from .tensors import Layout, make_parameter, make_tensor, meta_view, view_storage
from .unpickler import KEY_TYPES, Token, check_key

KEY_TYPES.update((Tensor, Parameter))


def take(arguments, kinds, what):
    """The arguments of a constructor, after checking how many there are and the type of each (None: any)."""
    if len(arguments) != len(kinds):
        raise malformed(f"{what} with {len(arguments)} parts instead of {len(kinds)}")
    for argument, kind in zip(arguments, kinds):
        if kind is not None and type(argument) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise malformed(f"{what} with a {type(argument).__name__} in a wrong place")
    return arguments


# ---------------------------------------------------------------- containers and small values


def _ordered_dict(arguments):
    take(arguments, (), "an OrderedDict")
    return OrderedDict()


def _counter(arguments):
    if not arguments:
        return Counter()
    (counts,) = take(arguments, (dict,), "a Counter")
    counter = Counter()
    # Not Counter(counts), which would add the counts up and so run the arithmetic of whatever they are.
    for key, value in counts.items():
        dict.__setitem__(counter, key, value)
    return counter


def _set(arguments):
    if not arguments:
        return set()
    (members,) = take(arguments, (list,), "a set")
    for member in members:
        check_key(member)
    return set(members)


def _complex(arguments):
    real, imaginary = take(arguments, ((float, int), (float, int)), "a complex number")
    return complex(real, imaginary)


def _bytearray(arguments):
    if len(arguments) == 2:
        return bytearray(_encode(arguments))
    return bytearray(take(arguments, (bytes,), "a bytearray")[0]) if arguments else bytearray()


def _bytes(arguments):
    return take(arguments, (bytes,), "a bytes object")[0] if arguments else b""


def _encode(arguments):
    text, encoding = take(arguments, (str, str), "a bytes object")
    if encoding.replace("-", "").replace("_", "").lower() not in ("latin1", "iso88591"):
        raise malformed(f"bytes in an unexpected encoding {shorten(encoding)}")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise malformed("bytes with values above 255") from None


def _size(arguments):
    (lengths,) = take(arguments, (tuple,), "a torch.Size")
    if not all(type(length) is int for length in lengths):
        raise malformed("a torch.Size of something else than integers")
    return Size(lengths)


def _device(arguments):
    if len(arguments) == 2:
        take(arguments, (str, int), "a torch.device")
    else:
        take(arguments, (str,), "a torch.device")
    return devices.device(*arguments)


_LAYOUTS = {str(value): value for value in devices.LAYOUTS}


def _layout(arguments):
    (name,) = take(arguments, (str,), "a torch.layout")
    if name not in _LAYOUTS:
        raise refused(f"unknown layout {shorten(name)}", "this version does not have it")
    return _LAYOUTS[name]


# ---------------------------------------------------------------- tensors


def _storage_dtype(storage):
    if type(storage) is not Storage:
        raise malformed("a tensor without a storage")
    if storage.dtype is None:
        raise malformed("a tensor over a storage without a dtype")
    return storage.dtype


def _tensor_v1(arguments):
    storage, offset, sizes, strides = take(arguments, (None, int, (tuple, Size), tuple), "a tensor")
    return _tensor(storage, _storage_dtype(storage), offset, sizes, strides)


def _tensor_v2(arguments):
    if len(arguments) not in (6, 7):
        raise malformed(f"a tensor with {len(arguments)} parts")
    storage, offset, sizes, strides, requires_grad = arguments[:5]
    metadata = arguments[6] if len(arguments) == 7 else None
    return _tensor(storage, _storage_dtype(storage), offset, sizes, strides, requires_grad, metadata)


def _tensor_v3(arguments):
    if len(arguments) not in (7, 8):
        raise malformed(f"a tensor with {len(arguments)} parts")
    storage, offset, sizes, strides, requires_grad, _, dtype = arguments[:7]
    metadata = arguments[7] if len(arguments) == 8 else None
    if type(storage) is not Storage or type(dtype) is not type(NAMES["float32"]):
        raise malformed("a tensor without a storage or a dtype")
    return _tensor(storage, dtype, offset, sizes, strides, requires_grad, metadata)


def _tensor(storage, dtype, offset, sizes, strides, requires_grad=False, metadata=None):
    sizes = tuple(sizes) if type(sizes) is Size else sizes
    if type(requires_grad) is not bool:
        raise malformed("a tensor whose requires_grad is neither True nor False")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise malformed(f"a tensor of {dtype!r} that requires a gradient")
    conj, neg = (False, False) if metadata is None else _bits(dtype, metadata)
    return make_tensor(rebuilt(view_storage(storage, dtype, Layout(offset, sizes, strides)), conj, neg), requires_grad)


def _meta_tensor(arguments):
    """A tensor of the meta device, which has no storage: (dtype, sizes, strides, requires_grad)."""
    dtype, sizes, strides, requires_grad = take(arguments, (None, (tuple, Size), tuple, bool), "a tensor")
    if type(dtype) is not type(NAMES["float32"]):
        raise malformed("a tensor without a dtype")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise malformed(f"a tensor of {dtype!r} that requires a gradient")
    return make_tensor(meta_view(dtype, tuple(sizes), strides), requires_grad)


def _sparse_tensor(arguments):
    """A sparse tensor: (layout, (indices, values, size, is coalesced)), or of a compressed layout (both indices, values, size)."""
    layout, parts = take(arguments, (devices.layout, tuple), "a sparse tensor")
    kinds = (Tensor, Tensor, (tuple, Size), bool) if layout is devices.sparse_coo else (*[Tensor] * 3, (tuple, Size))
    if layout is devices.strided:
        raise malformed("a sparse tensor of the layout torch.strided")
    if layout is devices.sparse_coo and len(parts) == 3:
        parts = (*parts, False)
    *tensors, size = take(parts, kinds, "a sparse tensor")[: 3 if layout is devices.sparse_coo else 4]
    if not all(type(length) is int and 0 <= length < 1 << 62 for length in size):
        raise malformed(f"a sparse tensor of an impossible size {shorten(size)}")
    try:
        return functions.sparse_from_parts(layout, tuple(size), tensors, parts[-1] is True)
    except (RuntimeError, NotImplementedError) as error:
        raise malformed(f"a sparse tensor whose parts do not fit: {str(error).splitlines()[0]}") from None


_JAGGED = "torch.nested._internal.nested_tensor._rebuild_njt"


def _nested(make, *arguments):
    try:
        return make(*arguments)
    except ValueError as error:
        raise malformed(f"a nested tensor whose parts do not fit: {error}") from None


def _strided_nested_tensor(arguments):
    """A nested tensor of the strided layout: (buffer, shapes, strides, places in the buffer)."""
    parts = take(arguments, (Tensor, Tensor, Tensor, Tensor), "a nested tensor")
    return _nested(functions.strided_from_parts, *parts)


def _jagged_tensor(arguments):
    """A nested tensor of the jagged layout, from a dict of its parts."""
    (parts,) = take(arguments, (dict,), "a nested tensor")
    extremes = parts.get("_metadata_cache") or {}
    named = (parts.get("values"), parts.get("offsets"), parts.get("lengths"))
    if not all(isinstance(each, Tensor) for each in (*named[:2], *extremes.values())):
        raise malformed("a nested tensor without values or offsets")
    known = {name.removesuffix("_seqlen"): each.shape[0] for name, each in extremes.items() if each.ndim}
    return _nested(
        functions.jagged_from_parts, *named, parts.get("_ragged_idx", 1), known, parts.get("requires_grad") is True
    )


def _bits(dtype, metadata):
    """(conj, neg): whether the memory is read conjugated, and negated."""
    if type(metadata) is not dict or not all(type(flag) is bool for flag in metadata.values()):
        raise malformed("a tensor with unknown properties")
    unknown = [name for name in metadata if name not in ("conj", "neg")]
    if unknown:
        raise refused(f"a tensor with the property {shorten(unknown[0])}", "this version does not know it")
    conj, neg = metadata.get("conj", False), metadata.get("neg", False)
    if neg and dtype.name == "bool":
        raise malformed("a tensor of torch.bool that is to be negated")
    return conj and dtype.is_complex, neg


def _parameter(arguments):
    data, requires_grad, _ = take(arguments, (None, bool, None), "a parameter")
    if not isinstance(data, Tensor):
        raise malformed(f"a parameter with a {type(data).__name__} in a wrong place")
    if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise malformed(f"a parameter of {data.dtype!r} that requires a gradient")
    return make_parameter(data, requires_grad)


def _parameter_with_state(arguments):
    data, requires_grad, hooks, state = take(arguments, (Tensor, bool, None, None), "a parameter")
    return _with_attributes(_parameter((data, requires_grad, hooks)), state)


def _from_type(arguments):
    """A tensor with attributes of its own: (rebuild, class, arguments, state)."""
    token, kind, parts, state = take(arguments, (Token, Token, tuple, None), "a tensor")
    if token.name == _JAGGED:  # what PyTorch's files say beside it is about compiling
        return token.build(parts)
    if token.name not in _TENSOR_BUILDERS or kind.value is not Tensor:
        raise refused(f"a tensor of the class {kind.name}", "save its plain data: tensor.as_subclass(torch.Tensor)")
    return _with_attributes(token.build(parts), state)


def _with_attributes(tensor, state):
    """Set the plain attributes that a user had put on a tensor; none may hide one that tensors have."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise refused("a tensor with state in slots", "only plain attributes can be rebuilt")
    for name, value in state.items():
        if hasattr(type(tensor), name) or name.startswith("__"):
            raise malformed(f"a tensor whose attribute {shorten(name)} would hide a method or property")
        setattr(tensor, name, value)
    return tensor


# What PyTorch's compiler notes at the lengths of a jagged tensor, in files too: its name stands for it, nothing reads it.
_COMPILERS_MARK = "torch._dynamo.decorators._DimRange"


def set_state(target, state):
    """BUILD for the table's types: attributes of an OrderedDict, which is where a state_dict keeps ``_metadata``."""
    if target is _COMPILERS_MARK:
        return
    if type(target) is not OrderedDict:
        raise refused(
            "WeightsUnpickler error: Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            f"`add_safe_globals`, but got {type(target)}",
            "the checkpoint sets the inner state of an object, which data does not need",
        )
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise malformed("an OrderedDict with attributes that have no names")
    for name, value in state.items():
        if hasattr(OrderedDict, name):
            raise malformed(f"an OrderedDict whose attribute {shorten(name)} would hide a method")
        target.__dict__[name] = value


def _unsupported(name, what):
    def build(arguments):
        raise refused(f"{name}: {what} are not supported by this version", "convert them with PyTorch before saving")

    return Token(name, build)


def _table():
    tokens = [
        Token("collections.OrderedDict", _ordered_dict),
        Token("collections.Counter", _counter),
        Token("builtins.set", _set, value=set),
        Token("builtins.complex", _complex),
        Token("builtins.bytearray", _bytearray),
        Token("builtins.bytes", _bytes),
        Token("_codecs.encode", _encode),
        Token("torch.Size", _size, value=Size),
        Token("torch.device", _device, value=devices.device),
        Token("torch.serialization._get_layout", _layout),
        Token("torch.Tensor", value=Tensor),
        Token("torch.nn.parameter.Parameter", value=Parameter),
        Token("torch._utils._rebuild_tensor", _tensor_v1),
        Token("torch._utils._rebuild_tensor_v2", _tensor_v2),
        Token("torch._utils._rebuild_tensor_v3", _tensor_v3),
        Token("torch._utils._rebuild_meta_tensor_no_storage", _meta_tensor),
        Token("torch._utils._rebuild_parameter", _parameter),
        Token("torch._utils._rebuild_parameter_with_state", _parameter_with_state),
        Token("torch._tensor._rebuild_from_type_v2", _from_type),
        Token("torch._utils._rebuild_sparse_tensor", _sparse_tensor),
        Token("torch._utils._rebuild_nested_tensor", _strided_nested_tensor),
        Token(_JAGGED, _jagged_tensor),
        Token("torch.nested._internal.nested_tensor.NestedTensor"),
        Token(_COMPILERS_MARK, new=lambda arguments: _COMPILERS_MARK),
        _unsupported("torch._utils._rebuild_qtensor", "quantized tensors"),
        _unsupported("torch._utils._rebuild_wrapper_subclass", "tensor subclasses"),
        _unsupported("torch._utils._rebuild_device_tensor_from_numpy", "tensors of other devices"),
        _unsupported("torch._utils._rebuild_device_tensor_from_cpu_tensor", "tensors of other devices"),
    ]
    table = {token.name: token for token in tokens}
    table.update((f"torch.{name}", dtype) for name, dtype in NAMES.items())
    for name, dtype in STORAGE_NAMES.items():
        table[f"torch.{name}"] = table[f"torch.cuda.{name}"] = StorageType(name, dtype)
    table[f"torch.storage.{UNTYPED}"] = table[f"torch.{UNTYPED}"] = StorageType(UNTYPED, None)
    return table


_TENSOR_BUILDERS = frozenset(
    f"torch._utils._rebuild_{kind}" for kind in ("tensor", "tensor_v2", "tensor_v3", "sparse_tensor")
)
TABLE = _table()
