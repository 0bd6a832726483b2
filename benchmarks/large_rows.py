"""Rows of `large_operations`: along a dimension: reductions, scans, softmax, norms, losses of classes, sorting, products."""

from __future__ import annotations

SHAPES = {  # what is reduced -> how it is called (operand, dimension)
    "": ("x", None),
    " dim 0": ("matrix", 0),
    " dim 1": ("matrix", 1),
    " transposed": ("transposed", 1),
    " middle": ("batch", 1),
    " tall": ("tall", 0),
    " rows of 8": ("tall", 1),
}


def _reduction(name, dim, transposed=False):
    """A reduction by its name, of all elements or along a dimension: the values of those that give places, too."""

    def call(o, x):
        x = x.t() if transposed else x
        found = getattr(o.torch, name)(x) if dim is None else getattr(o.torch, name)(x, dim=dim)
        return found if isinstance(found, o.torch.Tensor) else found[0]

    return call


def _reductions(names, shapes):
    found = {}
    for name in names.split():
        for label in shapes:
            operand, dim = SHAPES[label]
            transposed = operand == "transposed"
            found[name + label] = ("matrix" if transposed else operand, _reduction(name, dim, transposed))
    return found


def _of_places(name, dim):
    operand, axis = SHAPES[dim]
    return lambda o: _reduction(name, axis)(o, getattr(o, operand))


ALONG = (" dim 0", " dim 1")

GRADIENTS = {
    **_reductions("sum", SHAPES),
    **_reductions("mean std prod amax max norm median", ("", *ALONG)),
    **_reductions("logsumexp cumsum cumprod cummax softmax", ALONG),
    **_reductions("log_softmax logcumsumexp", [" dim 1"]),
    **_reductions("softmax", [" rows of 8", " middle"]),
    "sum bfloat16": ("halves", lambda o, x: x.sum()),
    "sum float64": ("doubles", lambda o, x: x.sum()),
    "mean of outer dimensions": ("images", lambda o, x: x.mean((0, 2, 3))),
    "sum of every second": ("x", lambda o, x: x[::2].sum()),
    "norm 1": ("x", lambda o, x: x.norm(1)),
    "norm 3": ("x", lambda o, x: x.norm(3)),
    "norm inf": ("x", lambda o, x: x.norm(float("inf"))),
    "dist": ("x y", lambda o, x, y: o.torch.dist(x, y)),
    "dot": ("x y", lambda o, x, y: x @ y),
    "diff": ("x", lambda o, x: x.diff()),
    "trapezoid": ("x", lambda o, x: o.torch.trapezoid(x)),
    "renorm": ("matrix", lambda o, x: x.renorm(2, 0, 1.0)),
    "softmax bfloat16": ("half_matrix", lambda o, x: x.softmax(1)),
    "normalize": ("matrix", lambda o, x: o.F.normalize(x)),
    "cosine_similarity": ("matrix other", lambda o, x, y: o.F.cosine_similarity(x, y)),
    "pairwise_distance": ("matrix other", lambda o, x, y: o.F.pairwise_distance(x, y)),
    "layer_norm": ("matrix row weight", lambda o, x, w, b: o.F.layer_norm(x, (o.side,), w, b)),
    "rms_norm": ("matrix row", lambda o, x, w: o.F.rms_norm(x, (o.side,), w)),
    "batch_norm": ("matrix row weight", lambda o, x, w, b: o.F.batch_norm(x, None, None, w, b, True)),
    "batch_norm of images": ("images", lambda o, x: o.F.batch_norm(x, None, None, training=True)),
    "group_norm": ("images", lambda o, x: o.F.group_norm(x, 8)),
    "instance_norm": ("images", lambda o, x: o.F.instance_norm(x)),
    "cross_entropy": ("matrix", lambda o, x: o.F.cross_entropy(x, o.classes)),
    "cross_entropy, shares": ("matrix", lambda o, x: o.F.cross_entropy(x, o.probabilities)),
    "cross_entropy, smoothed": ("matrix", lambda o, x: o.F.cross_entropy(x, o.classes, label_smoothing=0.1)),
    "nll_loss": ("matrix", lambda o, x: o.F.nll_loss(x, o.classes)),
    "triplet_margin_loss": ("matrix other", lambda o, x, y: o.F.triplet_margin_loss(x, y, o.target)),
    "multi_margin_loss": ("matrix", lambda o, x: o.F.multi_margin_loss(x, o.classes)),
    "max_pool2d": ("images", lambda o, x: o.F.max_pool2d(x, 2)),
    "max_pool2d overlapping": ("images", lambda o, x: o.F.max_pool2d(x, 3, 2, 1)),
    "avg_pool2d": ("images", lambda o, x: o.F.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": ("images", lambda o, x: o.F.adaptive_avg_pool2d(x, 1)),
    "interpolate": ("images", lambda o, x: o.F.interpolate(x, scale_factor=0.5, mode="bilinear")),
    "unfold": ("images", lambda o, x: o.F.unfold(x[:4], 3)),
    "sort": ("x", lambda o, x: x.sort().values),
    "sort dim 1": ("matrix", lambda o, x: x.sort(1).values),
    "topk 10": ("x", lambda o, x: x.topk(10).values),
    "topk dim 1": ("matrix", lambda o, x: x.topk(10, 1).values),
    "matrix @ vector": ("matrix row", lambda o, x, v: x @ v),
    "vector @ matrix": ("matrix row", lambda o, x, v: v @ x),
    "batch @ batch": ("batch", lambda o, x: x @ x),
    "outer": ("row weight", lambda o, x, y: o.torch.outer(x, y)),
    "einsum of rows": ("matrix other", lambda o, x, y: o.torch.einsum("ij,ij->i", x, y)),
}

CALLS = {
    **{name + dim: _of_places(name, dim) for name in ("argmax", "argmin", "count_nonzero") for dim in ("", *ALONG)},
    "sum of ints": lambda o: o.ints.sum(),
    "sum of int32": lambda o: o.short_ints.sum(),
    "sum of flags": lambda o: o.mask.sum(),
    "sum of masks dim 1": lambda o: o.masks.sum(1),
    "max of ints": lambda o: o.ints.max(),
    "cumsum of ints": lambda o: o.ints.cumsum(0),
    "all": lambda o: o.mask.all(),
    "any dim 1": lambda o: o.masks.any(1),
    "aminmax": lambda o: o.torch.aminmax(o.x),
    "var_mean": lambda o: o.torch.var_mean(o.matrix, 1),
    "std_mean dim 0": lambda o: o.torch.std_mean(o.matrix, 0),
    "cov": lambda o: o.matrix[:200].cov(),
    "quantile": lambda o: o.x.quantile(0.3),
    "kthvalue": lambda o: o.x.kthvalue(o.size // 2),
    "mode": lambda o: o.ints.mode(),
    "argsort": lambda o: o.x.argsort(),
    "argsort dim 1": lambda o: o.matrix.argsort(1),
    "sort of ints": lambda o: o.ints.sort(),
    "unique": lambda o: o.ints.unique(),
    "bincount": lambda o: o.ints.bincount(),
    "histc": lambda o: o.x.histc(100),
    "searchsorted": lambda o: o.torch.searchsorted(o.sorted, o.x),
    "bucketize": lambda o: o.torch.bucketize(o.x, o.sorted[:100]),
    "fft": lambda o: o.torch.fft.fft(o.matrix),
    "rfft of all": lambda o: o.torch.fft.rfft(o.x),
    "cdist": lambda o: o.torch.cdist(o.matrix[:, :64], o.other[:, :64]),
}
