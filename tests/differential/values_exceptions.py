"""Where results may differ, and why."""

import re
from typing import NamedTuple

import numpy as np


def _not_finite(call):
    """Whether an operand holds NaN or an infinity."""
    return any(not np.isfinite(array.numbers).all() for array in call.arrays if array.is_floating)


def _infinite(call):
    return any(np.isposinf(array.numbers).any() for array in call.arrays)


def _nan(call):
    return any(np.isnan(array.numbers).any() for array in call.arrays if array.is_floating)


def _long(call):
    return max(array.numbers.size for array in call.arrays) > 16


def _deficient(call):
    """Whether a matrix has equal or zero elements enough to lack a rank, or is not finite."""
    return _not_finite(call) or any(
        array.numbers.ndim > 1 and np.unique(array.numbers).size < array.numbers.size for array in call.arrays
    )


def _extreme(call):
    """Whether an operand of floats holds what overflows when squared, or is not finite."""
    return _not_finite(call) or any((np.abs(array.numbers) > 1e15).any() for array in call.arrays if array.is_floating)


def _extreme_or_tiny(call):
    """The same, or a denormal number."""
    return _extreme(call) or any(
        ((array.numbers != 0) & (np.abs(array.numbers) < 1e-30)).any() for array in call.arrays if array.is_floating
    )


def _both_zeros(call):
    zeros = call.arrays[0].numbers[call.arrays[0].numbers == 0]
    return np.signbit(zeros).any() and not np.signbit(zeros).all()


def _half(call):
    return call.dtype in ("float16", "bfloat16")


def _complex(call):
    return call.dtype.startswith("complex")


def _at_poles(call):
    """Whether an operand holds a whole number up to 0."""
    return any(
        ((a.numbers <= 0) & (a.numbers == np.floor(a.numbers))).any() for a in call.arrays if a.dtype[:7] != "complex"
    )


def _left_of_one(call):
    return any((array.numbers < 1).any() for array in call.arrays if array.dtype[:7] != "complex")


def _half_or_double(call):
    return _half(call) or call.dtype == "float64"


def _double(call):
    return call.dtype == "float64"


def _huge(call):
    """Whether the first operand holds a number whose square is about infinite, or an integer without room in its floats."""
    return bool((np.abs(call.arrays[0].numbers) > 1e15).any())


def _points_nowhere(call):
    """Whether a grid of points holds NaN or an infinity."""
    return not np.isfinite(call.arrays[1].numbers).all()


class Known(NamedTuple):
    """Differences that are meant: of operations whose names match, of these orders and kinds (words that a difference starts
    with; None: all), where the call meets a condition."""

    names: re.Pattern
    orders: tuple | None
    kinds: tuple | None
    condition: object
    reason: str


def _known(names, orders, kinds, condition, reason):
    return Known(
        re.compile(names), orders and tuple(orders.split("+")), kinds and tuple(kinds.split("+")), condition, reason
    )


KNOWN = (
    _known(
        r"linalg\.(cholesky|cond|det|eig|householder|inv|ldl|lstsq|lu|matrix_norm|matrix_power|matrix_rank|multi_dot|norm|"
        r"pinv|qr|slogdet|solve|svd|tensor|vander|matrix_exp)|cholesky|geqrf|logdet|lu|ormqr|orgqr|pinverse|qr|svd|"
        r"triangular_solve|symeig|norm$|matrix_exp",
        None, None, _deficient,
        "LAPACK's and our own algorithms meet NaN and infinities in another order; without full rank, parts are free",
    ),
    _known(r"svd_lowrank|pca_lowrank", None, None, None, "random projections, and vectors of free signs"),
    _known(r"fft\.|stft|istft", None, "NaN+infinities+infinite", _not_finite, "infinities meet in another order of additions"),
    _known(
        r"(nn\.functional\.)?(maximum|minimum|max|min|amax|amin|aminmax|clamp|clamp_min|clamp_max|softshrink|mode)$",
        None, "sign of zero", None, "PyTorch's vector loop gives another zero than its loop over the last elements",
    ),
    _known(
        r"nn\.functional\.(hardtanh|relu6|elu|celu|selu|hardswish|hardsigmoid|softshrink|hardshrink|leaky_relu|prelu|rrelu)$",
        "gradient+second gradient", None, _nan,
        "PyTorch's vector loop takes NaN for one side of a bend, its loop over the last elements for the other",
    ),
    _known(
        r"special\..*polynomial", None, "NaN+infinities+values", None,
        "recurrences in another order: infinities less themselves, and lost digits at high degrees",
    ),
    _known(
        r"special\..*bessel|special\.airy|special\.(i0|i1)|i0$", None, "NaN+values+infinities+sign of zero", None,
        "ours are exact to 1e-15, PyTorch's to 1e-6 in float64, and finite or infinite where its series are NaN",
    ),
    _known(
        r"(special\.)?polygamma|mvlgamma|digamma|lgamma", None, "infinities", _at_poles,
        "PyTorch's trigamma (polygamma, slopes of digamma) is finite at its poles: it divides by the sine of a rounded pi",
    ),
    _known(
        r"(special\.)?polygamma|mvlgamma|digamma|lgamma", None, "values", _left_of_one,
        "PyTorch's trigamma is wrong near its poles for the same reason",
    ),
    _known(
        r"(special\.)?polygamma|mvlgamma", "result", "values", _half_or_double,
        "PyTorch's trigamma breaks its series off after 1e-13; it rounds the factors of half precision",
    ),
    _known(r"igammac?$", None, "values", _double, "PyTorch loses nine digits near 20"),
    _known(
        r"igammac?$|special\.zeta|(special\.)?polygamma", None, "NaN", _huge, "PyTorch's are NaN for the largest numbers, ours the limit"
    ),
    _known(r"special\.ndtr", None, "values", None, "tails of 1 + erf(x), of which one rounding of erf is a large share, in both"),
    _known(
        r"nn\.functional\.gelu$", None, "NaN", _infinite, "PyTorch's vector loop makes NaN of infinity, its loop over the last elements does not"
    ),
    _known(r"hypot$", None, "values+infinities", _extreme_or_tiny, "squares and quotients of the largest and of denormal numbers"),
    _known(r"hypot$", "gradient", "NaN", _half, "PyTorch multiplies by the operand before it divides: that overflows"),
    _known(r"copysign$", "second gradient", "values", _half, "PyTorch differentiates a rounded quotient that is 1 or -1"),
    _known(r"special\.ndtr$", "second gradient", "NaN", _extreme, "PyTorch multiplies the density, 0, by an infinite slope"),
    _known(r"nn\.functional\.soft_margin_loss", None, "NaN+infinities", None, "ours does not overflow"),
    _known(
        r"var_mean|std_mean|native_group_norm|native_layer_norm|native_batch_norm", None, None, _extreme,
        "PyTorch updates means element by element: infinity less itself is NaN",
    ),
    _known(r"(sort|msort|topk)$", "result", "sign of zero", _both_zeros, "equal elements in no stable order: 0 and -0 among them"),
    _known(
        r"as_strided_scatter$", "gradient+second gradient", "values+NaN+infinities", None,
        "PyTorch's gradient of self flows where it was written over, and nowhere else",
    ),
    _known(r"mode$", None, "values+differ", _nan, "PyTorch's order of a row with NaN is none, so runs of equal elements are cut"),
    _known(r"nn\.functional\.ctc_loss$", "gradient+second gradient", None, _not_finite, "NaN reaches all gradients there"),
    _known(
        r"nn\.functional\.scaled_dot_product_attention$", None, "NaN+infinities", _not_finite,
        "where a mask hides scores that are NaN, PyTorch's ways of computing attention differ among each other",
    ),
    _known(r"(copysign|signbit)$", "result+gradient+second gradient", "values+differ+sign of zero", _nan, "the sign of NaN after a conversion, which PyTorch keeps or not by the way that it converts"),
    _known(r"asinh$", "second gradient", None, _extreme, "squares overflow"),
    _known(r"add$|sub$|rsub$", "result", "NaN+infinities", _extreme, "alpha's product is fused there: it does not overflow by itself"),
    _known(r"native_group_norm$", "result+gradient+second gradient", "values", None, "PyTorch takes weights with gaps for whole ones"),
    _known(r"(kron|take_along_dim)$", "error", "PyTorch: RuntimeError: view size", None, "PyTorch views what it should reshape"),
    _known(
        r"(scatter|index)_reduce$", "second gradient", "values+NaN+infinities", _half, "products of half precision that cancel"
    ),
    _known(
        r"(logaddexp|ldexp|pow|__rpow__)$", None, "infinite+sign of zero", _complex,
        "complex zeros and infinities: PyTorch's vector loops differ from its loop over single elements",
    ),
    _known(
        r"(nn\.functional\.)?grid_sampler?(_[23]d)?$", None, "NaN+infinities+values", _points_nowhere,
        "PyTorch's images take NaN for the first pixel, its volumes for the last or for none; its gradients of images write outside",
    ),
    _known(
        r"nn\.functional\.conv(?!_transpose)|nn\.functional\.conv_transpose", None, "NaN", _not_finite,
        "padding's zeros times infinite weights: PyTorch's libraries differ case by case",
    ),
)  # fmt: skip


def unsteady(call):
    """Whether PyTorch gives what it finds in memory, or lacks a counterpart here."""
    name = call.info.name
    if name == "bucketize" and _nan(call):
        return True  # boundaries that are not sorted
    if "polynomial" in name and any(np.nanmax(np.abs(array.numbers), initial=0) > 1e4 for array in call.arrays):
        return True  # PyTorch counts up to such degrees
    if name in ("complex", "polar") and call.dtype == "float16":
        return True  # complex halves
    if name.startswith(("linalg.eig", "linalg.lstsq", "eig")) and _not_finite(call):
        return True  # LAPACK in PyTorch may end the process
    if name in ("lcm", "div", "floor_divide", "fmod", "remainder", "__rdiv__", "__rmod__") and call.dtype in (
        "int32",
        "int64",
    ):
        return any(
            (array.numbers == np.iinfo(call.dtype).min).any() for array in call.arrays
        )  # it dies of the lowest by -1
    return name.startswith(("empty", "new_empty", "resize", "chalf", "to_sparse", "max_pool2d_with_indices_backward"))


def can_grow(call):
    """Whether repeating the numbers of a call leaves it valid: not where some of them have to be in order."""
    return call.info.name not in ("searchsorted", "bucketize", "nn.functional.embedding_bag", "segment_reduce")


def excused(call, order, what):
    """Whether a difference is one of those that are known and meant."""
    kind = re.sub(r"^\[\d+\] ", "", what)
    return any(
        known.names.match(call.info.name)
        and (known.orders is None or order in known.orders)
        and (known.kinds is None or kind.startswith(known.kinds))
        and (known.condition is None or known.condition(call))
        for known in KNOWN
    )
