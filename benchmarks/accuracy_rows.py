"""The rows of ``accuracy.py``, by families: what is computed, on operands of which shapes and of which mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """``compute(module, *tensors)`` gives a tensor or several; the operands have ``shapes``, are normal with a mean and spread."""

    name: str
    compute: object
    shapes: tuple
    mean: float = 0.0
    spread: float = 1.0


def rows(compute, *shapes, means=(0, 100), spread=1.0):
    """A Row for each tuple of shapes and each mean."""
    found = []
    for each in shapes:
        each = each if isinstance(each[0], tuple) else (each,)
        sizes = " ".join("x".join(map(str, shape)) for shape in each[:2])
        found += [Row(f"{sizes}{f' mean {mean:g}' if mean else ''}", compute, each, mean, spread) for mean in means]
    return found


def named(prefix, found):
    """The rows under longer names."""
    return [row._replace(name=f"{prefix} {row.name}") for row in found]


def gradients(function):
    """What computes the gradients of all operands but the last, which is the gradient of ``function``'s result."""

    def compute(torch, *tensors):
        *leaves, grad = tensors
        leaves = [leaf.requires_grad_() for leaf in leaves]
        result = function(torch, *leaves)
        return torch.autograd.grad(result, leaves, grad.reshape(result.shape))

    return compute


# ---------------------------------------------------------------- reductions and scans

_LINES = ((1000,), (100_000,), (3_000_000,), (3000, 1000), (40, 1000))


def _reductions():
    found = {}
    for name in ("sum", "mean", "logsumexp", "norm"):
        for dim in (None, 0, 1):
            if name == "logsumexp" and dim is None:
                continue

            def compute(torch, x, name=name, dim=dim):
                if dim is None:
                    return getattr(x, name)()
                return torch.linalg.vector_norm(x, dim=dim) if name == "norm" else getattr(x, name)(dim)

            shapes = _LINES if dim is None else [s for s in _LINES if len(s) > 1]
            found.setdefault(name, []).extend(named("" if dim is None else f"dim {dim}", rows(compute, *shapes)))
    for dim in (0, 1):

        def cumulated(torch, x, dim=dim):
            return x.cumsum(dim)

        def product(torch, x, dim=dim):
            return x.prod(dim)

        found.setdefault("cumsum", []).extend(named(f"dim {dim}", rows(cumulated, (3000, 1000), (40, 20_000), (5, 7))))
        near_one = rows(product, (3000, 1000), (40, 1000), means=(1,), spread=0.01)
        found.setdefault("prod", []).extend(named(f"dim {dim}", near_one))
    for name in ("sum", "mean", "norm", "logsumexp"):

        def middle(torch, x, name=name):
            return getattr(x, name)(dim=(0, 2))

        found[name] += named("dim (0, 2)", rows(middle, (32, 64, 300), (200, 5, 49)))
    for name in ("logcumsumexp", "cumprod"):

        def scanned(torch, x, name=name):
            return getattr(x, name)(1)

        given = {"means": (1,), "spread": 0.01} if name == "cumprod" else {}
        found[name] = rows(scanned, (40, 2000), (5, 7), **given)
    found["cumsum"] += rows(lambda torch, x: x.cumsum(0), (1_000_000,))
    turned = named("turned", rows(lambda torch, x: x.t().sum(0), (3000, 1000)))
    found["sum"] += turned + named("steps", rows(lambda torch, x: x[:, ::2].sum(0), (3000, 1000)))
    return found


def _variances():
    found = []
    for name in ("var", "std", "var_mean", "std_mean"):
        for dim in (None, 0, 1):

            def compute(torch, x, name=name, dim=dim):
                return getattr(torch, name)(x, dim=dim)

            found += named(
                f"{name} {'all' if dim is None else dim}", rows(compute, (3000, 1000), (40, 25), means=(0, 1e3, 1e6))
            )
    middle = rows(lambda torch, x: x.var((0, 2)), (32, 64, 300), means=(0, 1e3, 1e6))
    turned = rows(lambda torch, x: x.t().var(0), (3000, 1000), means=(0, 1e6))
    steps = rows(lambda torch, x: x[::2, ::3].var(0), (3000, 1000), means=(0, 1e6))
    found += named("var (0, 2)", middle) + named("turned", turned) + named("steps", steps)
    slope = gradients(lambda torch, x: x.var(0))
    found += named("gradient", rows(slope, ((3000, 100), (100,)), ((50, 10), (10,)), means=(0, 1e3, 1e6)))
    found += named("cov", rows(lambda torch, x: torch.cov(x), (20, 5000), (5, 30), means=(0, 1e3, 1e6)))
    found += named("corrcoef", rows(lambda torch, x: torch.corrcoef(x), (20, 5000), (5, 30), means=(0, 1e3, 1e6)))
    return found


# ---------------------------------------------------------------- rows and norms


def _softmaxes():
    def cross_entropy(torch, x):
        return torch.nn.functional.cross_entropy(x, torch.arange(len(x)) % x.shape[1])

    sizes = (64, 10), (64, 1000), (8, 50_000)
    return {
        "softmax": rows(lambda torch, x: x.softmax(1), *sizes) + named("dim 0", rows(lambda torch, x: x.softmax(0), *sizes)),
        "log_softmax": rows(lambda torch, x: x.log_softmax(1), *sizes)
        + named("gradient", rows(gradients(lambda torch, x: x.log_softmax(1)), *[(s, s) for s in sizes])),
        "cross_entropy": rows(cross_entropy, *sizes) + named("gradient", rows(gradients(cross_entropy), *[(s, (1,)) for s in sizes])),
    }  # fmt: skip


def _losses():
    def of(name, signs=False, chances=False, **options):
        def compute(torch, x, y):
            x, y = (x.sigmoid(), y.sigmoid()) if chances else (x, y.sign() if signs else y)
            return getattr(torch.nn.functional, name)(x, y, **options)

        return compute

    def nll_loss(torch, x, y):
        return torch.nn.functional.nll_loss(x, torch.arange(len(x)) % x.shape[1], y[0].abs())

    def weighted(torch, x, y):
        classes = torch.arange(len(x)) % x.shape[1]
        return torch.nn.functional.cross_entropy(x, classes, y[0].abs(), label_smoothing=0.1)

    def kl_div(torch, x, y):
        return torch.nn.functional.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")

    def cosine(torch, x, y):
        return torch.nn.functional.cosine_embedding_loss(x, y, x[:, 0].sign())

    def triplet(torch, x, y):
        return torch.nn.functional.triplet_margin_loss(x, y, x.roll(1, 0))

    names = [
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "poisson_nll_loss",
        "binary_cross_entropy_with_logits",
    ]
    given = {name: of(name) for name in names}
    given |= {"soft_margin_loss": of("soft_margin_loss", signs=True), "binary_cross_entropy": of("binary_cross_entropy", chances=True),
              "nll_loss": nll_loss, "cross_entropy weighted": weighted, "kl_div": kl_div, "cosine_embedding_loss": cosine,
              "triplet_margin_loss": triplet}  # fmt: skip
    sizes = [(s, s) for s in ((64, 10), (5000, 3), (64, 1000))]
    return [row for name, function in given.items() for row in named(name, rows(function, *sizes, means=(0,)))]


def _norms():
    def layer_norm(torch, x):
        return torch.nn.functional.layer_norm(x, x.shape[1:])

    def batch_norm(torch, x):
        return torch.nn.functional.batch_norm(x, None, None, training=True)

    def channels_last(torch, x):
        return batch_norm(torch, x.contiguous(memory_format=torch.channels_last))

    def running(torch, x):
        mean, var = (torch.zeros(x.shape[1], dtype=x.dtype) for _ in range(2))
        torch.nn.functional.batch_norm(x, mean, var, training=True)
        return mean, var

    def group_norm(torch, x):
        return torch.nn.functional.group_norm(x, 4)

    def instance_norm(torch, x):
        return torch.nn.functional.instance_norm(x)

    def rms_norm(torch, x):
        return torch.nn.functional.rms_norm(x, x.shape[1:])

    def normalize(torch, x):
        return torch.nn.functional.normalize(x, dim=1)

    flat, images = ((4096, 64), (8, 10), (64, 768), (16, 20_000)), ((16, 32, 28, 28), (4, 8, 5, 5), (2, 16, 100, 100))
    given = {"layer_norm": (layer_norm, flat), "batch_norm": (batch_norm, (*flat, *images)), "group_norm": (group_norm, images),
             "instance_norm": (instance_norm, images), "rms_norm": (rms_norm, flat), "normalize": (normalize, flat)}  # fmt: skip
    found = {}
    for name, (function, shapes) in given.items():
        found[name] = rows(function, *shapes, means=(0, 100, 1e4))
        found[name] += named("gradient", rows(gradients(function), *[(s, s) for s in shapes], means=(0, 100)))
    found["batch_norm"] += named("channels last", rows(channels_last, *images, means=(0, 100, 1e4)))
    found["batch_norm"] += named("running", rows(running, *flat, *images, means=(0, 100, 1e4)))
    return found


# ---------------------------------------------------------------- products

_DEPTHS = (16, 64, 200, 512, 1000, 2048, 5000, 20_000)


def _products():
    def nn(torch, a, b):
        return a @ b

    def nt(torch, a, b):
        return a @ b.t().contiguous().t()

    def tn(torch, a, b):
        return a.t().contiguous().t() @ b

    def tt(torch, a, b):
        return a.t().contiguous().t() @ b.t().contiguous().t()

    def mv(torch, a, b):
        return a @ b[:, 0].contiguous(), a @ b[:, 0], a.t().contiguous().t() @ b[:, 0].contiguous()

    def vm(torch, a, b):
        return a[0] @ b, a[0] @ b.t().contiguous().t()

    found = []
    for name, function in dict(nn=nn, nt=nt, tn=tn, tt=tt, mv=mv, vm=vm).items():
        found += named(name, rows(function, *[((100, k), (k, 120)) for k in _DEPTHS]))
    found += named("nn", rows(nn, *[((m, k), (k, n)) for m, k, n in ((3, 1000, 500), (40, 4000, 40), (1000, 1000, 4))]))
    found += named("nt", rows(nt, *[((m, k), (k, n)) for m, k, n in ((3, 1000, 500), (40, 4000, 40), (1000, 1000, 4))]))
    found += named("nn", rows(nn, ((600, 1000), (1000, 700))))
    found += named("dot", rows(lambda torch, a, b: torch.dot(a, b), *[((k,), (k,)) for k in (100, 5000, 1_000_000)]))
    batched = [
        ((30, m, k), (30, k, n)) for m, k, n in ((4, 4, 4), (3, 50, 7), (40, 500, 50), (20, 3000, 20), (1, 2000, 30))
    ]
    found += named("bmm", rows(lambda torch, a, b: a @ b, *batched))
    added = [((100, 120), (100, k), (k, 120)) for k in (64, 1000, 5000)]
    found += named("addmm", rows(lambda torch, c, a, b: torch.addmm(c, a, b, alpha=0.5), *added))
    found += named("addmm beta 2", rows(lambda torch, c, a, b: torch.addmm(c, a, b, beta=2), *added))
    sums = named("einsum", rows(lambda torch, a, b: torch.einsum("bik,jkb->ij", a, b), ((20, 30, 100), (40, 100, 20))))
    return found + sums


def _linears():
    def linear(torch, x, w, b):
        return torch.nn.functional.linear(x, w, b)

    sizes = [
        ((m, k), (n, k), (n,))
        for m, k, n in ((64, 784, 256), (5, 1000, 10), (500, 300, 700), (3000, 100, 50), (1, 4096, 500))
    ]
    back = [(*each, (each[0][0], each[1][0])) for each in sizes]
    return rows(linear, *sizes) + named("gradients", rows(gradients(linear), *back))


# ---------------------------------------------------------------- convolutions


def _convolutions():
    def plain(stride=1, padding=0, groups=None, dilation=1):
        def compute(torch, x, w):
            function = getattr(torch.nn.functional, f"conv{x.ndim - 2}d")
            return function(x, w, None, stride, padding, dilation, x.shape[1] if groups == "each" else 1)

        return compute

    def grouped(torch, x, w):
        return torch.nn.functional.conv2d(x, w, None, 1, 1, 1, 4)

    def transposed(torch, x, w):
        return getattr(torch.nn.functional, f"conv_transpose{x.ndim - 2}d")(x, w, None, 2)

    given = {
        "1d": (plain(), (((8, 64, 300), (32, 64, 5)), ((4, 256, 100), (64, 256, 3)))),
        "1x1": (plain(), (((4, 512, 14, 14), (128, 512, 1, 1)), ((2, 64, 28, 28), (64, 64, 1, 1)))),
        "3x3": (plain(1, 1), (((2, 256, 14, 14), (64, 256, 3, 3)), ((1, 512, 14, 14), (64, 512, 3, 3)), ((2, 64, 28, 28), (64, 64, 3, 3)), ((4, 3, 32, 32), (16, 3, 3, 3)))),
        "5x5": (plain(1, 2), (((2, 128, 14, 14), (32, 128, 5, 5)), ((4, 1, 28, 28), (8, 1, 5, 5)))),
        "7x7 stride 2": (plain(2, 3), (((2, 3, 64, 64), (32, 3, 7, 7)), ((2, 64, 30, 30), (16, 64, 7, 7)))),
        "3x3 stride 2": (plain(2, 1), (((2, 128, 28, 28), (64, 128, 3, 3)),)),
        "3x3 dilated": (plain(1, 2, dilation=2), (((2, 64, 28, 28), (32, 64, 3, 3)),)),
        "depthwise": (plain(1, 1, "each"), (((4, 64, 28, 28), (64, 1, 3, 3)), ((2, 32, 40, 40), (32, 1, 7, 7)), ((2, 32, 15, 15), (32, 1, 7, 7)))),
        "groups": (grouped, (((2, 128, 14, 14), (64, 32, 3, 3)),)),
        "3d": (plain(), (((2, 16, 8, 14, 14), (16, 16, 3, 3, 3)),)),
        "transposed": (transposed, (((2, 64, 14, 14), (64, 32, 3, 3)), ((2, 128, 7, 7), (128, 16, 4, 4)))),
    }  # fmt: skip
    found = []
    for name, (function, shapes) in given.items():
        found += named(name, rows(function, *shapes))
        found += named(f"{name} gradients", [_with_gradients(row, function) for row in rows(function, *shapes)])
    return found


def _with_gradients(row, function):
    """The row of the gradients of a function of two operands, whose result is multiplied by fixed numbers."""

    def compute(torch, *leaves):
        leaves = [leaf.requires_grad_() for leaf in leaves]
        result = function(torch, *leaves)
        grad = np.modf(np.arange(result.numel()) * 0.7548776662)[0] - (0 if row.mean else 0.5)
        grad = torch.from_numpy(grad.astype(np.float32)).to(result.dtype)
        return torch.autograd.grad(result, leaves, grad.reshape(result.shape))

    return row._replace(compute=compute)


def _windows():
    def pooled(torch, x):
        functional = torch.nn.functional
        return (
            functional.avg_pool2d(x, 7, 3),
            functional.adaptive_avg_pool2d(x, 1),
            functional.adaptive_avg_pool2d(x, (3, 5)),
        )

    def resized(torch, x):
        resize = torch.nn.functional.interpolate
        modes = ("bilinear", False), ("bicubic", True)
        return [resize(x, size=(50, 37), mode=mode, align_corners=corners) for mode, corners in modes] + [
            resize(x, size=(9, 11), mode="area"), resize(x, size=(9, 11), mode="bilinear", antialias=True)]  # fmt: skip

    def slopes(function):
        def compute(torch, x):
            x.requires_grad_()
            return torch.autograd.grad(sum((each * each).sum() for each in function(torch, x)), x)

        return compute

    images = (4, 16, 28, 28), (2, 3, 200, 200)
    given = {"pooling": pooled, "interpolate": resized}
    return {name: rows(each, *images) + named("gradient", rows(slopes(each), *images)) for name, each in given.items()}


# ---------------------------------------------------------------- networks' parts


def _attention():
    def attention(torch, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    sizes = [(shape,) * 3 for shape in ((2, 4, 128, 64), (1, 2, 700, 32), (2, 2, 9, 8))]
    found = rows(attention, *sizes, means=(0,)) + rows(attention, *sizes, means=(1,))
    return found + named("gradients", rows(gradients(attention), *[(*s, s[0]) for s in sizes], means=(0, 1)))


def _recurrent():
    def network(kind):
        def compute(torch, x, *weights):
            layer = getattr(torch.nn, kind)(x.shape[2], weights[0].shape[1], dtype=x.dtype)
            scale = min(0.1, weights[0].shape[1] ** -0.5)
            with torch.no_grad():
                for parameter, weight in zip(layer.parameters(), weights):
                    parameter.copy_(weight[: len(parameter), : parameter.shape[-1]].reshape(parameter.shape) * scale
                                    if parameter.ndim == 2 else weight[0, : len(parameter)] * scale)  # fmt: skip
            x.requires_grad_()
            out = layer(x)[0]
            out.sum().backward()
            return out, x.grad, layer.weight_hh_l0.grad, layer.weight_ih_l0.grad, layer.bias_ih_l0.grad

        return compute

    found = []
    for kind in ("LSTM", "GRU", "RNN"):
        for steps, batch, inputs, hidden in ((20, 16, 40, 64), (30, 3, 10, 300), (8, 24, 50, 600)):
            weights = ((4 * hidden, hidden),) * 2 + ((1, 4 * hidden),) * 2
            found += named(kind, rows(network(kind), ((steps, batch, inputs), *weights), means=(0,)))
    return found


def _places():
    def bags(torch, x):
        index = torch.arange(6000) * 7919 % len(x)
        return [torch.nn.functional.embedding_bag(index.reshape(30, 200), x, mode=mode) for mode in ("sum", "mean")]

    def added(torch, x):
        index = torch.arange(len(x)) * 7919 % 13
        return torch.zeros(13, x.shape[1], dtype=x.dtype).index_add(0, index, x)

    def scattered(torch, x):
        index = (torch.arange(x.numel()) * 7919 % 13).reshape(x.shape)
        return torch.zeros(13, x.shape[1], dtype=x.dtype).scatter_add(0, index, x)

    def looked_up(torch, x):
        table = torch.zeros(7, x.shape[1], dtype=x.dtype, requires_grad=True)
        found = torch.nn.functional.embedding(torch.arange(len(x)) * 7919 % 7, table)
        return torch.autograd.grad(found, table, x)

    sizes = (1000, 64), (3000, 300)
    return {
        "embedding gradient": rows(looked_up, *sizes),
        "embedding_bag": rows(bags, *sizes),
        "index_add": rows(added, *sizes),
        "scatter_add": rows(scattered, *sizes),
    }


def _geometry():
    def cdist(torch, a, b):
        return torch.cdist(a, b), torch.cdist(a, b, p=1)

    def distance(torch, a, b):
        return torch.cdist(a, b)

    def cosine(torch, a, b):
        return torch.nn.functional.cosine_similarity(a, b), torch.nn.functional.cosine_similarity(a, b, dim=0)

    def transformed(torch, x):
        return torch.view_as_real(torch.fft.fft(x)), torch.view_as_real(torch.fft.rfft(x, dim=0))

    pairs = [((m, k), (m + 5, k)) for m, k in ((20, 64), (60, 1000))]
    return {
        "cdist": rows(cdist, *pairs)
        + named("gradients", rows(gradients(distance), *[(*p, (p[0][0], p[1][0])) for p in pairs])),
        "cosine_similarity": rows(cosine, *[((m, k), (m, k)) for m, k in ((20, 64), (200, 3000))]),
        "fft": rows(transformed, (64, 100), (16, 1009), (8, 65_536), (1024, 1024)),
    }


def _optimizers():
    def stepped(name, options):
        def compute(torch, x, grad):
            parameter = torch.nn.Parameter(x)
            optimizer = getattr(torch.optim, name)([parameter], **options)
            for step in range(10):
                parameter.grad = grad * (1 + 0.1 * step)
                optimizer.step()
            return parameter

        return compute

    given = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {}, "AdamW": {}, "RMSprop": {}, "Adagrad": {}, "NAdam": {}, "Adamax": {},
             "RAdam": {}, "Adadelta": {}, "ASGD": {}, "Rprop": {}}  # fmt: skip
    found = []
    for name, options in given.items():
        found += named(name, rows(stepped(name, options), ((30, 20),) * 2, ((500, 300),) * 2, means=(0,)))
    return found


FAMILIES = {
    **_reductions(),
    "variance": _variances(),
    **_softmaxes(),
    "losses": _losses(),
    **_norms(),
    "matmul": _products(),
    "linear": _linears(),
    "convolution": _convolutions(),
    **_windows(),
    "attention": _attention(),
    "recurrent": _recurrent(),
    **_places(),
    **_geometry(),
    "optimizer": _optimizers(),
}
