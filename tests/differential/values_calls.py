"""Calls to try: those that PyTorch's own operator database holds, their tensors as arrays that either library can take."""

import itertools
import math
import types

import numpy as np

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "uint8", "int8", "int16", "int32", "int64", "bool")
LAYOUTS = ("plain", "plain", "transposed", "sliced", "shifted", "channels_last")
MOST_ELEMENTS = 150_000


class Unusable(Exception):
    """A call that cannot be carried over: a sparse operand, a callable of PyTorch's own, a dtype that neither has."""


class Array:
    """A tensor of a call: its numbers (bfloat16 as float32), its dtype's name, how it lies in memory, what it asks for."""

    def __init__(self, numbers, dtype, layout="plain", requires_grad=False):
        self.numbers, self.dtype, self.layout, self.requires_grad = numbers, dtype, layout, requires_grad

    @property
    def is_floating(self):
        return self.numbers.dtype.kind in "fc"

    def __repr__(self):
        text = np.array2string(self.numbers.ravel(), threshold=24, edgeitems=12, separator=", ", max_line_width=200)
        return f"<{self.dtype} {list(self.numbers.shape)} {self.layout}: {text}>"

    def tensor(self, module):
        """This tensor in a library."""
        numbers, dtype = self.numbers, getattr(module, self.dtype)
        if self.layout == "sliced" and numbers.ndim:
            wide = np.zeros((*numbers.shape[:-1], 2 * numbers.shape[-1] + 1), numbers.dtype)
            wide[..., 1::2] = numbers
            found = module.from_numpy(wide).to(dtype)[..., 1::2]
        elif self.layout == "transposed" and numbers.ndim > 1:
            found = module.from_numpy(np.ascontiguousarray(np.swapaxes(numbers, 0, -1))).to(dtype).transpose(0, -1)
        elif self.layout == "shifted" and numbers.ndim:
            longer = np.concatenate([numbers.ravel()[:1], numbers.ravel()]) if numbers.size else numbers.ravel()
            found = module.from_numpy(longer).to(dtype)[longer.size - numbers.size :].view(numbers.shape)
        elif self.layout == "channels_last" and numbers.ndim == 4:
            found = module.from_numpy(np.array(numbers, order="C")).to(dtype)
            found = found.contiguous(memory_format=module.channels_last)
        else:
            found = module.from_numpy(np.array(numbers, order="C")).to(dtype)
        return found.detach().requires_grad_(True) if self.requires_grad else found


def arrays_in(value):
    """The Arrays of a call's arguments, in order."""
    if isinstance(value, Array):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [array for item in value for array in arrays_in(item)] if isinstance(value, (tuple, list)) else []


def mapped(value, change):
    """Arguments with something else in place of each leaf."""
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if type(value) is tuple:
        return tuple(mapped(item, change) for item in value)
    return change(value)


class Call:
    """An operation's name in the database and the arguments of one call, tensors as Arrays."""

    def __init__(self, info, dtype, arguments, options):
        self.info, self.dtype, self.arguments, self.options = info, dtype, arguments, options

    @property
    def arrays(self):
        return arrays_in([self.arguments, self.options])

    def __repr__(self):
        return f"{label(self.info)} {self.dtype} {self.arguments} {self.options}"


def label(info):
    return info.name + (f"[{info.variant_test_name}]" if info.variant_test_name else "")


def operations():
    """The records of PyTorch's database that can be called under a public name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [info for info in op_db if not info.name.startswith(("ops.", "torch.", "_", "jiterator", "sparse."))]


def _called(function, *arguments, **options):
    """The database's way to call what draws random numbers, without its own seed."""
    return function(*arguments, **options)


def function_of(info, torch, module):
    """The database's function in a library."""
    if isinstance(info.op, types.FunctionType) and info.op.__module__.startswith("torch.testing"):
        if info.op.__closure__ is None:
            names = {**info.op.__globals__, "torch": module, "wrapper_set_seed": _called}
            return types.FunctionType(info.op.__code__, names, "", info.op.__defaults__)
    elif module is torch:
        return info.op
    for start in (module, module.Tensor):
        found = start
        try:
            for part in info.name.split("."):
                found = getattr(found, part)
        except AttributeError:
            continue
        if not isinstance(found, (module.dtype, types.ModuleType)):
            return found
    raise Unusable(info.name)


def _stored(torch, leaf):
    """An argument of the database's call in a form that both libraries can take."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout != torch.strided or leaf.is_quantized or leaf.dtype == torch.complex32:
            raise Unusable("layout")
        plain = leaf.detach().resolve_conj().resolve_neg()
        plain = plain.float() if plain.dtype == torch.bfloat16 else plain
        return Array(plain.contiguous().numpy().copy(), str(leaf.dtype)[6:], requires_grad=leaf.requires_grad)
    if isinstance(leaf, (torch.dtype, torch.memory_format)):
        return leaf
    if leaf is None or leaf is Ellipsis or isinstance(leaf, (int, float, complex, bool, str, torch.Size, slice)):
        return leaf
    raise Unusable(type(leaf).__name__)


def converted(torch, module, leaf):
    """A stored argument as a library takes it."""
    if isinstance(leaf, Array):
        return leaf.tensor(module)
    if module is not torch and isinstance(leaf, (torch.dtype, torch.memory_format)):
        return getattr(module, str(leaf)[6:])
    return tuple(leaf) if isinstance(leaf, torch.Size) else leaf


def sample(torch, info, dtype, choose, most):
    """One of the first ``most`` sample calls of an operation, or None."""
    torch.manual_seed(choose.randrange(1000))
    kind = getattr(torch, dtype)
    tracked = info.supports_autograd and (kind.is_floating_point or kind.is_complex)
    found = list(itertools.islice(info.sample_inputs("cpu", kind, requires_grad=tracked), most))
    if not found:
        return None
    one = choose.choice(found)
    try:
        arguments = mapped([one.input, *one.args], lambda leaf: _stored(torch, leaf))
        return Call(info, dtype, arguments, mapped(dict(one.kwargs), lambda leaf: _stored(torch, leaf)))
    except Unusable:
        return None


def enlarged(call, factor):
    """The call with every length but 0 and 1 multiplied, its numbers repeated; None where that is too much."""

    def larger(leaf):
        if not isinstance(leaf, Array):
            return leaf
        lengths = [length * factor if length > 1 else length for length in leaf.numbers.shape]
        if np.prod(lengths) > MOST_ELEMENTS:
            raise Unusable("size")
        times = [factor if length > 1 else 1 for length in leaf.numbers.shape]
        return Array(np.tile(leaf.numbers, times) if times else leaf.numbers, leaf.dtype, "plain", leaf.requires_grad)

    try:
        found = Call(call.info, call.dtype, mapped(call.arguments, larger), mapped(call.options, larger))
        lengths = itertools.zip_longest(*(array.numbers.shape[::-1] for array in found.arrays), fillvalue=1)
        return found if math.prod(map(max, lengths)) <= 4 * MOST_ELEMENTS else None
    except Unusable:
        return None
