"""Calls of public functions, from PyTorch's own lists of samples, that both libraries can run: for sweeps over all of them."""

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations", exc_type=ImportError).op_db

# Whose results are no function of the arguments, or that look into the process.
_UNREPEATABLE = ("empty", "new_empty", "resize", "_segment", "torch._", "torch.ops", "jiterator", "sparse", "to_sparse", "item", "uniform",
                 "normal", "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "rand", "multinomial", "dropout",
                 "fractional", "svd_lowrank", "pca_lowrank", "rrelu", "gumbel")  # fmt: skip


class Skip(Exception):
    """An argument that cannot be carried over."""


class Call:
    """One function under its public name, with arguments as PyTorch's tensors; ``run`` calls either library's."""

    def __init__(self, name, args, kwargs):
        self.name, self.args, self.kwargs = name, args, kwargs

    def function(self, module):
        """The function of that name in ``module``; where there is none, the method."""
        return found_at(module, self.name) or found_at(module.Tensor, self.name)

    def arguments(self, module, tracked=False):
        """Positional and named arguments as ``module``'s own, the floating tensors among them leaves where ``tracked``."""
        made = {}
        return carried(self.args, module, tracked, made), carried(self.kwargs, module, tracked, made)

    def run(self, module):
        args, kwargs = self.arguments(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.function(module)(*args, **kwargs)

    def changed(self, where, value):
        """The same call with another value at ``where``: a position, or a name."""
        if isinstance(where, int):
            return Call(self.name, (*self.args[:where], value, *self.args[where + 1 :]), self.kwargs)
        return Call(self.name, self.args, {**self.kwargs, where: value})

    def __repr__(self):
        named = [f"{key}={described(value)}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join([*map(described, self.args), *named])})"


def found_at(module, dotted):
    """What stands at a dotted name below ``module``, or None."""
    for part in dotted.split("."):
        module = getattr(module, part, None)
    return module


def described(value):
    """An argument in a few characters."""
    if isinstance(value, torch.Tensor):
        plain = value.is_contiguous()
        return f"{str(value.dtype)[6:]}{list(value.shape)}{'' if plain else '/' + str(list(value.stride()))}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__[0] + "(" + ", ".join(map(described, value)) + ")"
    return repr(value)


def carried(value, module, tracked=False, made=None):
    """``value`` with ``module``'s tensors, dtypes, ... in place of PyTorch's; strides and shared memory stay."""
    made = {} if made is None else made
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            tensor = carried_tensor(value, module)
            made[id(value)] = tensor.requires_grad_() if tracked and value.dtype.is_floating_point else tensor
        return made[id(value)]
    if isinstance(value, (list, tuple)):
        items = [carried(item, module, tracked, made) for item in value]
        return module.Size(items) if isinstance(value, torch.Size) else type(value)(items)
    if isinstance(value, dict):
        return {key: carried(item, module, tracked, made) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*carried((value.start, value.stop, value.step), module, tracked, made))
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return getattr(module, str(value)[6:])
    if isinstance(value, torch.device):
        return str(value)
    if value is None or value is Ellipsis or isinstance(value, (int, float, complex, str, np.generic)):
        return value
    raise Skip(type(value).__name__)


def carried_tensor(value, module):
    """A copy of one tensor in ``module``, with its strides."""
    if value.layout != torch.strided or value.dtype not in _NUMPY_DTYPES:
        raise Skip(value.layout)
    value = value.detach().resolve_conj().resolve_neg()
    size = value.untyped_storage().nbytes() // value.element_size()
    array = value.as_strided((size,), (1,), 0).view(_NUMPY_DTYPES[value.dtype]).numpy().copy()
    tensor = module.from_numpy(array).view(getattr(module, str(value.dtype)[6:]))
    return (
        tensor.as_strided(tuple(value.shape), value.stride(), value.storage_offset())
        if size
        else tensor.reshape(tuple(value.shape))
    )


_NUMPY_DTYPES = {
    dtype: torch.int16 if dtype == torch.bfloat16 else dtype
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.uint8,
                  torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
}  # fmt: skip


def known_operations():
    """PyTorch's entries whose function both libraries have under its name."""
    for entry in op_db:
        if entry.name.startswith(_UNREPEATABLE) or any(
            part in entry.name for part in ("fractional", "dropout", "rand")
        ):
            continue
        call = Call(entry.name, (), {})
        if call.function(torch) is not None and call.function(rushlight) is not None:
            yield entry


def sampled_calls(entry, dtype, limit):
    """Up to ``limit`` calls of an entry's samples with tensors of ``dtype``, spread over all of them."""
    if dtype not in entry.supported_dtypes("cpu"):
        return
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = entry.sample_inputs("cpu", dtype, requires_grad=False, set_seed=False)  # one seed for all is faster
        samples = [next(samples)] if limit == 1 else list(samples)
    step = max(1, len(samples) // limit)
    for sample in samples[::step][:limit]:
        yield Call(entry.name, (sample.input, *sample.args), sample.kwargs)


def error_calls(entry):
    """The calls of an entry that PyTorch refuses, as it lists them itself."""
    if entry.error_inputs_func is None:
        return
    torch.manual_seed(0)
    for error in entry.error_inputs("cpu", set_seed=False):
        sample = error.sample_input
        yield Call(entry.name, (sample.input, *sample.args), sample.kwargs)


def outcome(call, module):
    """``(type, first line)`` of what a call raises, or ``("fine", ...)``."""
    try:
        call.run(module)
    except Skip:
        raise
    except Exception as error:
        return type(error).__name__, first_line(error)
    return "fine", ""


def first_line(error):
    """The first line of a message, without the C++ file name that PyTorch adds to some."""
    return (str(error).splitlines() or [""])[0].split(" (Triggered internally")[0].rstrip()
