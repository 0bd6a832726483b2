"""Rows of `large_operations`: element by element, with broadcasting, dtypes and layouts, in place, and losses."""

from __future__ import annotations


def _function(name):
    return lambda o, x: getattr(o.torch, name)(x)


def _activation(name):
    return lambda o, x: getattr(o.F, name)(x)


def _pair(name):
    return lambda o, x, y: getattr(o.torch, name)(x, y)


def _special(name):
    return lambda o: getattr(o.torch.special, name)(o.positive)


def _loss(name, target, reduction="mean"):
    return lambda o, x: getattr(o.F, name)(x, getattr(o, target), reduction=reduction)


UNARY = {  # operand -> functions of it
    "x": "abs exp expm1 square sin cos tan atan sinh tanh asinh sigmoid erf sign round relu nan_to_num",
    "positive": "log log2 log1p sqrt rsqrt reciprocal lgamma",
    "inside": "asin atanh erfinv",
    "share": "logit",
    "above_one": "acosh",
}
ACTIVATIONS = "elu selu gelu silu mish softplus softsign hardtanh hardswish leaky_relu logsigmoid softshrink"
SPECIAL = "entr erfcx i0 i1e log_ndtr bessel_j0 bessel_y1 modified_bessel_k0"
LOSSES = {  # loss -> target
    "mse_loss": "y",
    "l1_loss": "y",
    "smooth_l1_loss": "y",
    "huber_loss": "y",
    "binary_cross_entropy_with_logits": "share",
    "soft_margin_loss": "signs",
    "hinge_embedding_loss": "signs",
    "poisson_nll_loss": "positive",
}
PAIRS = "add sub mul maximum minimum atan2 logaddexp"
INTEGERS = "add mul truediv floordiv mod and lshift"

GRADIENTS = {  # (operands whose gradients are computed, function of the others and of them)
    **{name: (operand, _function(name)) for operand, names in UNARY.items() for name in names.split()},
    **{name: ("x", _activation(name)) for name in ACTIVATIONS.split()},
    **{name: ("x y", _pair(name)) for name in PAIRS.split()},
    **{name: ("x", _loss(name, target)) for name, target in LOSSES.items()},
    "kl_div": ("x", _loss("kl_div", "share", "batchmean")),
    "mse_loss, unreduced": ("x", _loss("mse_loss", "y", "none")),
    "div": ("x positive", _pair("div")),
    "hypot": ("x positive", _pair("hypot")),
    "pow": ("positive inside", _pair("pow")),
    "remainder": ("x positive", _pair("remainder")),
    "gelu tanh": ("x", lambda o, x: o.F.gelu(x, approximate="tanh")),
    "gelu float64": ("doubles", lambda o, x: o.F.gelu(x)),
    "gelu bfloat16": ("halves", lambda o, x: o.F.gelu(x)),
    "exp bfloat16": ("halves", lambda o, x: x.exp()),
    "tanh transposed": ("matrix", lambda o, x: x.t().tanh()),
    "prelu": ("x row", lambda o, x, w: o.F.prelu(x, w[:1])),
    "glu": ("matrix", lambda o, x: o.F.glu(x[:, : o.side // 2 * 2])),
    "threshold": ("x", lambda o, x: o.F.threshold(x, 0.0, 1.0)),
    "pow 2": ("x", lambda o, x: x**2),
    "pow 3": ("x", lambda o, x: x**3),
    "pow 0.5": ("positive", lambda o, x: x**0.5),
    "pow -1": ("positive", lambda o, x: x**-1),
    "1 - x": ("x", lambda o, x: 1 - x),
    "1 / x": ("positive", lambda o, x: 1 / x),
    "x * number": ("x", lambda o, x: x * 1.7),
    "x + row": ("matrix row", lambda o, x, y: x + y),
    "x * column": ("matrix column", lambda o, x, y: x * y),
    "x + transposed": ("matrix other", lambda o, x, y: x + y.t()),
    "x * y float64": ("doubles more_doubles", lambda o, x, y: x * y),
    "x * y complex": ("complexes", lambda o, x: x * x.conj()),
    "addcmul": ("x y positive", lambda o, x, y, p: o.torch.addcmul(x, y, p, value=0.5)),
    "addcdiv": ("x y positive", lambda o, x, y, p: o.torch.addcdiv(x, y, p, value=0.5)),
    "lerp": ("x y", lambda o, x, y: o.torch.lerp(x, y, 0.3)),
    "lerp by tensor": ("x y share", lambda o, x, y, w: o.torch.lerp(x, y, w)),
    "where": ("x y", lambda o, x, y: o.torch.where(o.mask, x, y)),
    "where number": ("x", lambda o, x: o.torch.where(o.mask, x, 0.0)),
    "masked_fill": ("x", lambda o, x: x.masked_fill(o.mask, 0.0)),
    "clamp": ("x", lambda o, x: x.clamp(-1, 1)),
    "clamp min": ("x", lambda o, x: x.clamp(min=0)),
    "clamp by tensors": ("x", lambda o, x: x.clamp(o.y, o.positive)),
    "binary_cross_entropy": ("share", lambda o, x: o.F.binary_cross_entropy(x, o.share)),
    "gaussian_nll_loss": ("x", lambda o, x: o.F.gaussian_nll_loss(x, o.y, o.positive)),
    "margin_ranking_loss": ("x y", lambda o, x, y: o.F.margin_ranking_loss(x, y, o.signs)),
    "formula of six": ("x y", lambda o, x, y: (x * y + x.tanh() * 0.5 - y).sigmoid()),
}


def _applied(operator, left, right):
    return lambda o: getattr(getattr(o, left), operator)(getattr(o, right) if isinstance(right, str) else right)


def _in_place(method, *arguments, operand="z", **options):
    def call(o):
        given = (getattr(o, a) if isinstance(a, str) else a for a in arguments)
        return getattr(getattr(o, operand), method)(*given, **options)

    return call


CALLS = {
    **{f"special.{name}": _special(name) for name in SPECIAL.split()},
    "==": _applied("__eq__", "x", "y"),
    "> number": _applied("__gt__", "x", 0.5),
    "< ints": _applied("__lt__", "ints", "more_ints"),
    ">= bfloat16": _applied("__ge__", "halves", "more_halves"),
    "< row": _applied("__lt__", "matrix", "row"),
    **{f"ints {name}": _applied(f"__{name}__", "ints", "more_ints") for name in INTEGERS.split()},
    "isnan": lambda o: o.torch.isnan(o.x),
    "isinf": lambda o: o.torch.isinf(o.x),
    "isfinite": lambda o: o.torch.isfinite(o.x),
    "signbit": lambda o: o.torch.signbit(o.x),
    "floor_divide": lambda o: o.x // o.positive,
    "nextafter": lambda o: o.torch.nextafter(o.x, o.y),
    "heaviside": lambda o: o.torch.heaviside(o.x, o.y),
    "isclose": lambda o: o.torch.isclose(o.x, o.y),
    "allclose": lambda o: o.torch.allclose(o.x, o.x),
    "equal": lambda o: o.torch.equal(o.x, o.x),
    "gcd": lambda o: o.torch.gcd(o.ints, o.more_ints),
    "logical_and": lambda o: o.torch.logical_and(o.x, o.y),
    "masks and": lambda o: o.mask & o.other_mask,
    "mask not": lambda o: ~o.mask,
    "ints neg": lambda o: -o.ints,
    "ints abs": lambda o: o.ints.abs(),
    "ints clamp": lambda o: o.ints.clamp(3, 50),
    "ints * float": lambda o: o.ints * o.x,
    "int32 + int32": lambda o: o.short_ints + o.short_ints,
    "complex abs": lambda o: o.complexes.abs(),
    "complex exp": lambda o: o.complexes.exp(),
    "complex angle": lambda o: o.complexes.angle(),
    "add_ alpha": _in_place("add_", "y", alpha=1e-9),
    "mul_ number": _in_place("mul_", 1.0),
    "mul_ tensor": _in_place("mul_", "signs"),
    "clamp_": _in_place("clamp_", -5, 5),
    "addcmul_": _in_place("addcmul_", "y", "y", value=0.0),
    "lerp_": _in_place("lerp_", "y", 0.0),
    "relu_": _in_place("relu_"),
    "abs_": _in_place("abs_"),
    "neg_": _in_place("neg_"),
    "masked_fill_": _in_place("masked_fill_", "mask", 1.0),
    "zero_": _in_place("zero_"),
    "fill_": _in_place("fill_", 2.0),
    "copy_": _in_place("copy_", "x"),
    "copy_ bfloat16": _in_place("copy_", "halves"),
    "copy_ transposed": lambda o: o.target.copy_(o.matrix.t()),
    "add_ row": lambda o: o.target.add_(o.row, alpha=1e-9),
}
