"""Random calls: the samples of PyTorch's operator tests (OpInfo, in its wheel) with other dtypes and layouts."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

import torch
from explained import unexplained
from libraries import attempt, carried, difference
from torch.testing._internal.common_methods_invocations import op_db

import rushlight as rl

DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)
MOST_SAMPLES = 12  # of an operation are drawn from
VALUES = 4  # sets of numbers that its tensors hold
SMALL = 4096  # elements of an operand at most
# Not deterministic, not public, of memory that nobody wrote, or of a module that is not there.
_LEFT_OUT = re.compile(
    r"empty|bernoulli|multinomial|normal|uniform|cauchy|exponential|geometric|rand|dropout|rrelu|svd_lowrank|pca_lowrank|"
    r"fractional_max_pool|gumbel|^_|\._|^jiterator|^torch\.|^sparse|nested|resize|segment_reduce|native_|to_sparse|"
    r"linear_cross_entropy|^slice$|grid_sampler|_upsample|data_backward|with_indices_backward|^normal|_unsafe|set_|view_as_real"
)


class Call(NamedTuple):
    """One call of the function with the dotted ``name``; ``args`` and ``kwargs`` hold PyTorch's tensors."""

    name: str
    args: tuple
    kwargs: dict

    def __str__(self):
        keywords = [f"{name}={_shown(value)}" for name, value in self.kwargs.items()]
        return f"{self.name}({', '.join([*map(_shown, self.args), *keywords])})"


def _shown(value):
    if isinstance(value, torch.Tensor):
        tracked = ", requires_grad" if value.requires_grad else ""
        return f"<{str(value.dtype)[6:]} {list(value.shape)} strides {list(value.stride())}{tracked}>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def found_in(library, name):
    """The function of that dotted name, or the method of Tensor; None where it is neither."""
    place = library
    for part in name.split("."):
        place = getattr(place, part, None)
        if place is None:
            return getattr(library.Tensor, name, None)
    return place


@functools.cache
def operations():
    """``{name: OpInfo}`` of what can be compared by name."""
    return {
        info.name: info
        for info in op_db
        if not _LEFT_OUT.search(info.name)
        and info.dtypes  # none where the machine lacks what the operation needs
        and callable(found_in(torch, info.name))
        and callable(found_in(rl, info.name))
    }


@functools.lru_cache(maxsize=512 * VALUES)
def samples_of(name, values):
    """Some calls of an operation that PyTorch takes, in float32 or the first dtype that it has."""
    torch.manual_seed(values)
    info = operations()[name]
    dtypes = info.dtypes
    dtype = torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]
    tracked = info.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    found = []
    for number, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=tracked)):
        if number == MOST_SAMPLES:
            break
        call = Call(name, (sample.input, *sample.args), dict(sample.kwargs))
        if _drops(call):
            continue  # random numbers
        if all(type(each) in _CARRIED or isinstance(each, torch.Tensor) for each in _leaves((call.args, call.kwargs))):
            found.append(call)
    return found


def _drops(call):
    """Whether the call leaves out elements at random."""
    function = found_in(torch, call.name)
    if "dropout_p" in call.kwargs:
        return bool(call.kwargs["dropout_p"])
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    return "dropout_p" in names and bool(dict(zip(names, call.args)).get("dropout_p"))


_CARRIED = {bool, int, float, complex, str, type(None), torch.dtype, torch.memory_format, torch.layout, torch.device}


def _leaves(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


def laid_out(random, tensor):
    """The elements of ``tensor`` in another layout."""
    kind = random.choice(("plain", "plain", "transposed", "sliced", "offset", "channels_last", "expanded"))
    if kind == "transposed" and tensor.ndim > 1:
        a, b = random.sample(range(tensor.ndim), 2)
        return tensor.transpose(a, b).contiguous().transpose(a, b)
    if kind == "sliced" and tensor.ndim:
        dim = random.randrange(tensor.ndim)
        wide = torch.repeat_interleave(tensor, 2, dim)
        return wide.index_select(dim, torch.arange(wide.shape[dim])).as_strided(
            tensor.shape, [s * (1 + (d == dim)) for d, s in enumerate(wide.stride())]
        )
    if kind == "offset" and tensor.numel():
        flat = torch.cat([tensor.reshape(-1)[:1], tensor.reshape(-1)])
        return flat[1:].view(tensor.shape)
    if kind == "channels_last" and tensor.ndim in (4, 5):
        return tensor.contiguous(memory_format=torch.channels_last if tensor.ndim == 4 else torch.channels_last_3d)
    if kind == "expanded" and tensor.ndim and tensor.shape[0]:
        return tensor[:1].expand(tensor.shape)
    return tensor


def varied(random, value, dtypes, layouts=True):
    """``value`` with its tensors in other dtypes (one for each call of ``dtypes``) and, with ``layouts``, other layouts."""
    if isinstance(value, torch.Tensor):
        if value.numel() > SMALL or value.layout != torch.strided:
            return value
        dtype = dtypes(value)
        changed = value.detach().real if value.is_complex() and not dtype.is_complex else value.detach()
        changed = (
            laid_out(random, changed.to(dtype))
            if layouts
            else changed.to(dtype).clone(memory_format=torch.contiguous_format)
        )
        tracked = value.requires_grad and (dtype.is_floating_point or dtype.is_complex)
        return changed.detach().requires_grad_(tracked)
    if isinstance(value, (list, tuple)):
        return (
            type(value)(varied(random, each, dtypes, layouts) for each in value)
            if type(value) in (list, tuple)
            else value
        )
    if isinstance(value, dict):
        return {key: varied(random, each, dtypes, layouts) for key, each in value.items()}
    return value


def random_call(random, name=None):
    """A call of an operation: all tensors of one dtype, some in others, or each in one of its own."""
    name = name or random.choice(list(operations()))
    samples = samples_of(name, random.randrange(VALUES))
    if not samples:
        return None
    call = random.choice(samples)
    way = random.choice(("one", "some", "each"))
    common = random.choice(DTYPES)

    def dtypes(tensor):
        if way == "one":
            return common if tensor.is_floating_point() else tensor.dtype
        if way == "some":
            return random.choice(DTYPES) if random.random() < 0.4 else tensor.dtype
        return random.choice(DTYPES)

    # What lies between, before and behind the elements is not carried over, and these read it, or where they begin.
    layouts = not name.startswith(("as_strided", "view_as_complex"))
    return Call(call.name, varied(random, call.args, dtypes, layouts), varied(random, call.kwargs, dtypes, layouts))


def compared(call):
    """In what the two libraries differ on a call and its first gradients, in words; None where they agree."""
    ours, theirs = Call(call.name, carried(call.args), carried(call.kwargs)), call
    found = attempt(found_in(rl, call.name), *ours.args, **ours.kwargs)
    expected = attempt(found_in(torch, call.name), *theirs.args, **theirs.kwargs)
    told, gradients = difference(found, expected), ()
    if told is None:
        gradients = _gradients(rl, ours, found), _gradients(torch, theirs, expected)
        told = difference(*gradients, 20)
        told = told and f"gradient {told}"
    operands = (*call.args, *call.kwargs.values())
    exact = functools.partial(_exact_gradients, call)
    return unexplained(told, call.name, operands, found, expected, call.kwargs, gradients, exact)


def _exact_gradients(call, integers=False):
    """PyTorch's gradients of a call on the same numbers in double precision, without gaps in memory; ``integers``: those, too."""

    def wide(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(wide, value))
        if not isinstance(value, torch.Tensor):
            return value
        dtype = value.dtype
        if dtype.is_complex or dtype.is_floating_point or integers:
            dtype = torch.complex128 if dtype.is_complex else torch.float64
        copied = value.detach().to(dtype).clone(memory_format=torch.contiguous_format)
        return copied.requires_grad_(value.requires_grad)

    doubled = Call(call.name, tuple(map(wide, call.args)), {name: wide(value) for name, value in call.kwargs.items()})
    return _gradients(torch, doubled, attempt(found_in(torch, call.name), *doubled.args, **doubled.kwargs))


def _gradients(library, call, result):
    """The gradients of the tracked operands, from one weight for each element of the results; what that raised."""
    leaves = [t for t in _leaves((call.args, call.kwargs)) if isinstance(t, library.Tensor) and t.requires_grad]
    results = [t for t in _leaves(result) if isinstance(t, library.Tensor) and t.requires_grad]
    if not leaves or not results:
        return None
    weights = [(library.arange(1, t.numel() + 1).reshape(t.shape) % 7 - 3).to(t.dtype) for t in results]
    weights = [weight * (1 + 0.5j) if weight.is_complex() else weight for weight in weights]
    return attempt(library.autograd.grad, results, leaves, weights, allow_unused=True)
