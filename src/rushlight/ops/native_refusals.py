"""The error that PyTorch raises for arguments that do not fit, and what to do about it: asked for when a call has failed.

A call is tried against each form of the function (native_calls.py). Where there is one form, or only one that takes so many
arguments, the message tells of the first argument that does not fit it, else of the combination of them all.
"""

from __future__ import annotations

import inspect
import re

import numpy as np

from ..base.errors import hinted, kind_name
from .native_calls import forms_of, is_tensor, lines
from .schema import Schema

_HANDED_ON = re.compile(r"(\w+) (\w+~?)(?:\((.*)\))?$")


def refusal(room, name, args, kwargs, function=None):
    """The error that PyTorch raises for a call whose arguments fit no form of a function; None where one fits, or it has none.

    A function that PyTorch wrote in Python hands its arguments on: ``function`` is ours, with the same names.
    """
    call = lines().get(("functional" if room == "nn.functional" else room, name), ("",))[0]
    if not call.startswith("= "):
        return None if room == "nn.functional" else _native_refusal(room, name, args, kwargs)
    looks, native = _parts(call[2:])
    room, name, inside = native or (None, None, None)
    if inside is None and not looks:
        return _native_refusal(room, name, args, kwargs)
    signature = _signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # Python's words are PyTorch's: both functions are written in it
        return None
    bound.apply_defaults()
    given = bound.arguments
    for value_name, attribute in looks:
        found = _look(given, value_name, attribute, signature)
        if found is not None:
            return found
    if native is None:
        return None
    try:
        call = _handed_on(name, inside, given)
    except TypeError as error:  # a value that should have a length
        return error
    return _native_refusal(room, *call)


def in_places(room, name, args, kwargs):
    """A call that PyTorch takes, its arguments in the places and under the names that PyTorch has for them; None for others."""
    if lines().get((room, name), ("",))[0].startswith("= "):
        return None  # written in Python: its names are all there is
    form = next((form for form in forms_of(room, name) if form.complaint(args, kwargs) is None), None)
    return None if form is None else form.in_places(args, kwargs)


def _signature(function):
    """The signature of a composite, or that of an operation, out of its schema."""
    op = getattr(function, "op", None)
    if op is None:
        return inspect.signature(function)
    schema, parameters = Schema(op.schema), []
    for place, argument in enumerate(schema.arguments):
        name = "input" if argument.name == "self" else argument.name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if place < schema.positional else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if argument.is_required else argument.default
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def _parts(call):
    """What a function looks at, and (room, name, arguments) of what it calls, out of ``input.dim() torch relu(input)``."""
    looks = []
    while (found := re.match(r"(\w+)\.(\w+(?:\(\))?)(?: |$)", call)) is not None:
        looks.append(found.groups())
        call = call[found.end() :]
    return looks, _HANDED_ON.match(call).groups() if call else None


def _look(given, name, attribute, signature):
    """The error of ``value.attribute`` or ``value.attribute()`` where the argument ``name`` is no tensor."""
    value = given.get(name)
    if is_tensor(value) or name not in given or (value is None and signature.parameters[name].default is None):
        return None
    try:
        found = getattr(value, attribute.removesuffix("()"))
        if attribute.endswith("()"):
            found()
    except (AttributeError, TypeError) as error:
        return type(error)(hinted(str(error), tensor_cure(name, value)))
    return None


def _handed_on(name, inside, given):
    """The name and the arguments of a native call, ``dropout~`` and ``input, p, training``, for given values."""
    args, kwargs = [], {}
    for part in inside.split(", "):
        key, _, source = part.rpartition("=")
        source, fills, _ = source.partition("?")  # where lengths of the input replace each None
        name_of_all = source.removeprefix("*")  # where one list may stand for all
        value = given[name_of_all] if name_of_all in given else {"None": None, "False": False}.get(source, 1)
        if name_of_all != source and len(value) == 1 and isinstance(value[0], (tuple, list)):
            value = value[0]
        if fills and not isinstance(value, int) and len(value):
            value = [1 if item is None else item for item in value]
        if key:
            kwargs[key] = value
        else:
            args.append(value)
    return name.replace("~", "_" if given.get("inplace") else ""), tuple(args), kwargs


def _native_refusal(room, name, args, kwargs):
    """`refusal` for a function that has forms of its own."""
    forms = forms_of(room, name)
    complaints = []
    for form in forms:
        complaints.append(form.complaint(args, kwargs))
        if complaints[-1] is None:
            return None
    if not forms:
        return None
    shown, name = [form for form in forms if not form.hidden], forms[0].name
    one = _telling(forms, complaints, len(args) + len(kwargs))
    if one is not None:
        words, argument, value = one
        return TypeError(hinted(words, _hint(argument, value, name, shown)))
    words = f"{name}() received an invalid combination of arguments - got "
    unknown = _unknown_names(shown[0], kwargs) if len(shown) == 1 else ()
    if unknown:
        return TypeError(
            hinted(f"{words}unrecognized keyword arguments: {', '.join(unknown)}", _hint(None, None, name, shown))
        )
    words += f"{_given(args, kwargs)}, but expected "
    _, argument, value = next((found for found in complaints if found[1] is not None), (None, None, None))
    expected = str(shown[0]) if len(shown) == 1 else "one of:" + "".join(f"\n * {form}" for form in shown)
    return TypeError(hinted(words + expected, _hint(argument, value, name, ())))


def _telling(forms, complaints, count):
    """The complaint that tells what is wrong on its own; None where several forms might have been meant."""
    for found in complaints:
        if "failed to unpack" in found[0] or found[0].startswith("expected Tensor as"):
            return found
    plausible = [
        found
        for form, found in zip(forms, complaints)
        if len(forms) == 1 or (not form.hidden and form.required <= count <= len(form.arguments))
    ]
    return plausible[0] if len(plausible) == 1 else None


def _unknown_names(form, kwargs):
    """The names in a call that PyTorch does not find in a form as it is shown: it looks at as many parts, from the last, as the
    call has names, and knows no argument that has a default."""
    if not kwargs:
        return ()
    known = [part.rpartition(" ")[2] for part in str(form)[1:-1].split(", ")[-len(kwargs) :] if "=" not in part]
    return [name for name in _as_hashed(list(kwargs)) if name not in known]


def _given(args, kwargs):
    named = [f"{key}={kind_name(kwargs[key])}" for key in _as_hashed(list(kwargs))]
    parts = [kind_name(value) for value in args] + named
    return f"({', '.join(parts)}{', ' * bool(kwargs and not args)})"


_TABLE_SIZES = (13, 29, 59, 127)  # of the standard library's hash table, which grows when it is full


def _as_hashed(names):
    """Names in the order of PyTorch's table of them: the bucket that was used last comes first, in it the name that came last."""
    found, held = [], 0
    for size in _TABLE_SIZES:
        buckets = {}
        for name in found + names[held:size]:
            buckets.setdefault(_text_hash(name.encode()) % size, []).append(name)
        found, held = [name for bucket in reversed(buckets.values()) for name in reversed(bucket)], size
        if len(names) <= size:
            break
    return found


def _text_hash(data):
    """The hash of a C++ string in GNU's standard library: MurmurHash64A with its seed."""
    factor, mask = 0xC6A4A7935BD1E995, 2**64 - 1
    found = 0xC70F6907 ^ (len(data) * factor & mask)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        word = int.from_bytes(data[start : start + 8], "little") * factor & mask
        found = (found ^ (word ^ word >> 47) * factor & mask) * factor & mask
    if data[whole:]:
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & mask
    found = (found ^ found >> 47) * factor & mask
    return found ^ found >> 47


# ---------------------------------------------------------------- what to do about it


def _hint(argument, value, name, forms):
    """What to do about a wrong argument, or what the call takes."""
    cure = None if argument is None else _cure(argument, value)
    if cure is not None:
        return cure
    return f"the call takes {' or '.join(map(str, forms))}" if forms else f"help({name}) tells what each argument is"


def _cure(argument, value):
    """The way out for a value of a wrong kind, if there is a usual one."""
    name, kind = argument.name, kind_name(value)
    if argument.kind in ("Tensor", "Tensor[]"):
        return tensor_cure(name, value)
    if is_tensor(value):
        if value.numel() != 1:
            return f"{name} is a tensor of shape {list(value.shape)}, where one {argument.word} is taken"
        return f"{name} is a tensor: take its number with {name}.item()"
    if argument.kind in ("int", "index") and isinstance(value, float):
        return f"{name} is {value!r}: write int({name}), or divide with // where it was computed"
    if argument.kind in ("int", "index", "float", "Number") and isinstance(value, str):
        return f"{name} is the text {value!r}: int(...) or float(...) makes a number of it"
    if value is None:
        return f"{name} is None: a function without a return statement gives that"
    if argument.kind == "dtype":
        return f"{name} is a {kind}; dtypes are torch.float32, torch.int64, ..."
    return f"{name} is a {kind}, where PyTorch takes: {argument.word}"


def tensor_cure(name, value):
    """How to make the tensor that an argument has to be out of what was given."""
    kind = kind_name(value)
    if isinstance(value, np.ndarray):
        return f"{name} is a numpy.ndarray; wrap it with torch.from_numpy({name})"
    if isinstance(value, (tuple, list)):
        if any(is_tensor(item) for item in value):
            if isinstance(value, tuple) and len(value) == 2 and (isinstance(value[1], tuple) or is_tensor(value[1])):
                return f"{name} is a tuple: an LSTM returns (output, state): use output, _ = lstm(x)"
            return f"{name} is a {kind} of tensors: index it, or join it with torch.stack({name})"
        return f"{name} is a {kind}; make a tensor of it with torch.tensor({name})"
    if isinstance(value, dict):
        return f"{name} is a dict: index it by one of its keys"
    if isinstance(value, type):
        return f"{name} is the class {value.__name__}, not an object of it: {value.__name__}(...) makes one"
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return f"{name} is a number; torch.tensor({value!r}) makes a tensor of it"
    if value is None:
        return f"{name} is None: a function without a return statement gives that"
    if callable(value) and hasattr(value, "forward"):
        return f"{name} is a module: call it, and pass on what it returns"
    if hasattr(type(value), "__torch_function__"):
        return f"{name} is a {kind} of another library; one of this library's comes from from_dlpack({name}.detach())"
    return f"{name} is a {kind}; tensors are made by torch.tensor(...)"
