"""Strides of results: for every operation and inputs that lie contiguous, permuted, channels last, sliced or expanded, all of
them or one beside contiguous ones, they are PyTorch's."""

import itertools
import os
import random
import warnings

import pytest

pytest.importorskip("torch")
import rushlight
from opinfo_calls import Call, Skip, known_operations, sampled_calls, torch

SAMPLES = max(1, int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) // 75)  # of each operation, in the sweep over all

# Expanding makes their matrices singular: whether the last pivot is zero or nearly is a matter of rounding.
OF_REGULAR_MATRICES = {
    "linalg.lu_factor", "linalg.inv", "linalg.solve", "linalg.tensorinv", "linalg.tensorsolve", "linalg.matrix_power",
}  # fmt: skip
CRASHES_PYTORCH = {"nn.functional.adaptive_avg_pool3d", "nn.functional.adaptive_max_pool3d", "lu_unpack"}
SOME = {"add", "where", "sort", "gather", "scatter", "tril", "cummax", "linalg.inv", "linalg.solve", "linalg.qr", "index_select",
        "complex", "__getitem__", "cumsum", "clamp", "lerp", "argsort", "linalg.cholesky", "slice_scatter", "unsafe_split", "stack",
        "rsub", "quantile", "ormqr", "nn.functional.batch_norm", "unique"}  # fmt: skip
ENTRIES = [entry for entry in known_operations() if entry.name not in CRASHES_PYTORCH]
LAYOUTS = ("contiguous", "permuted", "rotated", "transposed", "channels last", "sliced", "sliced rows", "expanded",
           "expanded columns")  # fmt: skip


def laid_out(tensor, layout):
    """A tensor of the same values in another layout (expanded: of some of them); None where it has too few dimensions."""
    dims = tensor.dim()
    if layout == "permuted" and dims > 1:
        back = tuple(range(dims))[::-1]
        return tensor.permute(back).contiguous().permute(back)
    if layout == "rotated" and dims > 2:
        return tensor.permute(*range(1, dims), 0).contiguous().permute(dims - 1, *range(dims - 1))
    if layout == "transposed" and dims > 1:
        return tensor.mT.contiguous().mT
    if layout == "channels last" and dims in (4, 5):
        return tensor.contiguous(memory_format=torch.channels_last if dims == 4 else torch.channels_last_3d)
    if layout.startswith("sliced") and dims:
        dim = -1 if layout == "sliced" else 0
        lengths = list(tensor.shape)
        lengths[dim] = 2 * lengths[dim] + 1
        part = tensor.new_zeros(lengths).transpose(0, dim)[1::2].transpose(0, dim)
        return part.copy_(tensor)
    if layout.startswith("expanded") and dims and tensor.numel():
        return tensor.narrow(0 if layout == "expanded" else -1, 0, 1).expand(tensor.shape)
    return None


def with_layout(value, layout, chosen, seen):
    """An argument with the tensor number ``chosen`` (all where None) in that layout."""
    if isinstance(value, torch.Tensor):
        seen.append(value)
        found = laid_out(value, layout) if chosen in (None, len(seen) - 1) else None
        return value if found is None else found
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(with_layout(item, layout, chosen, seen) for item in value)
    return value


def steps_of(value, module):
    """Shape and strides (where there is more than one step) of every tensor in a result."""
    if isinstance(value, module.Tensor):
        steps = tuple(step for length, step in zip(value.shape, value.stride()) if length > 1)
        return [(tuple(value.shape), steps if value.numel() else ())]
    if isinstance(value, (list, tuple)):
        return [found for item in value for found in steps_of(item, module)]
    return []


def strides(call, module):
    return steps_of(call.run(module), module)


def compare(entry, samples, chosen):
    layouts = LAYOUTS[: LAYOUTS.index("expanded")] if entry.name in OF_REGULAR_MATRICES else LAYOUTS
    for call, layout, which in itertools.product(sampled_calls(entry, torch.float32, samples), layouts, chosen):
        seen = []
        args = with_layout(call.args, layout, which, seen)
        if which is not None and (which >= len(seen) or len(seen) == 1):
            continue
        changed = Call(call.name, args, call.kwargs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = strides(changed, torch)
            except (Skip, RuntimeError, IndexError, TypeError, ValueError, AssertionError):
                continue
        assert strides(changed, rushlight) == expected, changed


@pytest.mark.parametrize("name", sorted(SOME))
def test_some_operations(name):
    compare(next(entry for entry in ENTRIES if entry.name == name), 3, (None, 0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", ENTRIES, ids=lambda entry: entry.name + ("." + entry.variant_test_name) * bool(entry.variant_test_name)
)
def test_every_operation(entry):
    compare(entry, SAMPLES, (None, 0, 1, 2))


# ---------------------------------------------------------------- every order of the dimensions


def test_reductions_in_every_order():
    """Over each dimension and each two, with each order of the dimensions in memory: numbers that NumPy adds in one call and
    such that a kernel does."""
    functions = {
        **{name: lambda t, x, dims, keep, name=name: getattr(t, name)(x, dims, keepdim=keep)
           for name in ("sum", "mean", "nansum", "amax", "all", "logsumexp", "var", "std_mean")},
        **{name: lambda t, x, dims, keep, name=name: getattr(t, name)(x, dims[0], keepdim=keep)
           for name in ("prod", "max", "argmin", "median", "mode")},
        **{name: lambda t, x, dims, keep, name=name: getattr(t, name)(x, dim=dims[0])
           for name in ("cumsum", "softmax", "sort", "unique", "trapezoid")},
        "norm": lambda t, x, dims, keep: t.linalg.vector_norm(x, 3, dims, keep),
        "sum_to_size": lambda t, x, dims, keep: x.sum_to_size([1 if d in dims else n for d, n in enumerate(x.shape)]),
        "cosine_similarity": lambda t, x, dims, keep: t.cosine_similarity(x, x, dims[0]),
        "glu": lambda t, x, dims, keep: t.nn.functional.glu(x, dims[0]),
        "count_nonzero": lambda t, x, dims, keep: t.count_nonzero(x, dims),
        "stack": lambda t, x, dims, keep: t.stack([x, x], dims[0]),
        "flip": lambda t, x, dims, keep: x.flip(dims),
        "renorm": lambda t, x, dims, keep: t.renorm(x, 2, dims[0], 0.5),
        "quantile": lambda t, x, dims, keep: t.quantile(x, x.reshape(-1)[:2], dims[0], keep),
    }  # fmt: skip
    draw = random.Random(0)
    for shape, is_expanded in (((4, 2, 6), False), ((4, 2, 6), True), ((40, 30, 8), False), ((2, 4, 2, 6), False)):
        orders = [(3, 0, 2, 1), (0, 2, 3, 1)] if len(shape) == 4 else list(itertools.permutations(range(len(shape))))
        choices = [dims for count in (1, 2) for dims in itertools.combinations(range(len(shape)), count)]
        for order in orders:
            base = torch.rand([shape[axis] for axis in order])
            if is_expanded:
                base = base[:, :1].expand(base.shape)
            x = base.permute([order.index(axis) for axis in range(len(shape))])
            ours = rushlight.from_numpy(x.numpy())
            some = draw.sample([*itertools.product(choices, (False, True))], 4)
            for (name, function), (dims, keep) in itertools.product(functions.items(), some):
                try:
                    expected = steps_of(function(torch, x, dims, keep), torch)
                except RuntimeError:
                    continue
                assert steps_of(function(rushlight, ours, dims, keep), rushlight) == expected, (name, x.stride(), dims)


def drawn(draw, shape, dtype):
    """A tensor whose dimensions lie in some order in memory, dense, with gaps, or one of them expanded."""
    order = list(range(len(shape)))
    if draw.random() < 0.6:
        draw.shuffle(order)
    kind = draw.choice(("dense", "dense", "sliced", "expanded"))
    lengths = [shape[axis] for axis in order]
    base = torch.rand([2 * n for n in lengths] if kind == "sliced" else lengths) * 3 + 1
    if kind == "sliced":
        base = base[tuple(slice(0, n) for n in lengths)]
    made = base.to(dtype).permute([order.index(axis) for axis in range(len(shape))])
    if kind == "expanded":
        dim = draw.randrange(len(shape))
        made = made.narrow(dim, 0, 1).expand(shape)
    return made


ELEMENTWISE = {
    1: ("exp", "neg", "erf", "lgamma", "round", "clone", "zeros_like", "isnan", "i0", "nn.functional.gelu", "nn.functional.logsigmoid",
        "special.multigammaln", "nn.functional.hardtanh"),
    2: ("add", "sub", "mul", "div", "rsub", "maximum", "pow", "atan2", "lt", "remainder", "ldexp", "xlogy", "special.zeta", "float_power",
        "isclose", "clamp_min", "nn.functional.mse_loss", "nn.functional.huber_loss", "nn.functional.hinge_embedding_loss",
        "nn.functional.soft_margin_loss", "nn.functional.binary_cross_entropy_with_logits"),
    3: ("where", "clamp", "lerp", "addcmul"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for names in ELEMENTWISE.values() for name in names])
def test_elementwise_operands_of_all_layouts(name):
    """Broadcast to each other, of one dtype or several."""
    draw = random.Random(name)
    count = next(count for count, names in ELEMENTWISE.items() if name in names)
    options = {"reduction": "none"} if name.endswith(("loss", "logits")) else {"p": 2} if "gammaln" in name else {}
    for _ in range(15 * SAMPLES):
        shape = [draw.choice((2, 3, 5)) if draw.random() < 0.9 else 40 for _ in range(draw.choice((2, 3, 3, 4)))]
        dtypes = [torch.float32] * count
        if draw.random() < 0.3 and name != "ldexp":
            dtypes = [draw.choice((torch.float32, torch.float16, torch.int64)) for _ in range(count)]
        args = []
        for dtype in dtypes:
            lengths = shape[draw.randrange(len(shape)) :] if count > 1 and draw.random() < 0.3 else shape
            args.append(drawn(draw, lengths, dtype))
        if name == "where":
            args[0] = args[0] > 2
        call = Call(name, tuple(args), options)
        try:
            expected = strides(call, torch)
        except (RuntimeError, ValueError, TypeError):
            continue
        assert strides(call, rushlight) == expected, call


@pytest.mark.parametrize("number", [2, 1.5])
def test_a_number_before_the_tensor(number):
    """Powers of numbers lie row by row, all else lies as the tensor does."""
    for layout in ("permuted", "rotated", "expanded"):
        x = laid_out(torch.rand(4, 3, 5) + 1, layout)
        ours = rushlight.from_numpy(x.numpy())
        for name in ("__rpow__", "__rsub__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__radd__"):
            expected = steps_of(getattr(x, name)(number), torch)
            assert steps_of(getattr(ours, name)(number), rushlight) == expected, (name, layout)


@pytest.mark.parametrize("size", [8, 120])
@pytest.mark.parametrize(
    "layouts", [("permuted", None), (None, "permuted"), ("rotated", "permuted"), ("expanded", "permuted")]
)
def test_mixed_layouts_small_and_large(size, layouts):
    """Both tiers: NumPy's and the kernels'."""
    values = [torch.rand(4, size, size), torch.rand(4, size, size)]
    args = tuple(v if layout is None else laid_out(v, layout) for v, layout in zip(values, layouts))
    for name in ("add", "mul", "div", "maximum", "atan2", "lt", "hypot", "rsub"):
        call = Call(name, args, {})
        assert strides(call, rushlight) == strides(call, torch), name
