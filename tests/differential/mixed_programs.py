"""Random programs on tensors of several dtypes: views, in-place writes, promotions, conversions, gradients."""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from explained import unexplained
from libraries import TOLERANCE, Raised, array_of, attempt, carried, difference, is_fault, name_of

import rushlight as rl

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")
FLOATS = DTYPES[:4]
SIZES = ((2, 3), (3, 1), (1, 4), (5,), (), (70, 40), (4, 64, 20), (2, 0))
MOST = 10  # tensors that a program goes on with
LARGEST = 20_000  # elements of them
EXPLAINED = "explained"  # what a step tells where libraries differ as they may: the program ends there


def _binary(name):
    return lambda t, r, a, b: getattr(t, name)(a, b)


def _unary(name):
    return lambda t, r, a, b: getattr(t, name)(a)


def _written(name):
    return lambda t, r, a, b: getattr(a, name)(b)


def _dim(r, a):
    return r.randrange(a.ndim) if a.ndim else 0


def _part(r, a):
    """A random key of slices and numbers."""
    keys = []
    for size in a.shape:
        first = r.randrange(size) if size else 0
        keys.append(r.choice((slice(None), slice(first, None), slice(None, None, 2), slice(None, first), first)))
    return tuple(keys[: r.randint(0, len(keys))])


def _number(r):
    return r.choice((2, -1, 0.5, True, 3, 0, 1.5, -0.25, 1j))


def _write_part(t, r, a, b):
    a[_part(r, a)] = b


def _write_number(t, r, a, b):
    a[_part(r, a)] = _number(r)


def _write_mask(t, r, a, b):
    a[a.real > 0 if a.is_complex() else a > 0] = _number(r)


def _rows(t, r, a, b):
    return a[t.tensor([r.randrange(a.shape[0]) for _ in range(3)])]


def _write_rows(t, r, a, b):
    a[t.tensor([0, a.shape[0] - 1])] = b


NUMBERS = ("add", "sub", "mul", "true_divide", "eq", "lt", "pow", "maximum", "remainder", "floor_divide")
STEPS = {
    **{
        name: _binary(name)
        for name in ["add", "sub", "mul", "true_divide", "eq", "ne", "lt", "ge", "maximum", "minimum", "fmax", "pow", "remainder", "fmod", "floor_divide", "logical_and", "logical_xor", "bitwise_and", "bitwise_or", "atan2", "hypot", "xlogy", "copysign", "nextafter", "ldexp", "gcd", "heaviside"]
    },
    **{
        name: _unary(name)
        for name in ["neg", "abs", "sqrt", "exp", "sin", "tanh", "sigmoid", "square", "floor", "round", "trunc", "sign", "isnan", "isfinite", "logical_not", "relu", "log1p", "rsqrt", "erf", "sum", "mean", "prod", "amax", "argmax", "any", "all", "cumsum", "softplus", "real", "expm1", "reciprocal", "frac", "angle", "std", "nansum"]
    },
    **{name: _written(name) for name in ["add_", "sub_", "mul_", "div_", "copy_", "eq_", "pow_", "logical_or_", "atan2_", "fmod_"]},
    "number": lambda t, r, a, b: getattr(t, r.choice(NUMBERS))(a, _number(r)),
    "number_first": lambda t, r, a, b: r.choice((lambda n: n - a, lambda n: n / a, lambda n: n**a, lambda n: n * a))(
        _number(r)
    ),
    "number_": lambda t, r, a, b: getattr(a, r.choice(("add_", "mul_", "sub_", "div_", "pow_", "fill_")))(_number(r)),
    "conj": lambda t, r, a, b: a.conj(),
    "alpha": lambda t, r, a, b: t.add(a, b, alpha=r.choice((2, 0.5, -1))),
    "addcmul": lambda t, r, a, b: t.addcmul(a, b, b, value=r.choice((1, 2, 0.5))),
    "lerp": lambda t, r, a, b: t.lerp(a, b, 0.25),
    "clamp": lambda t, r, a, b: a.clamp(*r.choice(((-1, 1), (0, None), (None, 0.5), (-0.5, 2)))),
    "clamp_": lambda t, r, a, b: a.clamp_(*r.choice(((-1, 1), (0, None), (None, 0.5)))),
    "where": lambda t, r, a, b: t.where(a.to(t.bool), a, b),
    "where_number": lambda t, r, a, b: t.where(b.to(t.bool), a, _number(r)),
    "to": lambda t, r, a, b: a.to(getattr(t, r.choice(DTYPES))),
    "type_as": lambda t, r, a, b: a.type_as(b),
    "sum_dim": lambda t, r, a, b: a.sum(_dim(r, a), keepdim=r.random() < 0.5),
    "mean_dim": lambda t, r, a, b: a.mean(_dim(r, a), dtype=r.choice((None, t.float64, t.float32))),
    "max_dim": lambda t, r, a, b: a.max(_dim(r, a)).values,
    "argsort": lambda t, r, a, b: a.argsort(dim=_dim(r, a), stable=True),
    "sort": lambda t, r, a, b: a.sort(dim=_dim(r, a), stable=True),
    "cumsum_dim": lambda t, r, a, b: a.cumsum(_dim(r, a)),
    "cat": lambda t, r, a, b: t.cat([a, b], _dim(r, a)),
    "stack": lambda t, r, a, b: t.stack([a, a], _dim(r, a)),
    "matmul": lambda t, r, a, b: a @ b.mT if a.ndim > 1 and b.ndim > 1 else a @ a,
    "softmax": lambda t, r, a, b: a.softmax(_dim(r, a)),
    "norm": lambda t, r, a, b: t.linalg.vector_norm(a),
    "outer": lambda t, r, a, b: t.outer(a.flatten()[:9], b.flatten()[:9]),
    "masked_fill": lambda t, r, a, b: a.masked_fill(a.to(t.bool), _number(r)),
    "masked_fill_": lambda t, r, a, b: a.masked_fill_(b.to(t.bool), _number(r)),
    "part": lambda t, r, a, b: a[_part(r, a)],
    "rows": _rows,
    "write_part": _write_part,
    "write_number": _write_number,
    "write_mask": _write_mask,
    "write_rows": _write_rows,
    "index_add": lambda t, r, a, b: a.index_add(0, t.tensor([0, 0]), b[:2]),
    "index_add_": lambda t, r, a, b: a.index_add_(0, t.tensor([a.shape[0] - 1]), b[:1]),
    "gather": lambda t, r, a, b: a.gather(0, t.zeros([1] * a.ndim, dtype=t.int64)),
    "scatter_add_": lambda t, r, a, b: a.scatter_add_(0, t.zeros_like(b, dtype=t.int64), b),
    "transpose": lambda t, r, a, b: a.transpose(0, -1),
    "flatten": lambda t, r, a, b: a.flatten(),
    "reshape": lambda t, r, a, b: a.reshape(-1, 2),
    "expand": lambda t, r, a, b: a.expand(2, *a.shape),
    "unsqueeze": lambda t, r, a, b: a.unsqueeze(r.randint(0, a.ndim)),
    "squeeze": lambda t, r, a, b: a.squeeze(),
    "flip": lambda t, r, a, b: a.flip(_dim(r, a)),
    "view": lambda t, r, a, b: a.view(-1),
    "view_dtype": lambda t, r, a, b: a.view(getattr(t, r.choice(("int32", "float32", "uint8", "int16")))),
    "clone": lambda t, r, a, b: a.clone(),
    "contiguous": lambda t, r, a, b: a.contiguous(),
    "detach": lambda t, r, a, b: a.detach(),
    "requires_grad_": lambda t, r, a, b: a.requires_grad_(),
    "new_zeros": lambda t, r, a, b: a.new_zeros(2, 3),
    "item": lambda t, r, a, b: a.flatten()[:1].sum().item(),
    "tolist": lambda t, r, a, b: a.flatten()[:3].tolist(),
}  # fmt: skip
# On operands that the libraries agree on to some digits alone, these jump.
_JUMPS = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "ge",
        "floor",
        "round",
        "trunc",
        "sign",
        "isnan",
        "isfinite",
        "remainder",
        "fmod",
        "floor_divide",
        "argmax",
        "argsort",
        "sort",
        "max_dim",
        "relu",
        "frac",
        "where",
        "masked_fill",
        "masked_fill_",
        "write_mask",
        "to",
        "type_as",
        "view_dtype",
        "copysign",
        "nextafter",
        "heaviside",
        "logical_not",
        "any",
        "all",
        "logical_and",
        "logical_xor",
        "logical_or_",
        "eq_",
        "fmod_",
        "fmax",
        "maximum",
        "minimum",
        "amax",
        "clamp",
        "clamp_",
        "number",
        "number_",
        "pow",
        "pow_",
        "where_number",
        "item",
        "tolist",
        "angle",
        "write_part",
        "write_rows",
        "copy_",
        "rsqrt",
        "log1p",
        "reciprocal",
        "true_divide",
        "div_",
        "atan2",
        "atan2_",
    ]
)
# NaN, infinities and numbers out of range as integers: C leaves them open.
_TO_WHOLE = frozenset(
    ["to", "type_as", "copy_", "write_part", "write_rows", "write_mask", "write_number", "index_add_", "scatter_add_"]
)
_WRITES = frozenset(name for name in STEPS if name.endswith("_") or name.startswith("write"))


# Whose result on a large operand says little where its last digits are not known.
_SPREADING = frozenset(["sin", "cos", "exp", "expm1"])


class Pair:
    """A tensor of each library; ``exact`` where their elements are the same bits, ``loose`` times the tolerance apart if not."""

    def __init__(self, ours, theirs, exact=True, loose=1):
        self.ours, self.theirs, self.exact, self.loose = ours, theirs, exact, loose


def start(random):
    """The first tensors: some dtypes and sizes, some that require grad."""
    made = []
    for _ in range(4):
        dtype, size = getattr(torch, random.choice(DTYPES)), random.choice(SIZES)
        generator = torch.Generator().manual_seed(random.randrange(1000))
        tensor = torch.randn(size, generator=generator).mul(2).to(torch.int8).to(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            tensor = tensor + torch.rand(size, generator=generator).to(dtype)
        if random.random() < 0.3 and tensor.ndim > 1:
            tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1).data  # no view, as ours is none
        if dtype.is_floating_point and random.random() < 0.4:
            tensor.requires_grad_()
        made.append(Pair(carried(tensor), tensor))
    return made


def _open(name, a, b):
    """Whether what PyTorch gives for a step is left open: operands of a write that overlap, NaN as an integer."""
    a, b = a.theirs.detach(), b.theirs.detach()
    shared = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    if name in _WRITES and shared:
        return True
    if name == "view_dtype" and a.isnan().any():  # there are many NaN
        return True
    if name in _TO_WHOLE and any(t.numel() and not (t.abs() < 100).all() for t in (a.cfloat(), b.cfloat())):
        return True
    if name in ("remainder", "fmod", "floor_divide", "pow", "number", "number_first", "fmod_", "pow_", "gcd", "ldexp"):
        return not (a.dtype.is_floating_point and b.dtype.is_floating_point)  # by zero, or to a negative power
    return False


def _spreads(name, a):
    """Whether what the libraries do not agree on in ``a`` becomes much in the result."""
    return name in _SPREADING and not a.exact and bool((a.theirs.detach().abs() > 20).any())


def _is_seen_otherwise(pairs, a):
    """Whether bits of ``a``, which was written and may differ in NaN and last digits, are seen as another dtype, too."""
    place, dtype = a.theirs.untyped_storage().data_ptr(), a.theirs.dtype
    return any(p.theirs.dtype != dtype and p.theirs.untyped_storage().data_ptr() == place for p in pairs) and (
        not _same_bits(a.ours, a.theirs) or bool(a.theirs.detach().isnan().any())
    )


def step(random, pairs):
    """One random step: (its name, in what the libraries differ, or None); the results join ``pairs``."""
    name = random.choice(list(STEPS))
    a, b = random.choice(pairs), random.choice(pairs)
    if _open(name, a, b) or (name in _JUMPS and not (a.exact and b.exact)) or _spreads(name, a):
        return name, None
    seed = random.randrange(1 << 30)
    results = []
    for library, operands in ((rl, (a.ours, b.ours)), (torch, (a.theirs, b.theirs))):
        results.append(attempt(STEPS[name], library, Random(seed), *operands))
    if getattr(results[1], "dtype", None) == torch.complex32:  # hardly anything takes it
        return name, difference(*results)
    if is_fault(results[1]):  # what it left undone is unknown
        return name, EXPLAINED
    shown = f"{name}({_brief(a.theirs)}, {_brief(b.theirs)}, seed {seed})"
    if name in _WRITES and _is_seen_otherwise(pairs, a):
        return name, EXPLAINED
    loose = _looseness((a, b), results[1])
    if name in _WRITES:
        a.loose = max(a.loose, _looseness((a, b), a.theirs))
    for pair, times in ((results, loose), ((a.ours, a.theirs), a.loose), ((b.ours, b.theirs), b.loose)):
        told = difference(*pair, 4 * times)
        if told:
            operation = "program" if told.startswith("requires_grad") else name
            return shown, unexplained(told, operation, (a.theirs, b.theirs, a.ours), *results) or EXPLAINED
    if name in _WRITES:
        a.exact = a.exact and b.exact and _same_bits(a.ours, a.theirs)
        for each in pairs:
            each.exact = each.exact and _same_bits(each.ours, each.theirs)
    if isinstance(results[1], Raised):
        return shown, None
    found = [result if isinstance(result, (tuple, list)) else (result,) for result in results]
    for ours, theirs in zip(*found):
        if isinstance(theirs, torch.Tensor) and theirs.numel() <= LARGEST:
            exact = _same_bits(ours, theirs)
            if not exact and not theirs.requires_grad and not _shares(theirs, pairs):
                ours, exact = carried(theirs), True
            pairs.append(Pair(ours, theirs, exact, 1 if exact else loose))
    return shown, None


def _shares(tensor, pairs):
    """Whether a tensor of PyTorch looks into the memory of one of the ``pairs``."""
    place = tensor.untyped_storage().data_ptr()
    return any(pair.theirs.untyped_storage().data_ptr() == place for pair in pairs)


def _looseness(operands, result):
    """How much coarser operands that the libraries do not agree on to the bit are than the dtype of what they become."""
    own = TOLERANCE.get(name_of(getattr(result, "dtype", None)))
    inexact = [TOLERANCE.get(name_of(pair.theirs.dtype), 0) * pair.loose for pair in operands if not pair.exact]
    return max(1, *[each / own for each in inexact]) if own and inexact else 1


def _brief(tensor):
    tracked = ", tracked" if tensor.requires_grad else ""
    return f"<{str(tensor.dtype)[6:]} {list(tensor.shape)} strides {list(tensor.stride())}{tracked}>"


def _same_bits(ours, theirs):
    found, expected = array_of(ours), array_of(theirs)
    if found.dtype.kind not in "fc":
        return np.array_equal(found, expected)
    zeros = [np.signbit(part) & (part == 0) for a in (found, expected) for part in (a.real, a.imag)]
    same = np.array_equal(zeros[0], zeros[2]) and np.array_equal(zeros[1], zeros[3])
    return same and np.array_equal(found, expected, equal_nan=True)


def gradients(library, leaves, ends):
    """The gradients of ``leaves`` from all real ``ends`` that need one; what that raised."""
    total = sum(t.double().sum() for t in ends if t.requires_grad and not t.is_complex())
    return library.autograd.grad(total, leaves, allow_unused=True)


def _gradients_difference(ours, theirs, tracked):
    """In what gradients differ; they are as precise as the coarsest tensor that they passed through."""
    if isinstance(ours, Raised) or isinstance(theirs, Raised):
        return difference(ours, theirs)
    coarsest = max(TOLERANCE[name] for name in tracked if name in TOLERANCE)
    for place, (mine, other) in enumerate(zip(ours, theirs)):
        own = 1 if other is None else TOLERANCE[name_of(other.dtype)]
        told = difference(mine, other, max(50, 4 * coarsest / own))
        if told:
            return f"[{place}] {told}"
    return None


def program(seed, steps=12):
    """Run a program with both libraries: (its steps, in what they differ, or None)."""
    random = Random(seed)
    pairs, done = start(random), []
    leaves = [pair for pair in pairs if pair.theirs.requires_grad]
    tracked = set()  # names of the dtypes that gradients pass through
    for _ in range(steps):
        shown, told = step(random, pairs)
        done.append(shown)
        if told:
            return done, None if told is EXPLAINED else told
        tracked.update(name_of(pair.theirs.dtype) for pair in pairs if pair.theirs.requires_grad)
        del pairs[4 : max(4, len(pairs) - MOST + 4)]
    for pair in pairs:
        told = difference(pair.ours, pair.theirs, 8 * pair.loose)
        if told:
            return done, unexplained(f"at the end: {_brief(pair.theirs)} {told}", "program", (pair.theirs,))
    if leaves and any(pair.theirs.requires_grad for pair in pairs):
        ours = attempt(gradients, rl, [pair.ours for pair in leaves], [pair.ours for pair in pairs])
        theirs = attempt(gradients, torch, [pair.theirs for pair in leaves], [pair.theirs for pair in pairs])
        told = _gradients_difference(ours, theirs, tracked)
        name = "program with float16" if "float16" in tracked else "program"
        return done, unexplained(told and f"gradients: {told}", name, [pair.theirs for pair in leaves])
    return done, None
