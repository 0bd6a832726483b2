"""Random calls of every family of kernels: a function for each, which takes a `Draw` of operands and calls PyTorch's names."""

import math

from guarded_operands import FLOATS, NUMBERS

import rushlight as rl
from rushlight.ops import table
from rushlight.ops.table import functions

F = rl.nn.functional
FAMILIES = {}
REAL = tuple(dtype for dtype in NUMBERS if "complex" not in dtype)
ELEMENTWISE = [
    op for op in table.TABLE.values() if op.kind in (table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED)
]


def family(function):
    """Register a function under its name."""
    FAMILIES[function.__name__] = function
    return function


def backward(d, *results):
    """Send a gradient of any layout back from each result that has a history."""
    for result in results:
        if result.requires_grad and (result.is_floating_point() or result.is_complex()):
            dtype = str(result.dtype).split(".")[-1]
            result.backward(d.tensor(*result.shape, dtype=dtype), retain_graph=True)


def tensors_of(found):
    return [found] if isinstance(found, rl.Tensor) else [x for x in found if isinstance(x, rl.Tensor)]


# ---------------------------------------------------------------- element by element


@family
def elementwise(d):
    op = d.random.choice(ELEMENTWISE)
    arguments = [a for a in op.parsed.arguments if a.is_tensor] if hasattr(op, "parsed") else None
    function = getattr(functions, op.name)
    if arguments is None:
        from rushlight.tensor.compute import schema_of

        arguments = [a for a in schema_of(op).arguments if a.is_tensor]
    shape, dtype = d.shape(d.integer(0, 4)), d.random.choice(NUMBERS)
    operands = [d.tensor(*shape, dtype=dtype, grad=True)]
    for _ in arguments[1:]:
        shape_here = d.broadcast_with(shape) if d.chance(0.5) else shape
        operands.append(d.tensor(*shape_here, dtype=dtype if d.chance(0.8) else None, grad=True))
    if op.kind == table.BINARY and d.chance(0.2):
        operands[1] = d.of(2, 0.5, -1, 3.7)
    backward(d, *tensors_of(function(*operands)))


@family
def elementwise_in_place(d):
    op = d.random.choice(
        [op for op in ELEMENTWISE if hasattr(rl.Tensor, op.name + "_") and op.kind in (table.UNARY, table.BINARY)]
    )
    shape, dtype = d.shape(d.integer(0, 4)), d.random.choice(NUMBERS)
    target = d.apart(*shape, dtype=dtype)
    others = [] if op.kind == table.UNARY else [d.tensor(*d.broadcast_with(shape), dtype=dtype)]
    getattr(target, op.name + "_")(*others)


@family
def elementwise_out(d):
    name = d.of("add", "mul", "exp", "sqrt", "maximum", "eq", "pow", "sin", "where", "clamp", "lerp")
    shape, dtype = d.shape(d.integer(0, 4)), d.random.choice(FLOATS)
    x, y, out = (
        d.tensor(*shape, dtype=dtype),
        d.tensor(*d.broadcast_with(shape), dtype=dtype),
        d.apart(*shape, dtype=dtype),
    )
    if name == "where":
        rl.where(x > 0, x, y, out=out)
    elif name == "clamp":
        rl.clamp(x, -1, 1, out=out)
    elif name == "lerp":
        rl.lerp(x, y.expand(shape), 0.3, out=out)
    elif name in ("exp", "sqrt", "sin"):
        getattr(rl, name)(x, out=out)
    else:
        getattr(rl, name)(x, y, out=out)


@family
def activations(d):
    x = d.tensor(*d.shape(d.integer(1, 4)), grad=True)
    name = d.of("relu", "gelu", "silu", "mish", "elu", "selu", "celu", "softplus", "hardswish", "leaky_relu", "logsigmoid",
                "hardtanh", "softsign", "tanhshrink", "relu6", "glu", "threshold", "rrelu", "prelu")  # fmt: skip
    if name == "prelu":
        return backward(
            d, F.prelu(x, d.tensor(x.shape[1] if x.ndim > 1 and d.chance(0.5) else 1, dtype="float32", grad=True))
        )
    arguments = {"threshold": (0.1, 2.0), "glu": (d.integer(-x.ndim, x.ndim - 1),), "rrelu": (0.1, 0.3, d.chance(0.5))}
    return backward(d, getattr(F, name)(x, *arguments.get(name, ())))


@family
def copies(d):
    x = d.tensor(*d.shape(d.integer(0, 5)), dtype=d.random.choice(NUMBERS), grad=True)
    goal = getattr(rl, d.random.choice(NUMBERS))
    which = d.integer(0, 6)
    if which == 0:
        backward(d, x.to(goal))
    elif which == 1:
        d.apart(*x.shape, dtype=d.random.choice(NUMBERS)).copy_(x.detach())
    elif which == 2:
        backward(d, x.contiguous(memory_format=rl.channels_last) if x.ndim == 4 else x.clone())
    elif which == 3:
        backward(d, x.reshape(-1), x.flatten())
    elif which == 4:
        target = d.apart(*x.shape, dtype=d.random.choice(NUMBERS))
        target.fill_(1) if d.chance(0.5) else target.zero_()
    elif which == 5:
        backward(
            d,
            x.roll(d.integer(-5, 5), d.integer(0, max(x.ndim - 1, 0))),
            x.flip(0),
            x.repeat(*[d.integer(0, 3)] * max(x.ndim, 1)),
        )
    else:
        mask = d.tensor(*d.broadcast_with(x.shape), dtype="bool")
        backward(d, x.masked_fill(mask, 2))
        d.apart(*x.shape, dtype="float32").masked_fill_(mask, 1.0)


# ---------------------------------------------------------------- reductions and rows


@family
def reductions(d):
    x = d.tensor(*d.shape(d.integer(1, 4)), dtype=d.random.choice((*FLOATS, *NUMBERS)), grad=True)
    name = d.of("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "var", "std", "logsumexp", "any", "all", "nansum",
                "count_nonzero", "max", "min", "median", "mode", "aminmax", "var_mean", "norm", "kthvalue", "nanmedian")  # fmt: skip
    function, dim = getattr(rl, name), d.integer(-x.ndim, x.ndim - 1)
    if name == "kthvalue":
        found = function(x, d.integer(1, max(1, x.shape[dim])), dim)
    elif name == "norm":
        found = rl.linalg.vector_norm(x, d.of(0, 1, 2, 3, 0.5, math.inf, -math.inf), d.of(None, dim, (0, -1)))
    elif name == "aminmax":
        found = function(x, dim=dim)
    elif d.chance(0.3) and name != "logsumexp":
        found = function(x)
    elif name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "nansum", "count_nonzero") and d.chance(
        0.4
    ):
        found = function(x, tuple({0, x.ndim - 1, d.integer(0, x.ndim - 1)}))
    else:
        found = function(x, dim)
    backward(d, *tensors_of(found))


@family
def rows(d):
    x = d.tensor(*d.shape(d.integer(1, 4)), dtype=d.random.choice(FLOATS), grad=True)
    dim = d.integer(-x.ndim, x.ndim - 1)
    name = d.of("softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort", "topk",
                "unique", "normalize", "msort", "unique_consecutive", "diff")  # fmt: skip
    if name in ("unique", "unique_consecutive"):
        found = getattr(rl, name)(x.detach(), return_inverse=d.chance(0.5), return_counts=d.chance(0.5))
    elif name == "normalize":
        found = F.normalize(x, d.of(1.0, 2.0, 3.0), dim)
    elif name == "topk":
        found = rl.topk(x, d.integer(0, x.shape[dim]), dim, d.chance(0.5), d.chance(0.5))
    elif name == "sort":
        found = rl.sort(x, dim, d.chance(0.5), stable=d.chance(0.5))
    elif name == "msort":
        found = rl.msort(x)
    elif name == "diff":
        found = rl.diff(x, d.integer(0, 3), dim)
    else:
        found = getattr(rl, name)(x, dim)
    backward(d, *tensors_of(found))


@family
def norms(d):
    x = d.tensor(*d.shape(d.integer(2, 5)), grad=True)
    dtype, channels = str(x.dtype).split(".")[-1], x.shape[1]
    name = d.of("layer", "batch", "group", "instance", "rms", "local")

    def vector(*shape):
        return d.tensor(*shape, dtype=dtype, grad=True) if d.chance(0.7) else None

    if name in ("layer", "rms"):
        shape = x.shape[d.integer(1, x.ndim - 1) :]
        found = (
            F.layer_norm(x, shape, vector(*shape), vector(*shape))
            if name == "layer"
            else F.rms_norm(x, shape, vector(*shape))
        )
    elif name == "batch":
        running = [d.apart(channels, dtype=dtype, low=0.1), d.apart(channels, dtype=dtype, low=0.1)]
        found = F.batch_norm(x, *running, vector(channels), vector(channels), d.chance(0.7), 0.1)
    elif name == "group":
        groups = d.of(*[n for n in range(1, channels + 1) if channels % n == 0] or [1])
        found = F.group_norm(x, groups, vector(channels), vector(channels))
    elif name == "instance":
        found = F.instance_norm(x, None, None, vector(channels), vector(channels))
    else:
        found = F.local_response_norm(x, d.integer(1, 5))
    backward(d, found)


@family
def losses(d):
    shape, dtype = d.shape(d.integer(1, 3)), d.random.choice(FLOATS)
    reduction = d.of("none", "mean", "sum")
    x, y = d.tensor(*shape, dtype=dtype, grad=True), d.tensor(*shape, dtype=dtype, grad=True)
    name = d.of("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "soft_margin_loss",
                "kl_div", "poisson_nll_loss", "binary_cross_entropy", "cosine_similarity", "hinge_embedding_loss")  # fmt: skip
    if name == "binary_cross_entropy":
        x, y = (d.tensor(*shape, dtype=dtype, low=0.1, high=0.9, grad=True) for _ in range(2))
    if name == "cosine_similarity":
        return backward(d, F.cosine_similarity(x, y, d.integer(0, len(shape) - 1)))
    return backward(d, getattr(F, name)(x, y, reduction=reduction))


@family
def class_losses(d):
    samples, classes, *rest = d.shape(d.integer(2, 4))
    classes = max(classes, 1)
    dtype, reduction = d.random.choice(FLOATS), d.of("none", "mean", "sum")
    x = d.tensor(samples, classes, *rest, dtype=dtype, grad=True)
    target = d.indices((samples, *rest), classes)
    weight = d.tensor(classes, dtype=dtype, low=0.1) if d.chance(0.4) else None
    which = d.integer(0, 4)
    if which == 0:
        found = F.cross_entropy(
            x, target, weight, ignore_index=d.of(-100, 0), reduction=reduction, label_smoothing=d.of(0.0, 0.1)
        )
    elif which == 1:
        found = F.nll_loss(x, target, weight, ignore_index=d.of(-100, 0), reduction=reduction)
    elif which == 2:
        found = F.cross_entropy(x, d.tensor(*x.shape, dtype=dtype, low=0.0, grad=True), weight, reduction=reduction)
    elif which == 3:
        found = F.multi_margin_loss(x, target, reduction=reduction)
    else:
        steps, letters = d.integer(1, 20), d.integer(2, 40)
        scores = d.tensor(steps, samples, letters, dtype="float32", grad=True)
        length = d.integer(0, 6)
        targets = d.indices((samples, length), letters - 1) + 1
        found = F.ctc_loss(scores.log_softmax(2), targets, [steps] * samples, [length] * samples, reduction=reduction)
    backward(d, found)


# ---------------------------------------------------------------- positions


@family
def picking(d):
    x = d.tensor(*d.shape(d.integer(1, 4)), dtype=d.random.choice(NUMBERS), grad=True)
    dim = d.integer(0, x.ndim - 1)
    length, kind = x.shape[dim], d.of("int64", "int64", "int32")
    which = d.integer(0, 8)
    if which == 0:
        shape = tuple(d.integer(0, max(n, 1)) if d.chance(0.4) else n for n in x.shape)
        shape = (*shape[:dim], d.length(), *shape[dim + 1 :])
        found = x.gather(dim, d.indices(shape, length))
    elif which == 1:
        found = x.index_select(dim, d.indices((d.length(),), length, kind))
    elif which == 2:
        found = x.take(d.indices(d.shape(2, 500), x.numel()))
    elif which == 3:
        keys = [slice(None)] * dim + [d.indices(d.shape(d.integer(1, 2), 300), length)]
        found = x[tuple(keys)]
    elif which == 4:
        keys = [
            d.indices((n,), x.shape[i]) if d.chance(0.7) else slice(None) for i, n in enumerate([d.length(9)] * x.ndim)
        ]
        found = x[tuple(keys)]
    elif which == 5:
        found = x.masked_select(d.tensor(*d.broadcast_with(x.shape), dtype="bool"))
    elif which == 6:
        found = x[d.tensor(*x.shape[: d.integer(1, x.ndim)], dtype="bool")]
    elif which == 7:
        found = x.nonzero()
    else:
        found = x.take_along_dim(d.indices(x.shape, length), dim)
    backward(d, found)


@family
def placing(d):
    shape, dtype = d.shape(d.integer(1, 4)), d.random.choice(NUMBERS)
    dim = d.integer(0, len(shape) - 1)
    target = d.apart(*shape, dtype=dtype)
    which = d.integer(0, 9)
    places = tuple(d.integer(0, n) if d.chance(0.4) else n for n in shape)
    along = (*shape[:dim], d.length(40), *shape[dim + 1 :])
    if which == 0:
        target.scatter_(dim, d.indices((*places[:dim], d.length(40), *places[dim + 1 :]), shape[dim]), 1)
    elif which == 1:
        index = d.indices((*places[:dim], d.length(40), *places[dim + 1 :]), shape[dim])
        target.scatter_(dim, index, d.tensor(*index.shape, dtype=dtype))
    elif which == 2:
        index = d.indices((*places[:dim], d.length(40), *places[dim + 1 :]), shape[dim])
        target.scatter_add_(dim, index, d.tensor(*index.shape, dtype=dtype))
    elif which == 3:
        index = d.indices(along, shape[dim])
        target.scatter_reduce_(dim, index, d.tensor(*along, dtype=dtype), d.of("sum", "prod", "mean", "amax", "amin"))
    elif which == 4:
        target.index_add_(dim, d.indices((along[dim],), shape[dim]), d.tensor(*along, dtype=dtype), alpha=d.of(1, 2))
    elif which == 5:
        target.index_copy_(dim, d.indices((along[dim],), shape[dim]), d.tensor(*along, dtype=dtype))
    elif which == 6:
        target.index_fill_(dim, d.indices((along[dim],), shape[dim]), 1)
    elif which == 7:
        index = d.indices(d.shape(1, 300), target.numel())
        target.put_(index, d.tensor(*index.shape, dtype=dtype), d.chance(0.5))
    elif which == 8:
        keys = tuple(d.indices((9,), n) for n in shape[: d.integer(1, len(shape))])
        target.index_put_(
            keys, d.tensor(*d.broadcast_with((9, *shape[len(keys) :])), dtype=dtype), accumulate=d.chance(0.5)
        )
    else:
        mask = d.tensor(*d.broadcast_with(shape), dtype="bool")
        target.masked_scatter_(mask, d.tensor(target.numel() + d.integer(0, 3), dtype=dtype))


@family
def embeddings(d):
    count, width = d.shape(2)
    weight = d.tensor(count, width, dtype=d.random.choice(FLOATS), grad=True)
    if d.chance(0.5):
        backward(d, F.embedding(d.indices(d.shape(d.integer(1, 2), 600), count), weight, d.of(None, 0)))
        return
    index = d.indices((d.length(),), count)
    bags = sorted([0, *[d.integer(0, len(index)) for _ in range(d.integer(0, 6))]])
    backward(d, F.embedding_bag(index, weight, rl.tensor(bags), mode=d.of("sum", "mean", "max")))


@family
def counting(d):
    x = d.tensor(*d.shape(d.integer(1, 2)), dtype=d.of("float32", "float64"))
    which = d.integer(0, 5)
    if which == 0:
        rl.bincount(d.indices((d.length(),), 50), minlength=d.of(0, 3, 100))
    elif which == 1:
        rl.histc(x, d.integer(1, 40), -2, 2)
    elif which == 2:
        edges = rl.sort(d.tensor(d.length(60), dtype=str(x.dtype).split(".")[-1]))[0]
        rl.searchsorted(edges, x, right=d.chance(0.5)) if d.chance(0.5) else rl.bucketize(x, edges)
    elif which == 3:
        F.one_hot(d.indices(d.shape(1), 12), d.of(12, 20))
    elif which == 4:
        rl.multinomial(x.abs().nan_to_num(1.0, 1.0, 1.0) + 0.1, d.integer(1, max(1, x.shape[-1])), d.chance(0.5))
    else:
        rl.histogram(x, d.integer(1, 30), range=(-2.0, 2.0))


@family
def joining(d):
    shape, dtype = d.shape(d.integer(1, 4), 2000), d.random.choice(NUMBERS)
    dim = d.integer(0, len(shape) - 1)
    if d.chance(0.5):
        parts = [
            d.tensor(*shape[:dim], d.length(20), *shape[dim + 1 :], dtype=dtype, grad=True)
            for _ in range(d.integer(1, 6))
        ]
        return backward(d, rl.cat(parts, dim))
    parts = [d.tensor(*shape, dtype=dtype, grad=True) for _ in range(d.integer(1, 6))]
    return backward(d, rl.stack(parts, d.integer(0, len(shape))))


@family
def padding(d):
    shape = d.shape(d.integer(2, 5))
    x = d.tensor(*shape, dtype=d.random.choice((*FLOATS, *NUMBERS)), grad=True)
    mode = d.of("constant", "constant", "reflect", "replicate", "circular")
    sides = d.integer(1, len(shape)) if mode == "constant" else d.integer(1, min(3, max(1, len(shape) - 2)))
    pad = [d.integer(-1 if mode == "constant" else 0, 4) for _ in range(2 * sides)]
    backward(d, F.pad(x, pad, mode))
    if x.ndim == 4:
        window = {"dilation": d.integer(1, 2), "padding": d.integer(0, 2), "stride": d.integer(1, 3)}
        backward(d, F.unfold(x, (d.integer(1, 3), d.integer(1, 3)), **window))
    backward(
        d, x.unfold(-1, d.integer(0, x.shape[-1]), d.integer(1, 4)), x.tril(d.integer(-3, 3)), x.triu(d.integer(-3, 3))
    )


# ---------------------------------------------------------------- products


@family
def products(d):
    dtype = d.random.choice((*FLOATS, *FLOATS, "complex64", "int64"))
    m, k, n, b = d.length(), d.length(), d.length(), d.length(9)

    def t(*shape):
        return d.tensor(*shape, dtype=dtype, grad=True)

    calls = {
        "mm": lambda: rl.mm(t(m, k), t(k, n)),
        "mv": lambda: rl.mv(t(m, k), t(k)),
        "dot": lambda: rl.dot(t(m * k), t(m * k)),
        "bmm": lambda: rl.bmm(t(b, m, k), t(b, k, n)),
        "addmm": lambda: rl.addmm(t(*d.broadcast_with((m, n))), t(m, k), t(k, n), beta=d.of(0, 1, 2), alpha=d.of(1, 2)),
        "baddbmm": lambda: rl.baddbmm(t(*d.broadcast_with((b, m, n))), t(b, m, k), t(b, k, n)),
        "linear": lambda: F.linear(t(*d.of((k,), (m, k), (b, m, k))), t(n, k), t(n) if d.chance(0.6) else None),
        "matmul": lambda: t(b, 1, m, k) @ t(d.of(1, 3), k, n),
        "outer": lambda: rl.outer(t(m), t(n)),
        "einsum": lambda: rl.einsum(d.of("bmk,bkn->bmn", "bmk,bkn->mn", "bmk,bkn->bnm"), t(b, m, k), t(b, k, n)),
        "bilinear": lambda: F.bilinear(t(b, m % 20 + 1), t(b, k % 20 + 1), t(n % 20 + 1, m % 20 + 1, k % 20 + 1)),
        "addmv": lambda: rl.addmv(t(m), t(m, k), t(k)),
        "out": lambda: rl.mm(t(m, k).detach(), t(k, n).detach(), out=d.apart(m, n, dtype=dtype)),
        "cdist": lambda: rl.cdist(t(b, m, k % 70), t(b, n, k % 70), d.of(0.0, 1.0, 2.0, 3.0, math.inf)),
        "pdist": lambda: F.pdist(t(m % 60, k), d.of(0.0, 1.0, 2.0, 3.0)),
        "cross": lambda: rl.linalg.cross(t(m, 3), t(m, 3)),
        "kron": lambda: rl.kron(t(b, 3), t(3, 5)),
    }
    backward(d, calls[d.of(*calls)]())


@family
def attention(d):
    batch, heads, width = d.integer(1, 3), d.of(1, 2, 4), d.of(1, 3, 8, 16, 32, 33, 64, 80)
    queries, keys, dtype = d.length(130), d.length(130), d.random.choice(FLOATS)
    q, k = (
        d.tensor(batch, heads, queries, width, dtype=dtype, grad=True),
        d.tensor(batch, heads, keys, width, dtype=dtype, grad=True),
    )
    v = d.tensor(batch, heads, keys, d.of(width, width, 24), dtype=dtype, grad=True)
    mask = d.of(None, None, "bool", "float")
    if mask:
        mask = d.tensor(*d.broadcast_with((batch, heads, queries, keys)), dtype="bool" if mask == "bool" else dtype)
    causal = mask is None and d.chance(0.4)
    backward(d, F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal))


@family
def multihead(d):
    embed, heads = d.of((8, 2), (12, 3), (32, 4), (64, 8))
    layer = rl.nn.MultiheadAttention(embed, heads, batch_first=d.chance(0.5), bias=d.chance(0.5))
    x = d.tensor(d.length(20), d.length(20), embed, dtype="float32", grad=True)
    backward(d, layer(x, x, x, need_weights=d.chance(0.5))[0])


# ---------------------------------------------------------------- windows over images


def _image(d, count, channels, most=40):
    lengths = [min(d.length(most), {1: 300, 2: 40, 3: 12}[count]) for _ in range(count)]
    return (d.integer(1, 4), channels, *lengths)


@family
def convolutions(d):
    count = d.of(1, 2, 2, 2, 3)
    groups = d.of(1, 1, 1, 2, 3)
    per_group, out_per_group = d.of(1, 2, 3, 8, 16, 17, 32), d.of(1, 2, 3, 8, 16, 17, 32)
    if d.chance(0.2):
        groups, per_group, out_per_group = d.of(4, 16, 33), 1, d.of(1, 2)
    dtype = d.random.choice(FLOATS)
    kernel = tuple(d.of(1, 2, 3, 3, 3, 5) for _ in range(count))
    if d.chance(0.4):
        kernel = (3,) * count
    shape = _image(d, count, groups * per_group)
    stride = d.of(1, 1, 2, 3) if d.chance(0.7) else tuple(d.integer(1, 3) for _ in range(count))
    padding = d.of(0, 1, 1, 2) if d.chance(0.7) else tuple(d.integer(0, 3) for _ in range(count))
    dilation = d.of(1, 1, 1, 2)
    transposed = d.chance(0.3)
    x = d.tensor(*(shape if d.chance(0.9) else shape[1:]), dtype=dtype, grad=True)
    bias = d.tensor(groups * out_per_group, dtype=dtype, grad=True) if d.chance(0.6) else None
    if transposed:
        weight = d.tensor(groups * per_group, out_per_group, *kernel, dtype=dtype, grad=True)
        found = getattr(F, f"conv_transpose{count}d")(x, weight, bias, stride, padding, d.of(0, 0, 1), groups, dilation)
    else:
        weight = d.tensor(groups * out_per_group, per_group, *kernel, dtype=dtype, grad=True)
        found = getattr(F, f"conv{count}d")(x, weight, bias, stride, padding, dilation, groups)
    backward(d, found)


@family
def pooling(d):
    count = d.of(1, 2, 2, 3, 3)
    shape = _image(d, count, d.of(1, 2, 3, 8, 17, 33))
    x = d.tensor(*(shape if d.chance(0.6) else shape[1:]), dtype=d.random.choice(FLOATS), grad=True)
    kernel = tuple(d.integer(1, 4) for _ in range(count))
    stride, padding = tuple(d.integer(1, 4) for _ in range(count)), tuple(d.integer(0, k // 2) for k in kernel)
    out = tuple(d.integer(1, 9) for _ in range(count))
    ceil = d.chance(0.4)
    which = d.integer(0, 6)
    if which == 0:
        dilation = d.of(1, 1, 2)
        found = getattr(F, f"max_pool{count}d")(
            x, kernel, stride, padding, dilation, ceil, return_indices=d.chance(0.5)
        )
    elif which == 1:
        options = {} if count == 1 else {"divisor_override": d.of(None, 3)}
        found = getattr(F, f"avg_pool{count}d")(x, kernel, stride, padding, ceil, d.chance(0.5), **options)
    elif which == 2:
        found = getattr(F, f"lp_pool{count}d")(x, 2.0, kernel if count > 1 else kernel[0], ceil_mode=ceil)
    elif which == 3:
        found = getattr(F, f"adaptive_avg_pool{count}d")(x, out)
    elif which == 4:
        found = getattr(F, f"adaptive_max_pool{count}d")(x, out, return_indices=d.chance(0.5))
    elif which == 5 and count > 1:
        found = getattr(F, f"fractional_max_pool{count}d")(x, kernel, output_size=out)
    else:
        values, places = getattr(F, f"max_pool{count}d")(x, kernel, kernel, return_indices=True)
        found = getattr(F, f"max_unpool{count}d")(values, places, kernel, kernel, output_size=x.shape[-count:])
    backward(d, *tensors_of(found))


@family
def resampling(d):
    count = d.of(1, 2, 2, 3)
    x = d.tensor(*_image(d, count, d.of(1, 2, 3, 8, 17)), dtype=d.random.choice((*FLOATS, "uint8")), grad=True)
    modes = {1: ("linear",), 2: ("bilinear", "bicubic", "bilinear"), 3: ("trilinear",)}[count]
    mode = d.of("nearest", "nearest-exact", "area", *modes)
    options = {"mode": mode}
    if mode in modes:
        options["align_corners"] = d.chance(0.5)
        options["antialias"] = count == 2 and not options["align_corners"] and d.chance(0.3)
    if d.chance(0.5):
        options["size"] = tuple(d.integer(1, 50 if count < 3 else 15) for _ in range(count))
    else:
        options["scale_factor"] = d.of(0.5, 2, 1.7, 0.3)
    backward(d, F.interpolate(x, **options))


@family
def sampling(d):
    count, dtype = d.of(2, 2, 3), d.of("float32", "float64", "bfloat16")
    shape = _image(d, count, d.of(1, 2, 3, 9))
    x = d.tensor(*shape, dtype=dtype, grad=True)
    out = tuple(d.integer(1, 20 if count == 2 else 7) for _ in range(count))
    grid = d.tensor(shape[0], *out, count, dtype=dtype, low=-1.3, high=1.3, grad=True)
    mode = d.of("bilinear", "nearest", *(("bicubic",) if count == 2 else ()))
    backward(d, F.grid_sample(x, grid, mode, d.of("zeros", "border", "reflection"), d.chance(0.5)))
    theta = d.tensor(shape[0], count, count + 1, dtype=dtype, grad=True)
    backward(d, F.affine_grid(theta, (shape[0], 1, *out), d.chance(0.5)))


@family
def rearranged(d):
    r, c, b = d.integer(1, 3), d.integer(1, 5), d.integer(1, 3)
    x = d.tensor(b, c * r * r, d.length(30), d.length(30), grad=True)
    backward(d, F.pixel_shuffle(x, r), F.channel_shuffle(x, r))
    backward(d, F.pixel_unshuffle(d.tensor(b, c, r * d.integer(1, 9), r * d.integer(1, 9), grad=True), r))
    k = d.integer(1, 3)
    height, width = d.integer(k, 20), d.integer(k, 20)
    windows = (height - k + 1) * (width - k + 1)
    backward(d, F.fold(d.tensor(b, c * k * k, windows, dtype="float32", grad=True), (height, width), k))


# ---------------------------------------------------------------- sequences, Fourier transforms, optimizers, random numbers


@family
def recurrent(d):
    features, units, layers = d.length(40), d.of(1, 2, 3, 5, 8, 16, 17, 32, 48, 64), d.of(1, 1, 2)
    kind = d.of(rl.nn.LSTM, rl.nn.GRU, rl.nn.RNN)
    options = {"bidirectional": d.chance(0.3), "batch_first": d.chance(0.3), "bias": d.chance(0.8)}
    dtype = d.of("float32", "float32", "float64", "bfloat16")
    if kind is rl.nn.LSTM and d.chance(0.15) and units > 1:
        options["proj_size"] = units // 2
    layer = kind(max(features, 1), units, layers, **options).to(getattr(rl, dtype))
    x = d.tensor(
        *d.of((d.integer(1, 25), d.integer(1, 40)), (d.integer(1, 9),)), max(features, 1), dtype=dtype, grad=True
    )
    found, state = layer(x)
    backward(d, found, *(state if isinstance(state, tuple) else (state,)))


@family
def cells(d):
    kind = d.of(rl.nn.LSTMCell, rl.nn.GRUCell, rl.nn.RNNCell)
    features, units, rows_ = max(d.length(70), 1), d.length(70) or 1, d.length(40)
    cell = kind(features, units)
    state = d.tensor(rows_, units, dtype="float32", grad=True)
    state = (state, d.tensor(rows_, units, dtype="float32", grad=True)) if kind is rl.nn.LSTMCell else state
    found = cell(d.tensor(rows_, features, dtype="float32", grad=True), state)
    backward(d, *tensors_of(found))


@family
def fourier(d):
    x = d.tensor(*d.shape(d.integer(1, 3)), dtype=d.of("float32", "float64", "complex64", "complex128"), grad=True)
    name, dim = (
        d.of("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "irfftn", "fftn"),
        d.integer(-x.ndim, -1),
    )
    options = {"norm": d.of(None, "ortho", "forward")}
    if name[-1] not in "2n":
        options |= {"dim": dim, "n": d.of(None, d.integer(1, 300), x.shape[dim])}
    backward(d, getattr(rl.fft, name)(x, **options))


@family
def spectrograms(d):
    size = d.of(4, 7, 16, 25, 64)
    x = d.tensor(d.integer(1, 3), d.integer(size, 400), dtype=d.of("float32", "float64"), grad=True)
    found = rl.stft(x, size, d.integer(1, size), window=rl.hann_window(size, dtype=x.dtype), return_complex=True)
    backward(d, found)


@family
def optimizers(d):
    params = [rl.nn.Parameter(d.dense(*d.shape(d.integer(1, 3)), written=True)) for _ in range(d.integer(1, 4))]
    kinds = (rl.optim.SGD, rl.optim.Adam, rl.optim.AdamW, rl.optim.RMSprop, rl.optim.Adagrad, rl.optim.Adadelta, rl.optim.NAdam,
             rl.optim.RAdam, rl.optim.Adamax, rl.optim.ASGD, rl.optim.Rprop)  # fmt: skip
    kind = d.of(*kinds)
    options = {"momentum": 0.9} if kind is rl.optim.SGD and d.chance(0.6) else {}
    optimizer = kind(params, lr=0.01, **options)
    for _ in range(d.integer(1, 4)):
        for parameter in params:
            parameter.grad = d.apart(*parameter.shape)
        if d.chance(0.3):
            rl.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()


@family
def random_numbers(d):
    target = d.apart(*d.shape(d.integer(0, 3)), dtype=d.of("float32", "float64", "float16", "bfloat16"))
    name = d.of("normal_", "uniform_", "bernoulli_", "exponential_", "log_normal_", "cauchy_", "geometric_", "random_")
    getattr(target, name)(*((0.3,) if name in ("geometric_", "bernoulli_") else ()))
    x = d.tensor(*d.shape(d.integer(1, 4)), grad=True)
    backward(d, d.of(F.dropout, F.alpha_dropout, F.dropout1d)(x, 0.3))
    rl.randperm(d.length())
    rl.randint(0, 9, d.shape(2))
    rl.arange(d.integer(-9, 9), d.integer(10, 400), d.of(1, 2, 0.5))
    rl.linspace(0, 1, d.length())


@family
def complex_numbers(d):
    kind = d.of("complex64", "complex128")
    x, y = (d.tensor(*d.shape(d.integer(1, 3)), dtype=kind, grad=True) for _ in range(2))
    name = d.of(
        "abs", "angle", "exp", "log", "sqrt", "tanh", "sin", "reciprocal", "sum", "prod", "mean", "conj_physical", "sgn"
    )
    backward(d, getattr(rl, name)(x))
    part = "float32" if kind == "complex64" else "float64"
    shape = d.shape(2)
    backward(d, rl.complex(d.tensor(*shape, dtype=part, grad=True), d.tensor(*shape, dtype=part, grad=True)))
    rl.view_as_real(y.detach().resolve_conj())


@family
def linear_algebra(d):
    n, b = d.integer(0, 20), d.integer(0, 3)
    a = d.tensor(b, n, n, dtype=d.of("float32", "float64"), grad=True)
    a = rl.where(a.isfinite(), a, 0.5) + 10 * rl.eye(n, dtype=a.dtype)
    name = d.of("inv", "det", "qr", "svd", "cholesky_ex", "lu_factor", "solve", "eigvals", "pinv", "matrix_exp")
    if name == "solve":
        return backward(d, rl.linalg.solve(a, d.tensor(b, n, 3, dtype=str(a.dtype).split(".")[-1], grad=True)))
    found = getattr(rl.linalg, name)(a)
    return [x.sum() for x in tensors_of(found)]
