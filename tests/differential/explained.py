"""Where the two libraries may differ, each case by a narrow condition and with the reason: the testers tell the rest alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np
import torch
from explained_gradients import GRADIENTS
from explained_graphs import (
    replayed_view,
    retained_before_a_view,
    rounded_to_single,
    sign_of_a_rest,
    write_into_windows,
    write_of_its_own_window,
)
from libraries import array_of, name_of


class Case(NamedTuple):
    """A difference: the function's name, PyTorch's operands, both outcomes, what differs in words, and named operands; of a call
    also both gradients, and a function that gives PyTorch's of the same numbers in double precision."""

    name: str
    operands: tuple
    ours: object
    theirs: object
    told: str
    options: dict
    gradients: tuple
    exact: Callable | None


def _refused_by_pytorch(case, *words):
    return "taken here, PyTorch raises" in case.told and any(each in case.told for each in words)


def _gradient_of_real_part(case):
    """A real tensor that was written into a complex one: PyTorch's gradient is complex, and its own check stops it."""
    return _refused_by_pytorch(case, "isFloatingType(grad.scalar_type())")


def _no_index(case):
    """The derivative of ``index_put`` without any index, which PyTorch itself takes, fails in its own indexing."""
    return case.name in ("put", "accumulate") and _refused_by_pytorch(case, "at least one index must be provided")


def _view_inside(case):
    """PyTorch's own code calls view() where the operands' strides do not allow it; the call has a result."""
    named = case.name in ("kron", "take_along_dim") or case.name.startswith("nn.functional.max_unpool")
    return named and _refused_by_pytorch(case, "view size is not compatible")


# Which of equal elements is named where no stable order is asked for: PyTorch's own paths differ among each other.
_PLACED = {
    "topk": -1,
    "kthvalue": -1,
    "mode": -1,
    "median": -1,
    "nanmedian": -1,
    "sort": -1,
    "argsort": None,
    "msort": -1,
}


def _equal_elements(case):
    """Positions among equal elements (NaN are equal), where PyTorch's order is not stable."""
    if case.name not in _PLACED or not isinstance(case.operands[0], torch.Tensor) or _is_outward(case):
        return False
    pairs = []
    for result in (case.ours, case.theirs):
        places = result if _PLACED[case.name] is None else result[-1]
        pairs.append((None if places is result else array_of(result[0]), torch.from_numpy(array_of(places))))
    (mine, ours), (other, theirs) = pairs
    source = case.operands[0].detach()
    if ours.shape != theirs.shape or (mine is not None and not _same(torch.from_numpy(mine), torch.from_numpy(other))):
        return False
    if ours.ndim != source.ndim:  # a reduced dimension: of which length does not matter
        return mine is not None
    return any(
        _same(source.gather(dim, ours), source.gather(dim, theirs))
        for dim in range(source.ndim)
        if all(n <= m for d, (n, m) in enumerate(zip(ours.shape, source.shape)) if d != dim)
        and (not ours.numel() or max(int(ours.max()), int(theirs.max())) < source.shape[dim])
    )


def _same(a, b):
    if not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _product(name, parts):
    """The matrix that a decomposition stands for (for `eig`: both sides of its equation, from the vectors' side)."""
    if name in ("linalg.svd", "svd"):
        u, s, v = parts
        v = v.mH if name == "svd" else v
        size = s.shape[-1]
        return (u[..., :size] * s.unsqueeze(-2).to(u.dtype)) @ v[..., :size, :]
    values, vectors = parts
    if name == "linalg.eigh":
        return (vectors * values.unsqueeze(-2).to(vectors.dtype)) @ vectors.mH
    return vectors * values.unsqueeze(-2)


_DECOMPOSED = ("linalg.svd", "svd", "linalg.eigh", "linalg.eig")


def _free_vectors(case):
    """Vectors of a decomposition have a free sign or phase, and those of equal values a free basis."""
    if case.name not in _DECOMPOSED or not isinstance(case.ours, tuple) or not isinstance(case.theirs, tuple):
        return False
    if case.told.startswith("gradient"):
        return "raises" not in case.told and (not _same_choice(case) or _has_equal_values(case))
    matrix = case.operands[0].detach()
    parts = [torch.from_numpy(array_of(part)) for part in case.ours]
    found = _product(case.name, parts)
    expected = matrix.to(parts[0].dtype) if case.name != "linalg.eig" else matrix.to(parts[1].dtype) @ parts[1]
    if case.name == "linalg.eigh":
        expected = _hermitian(matrix, case)
    scale = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    return found.shape == expected.shape and bool((found - expected).abs().le(1e-3 * scale).all())


def _same_choice(case):
    """Whether both libraries found the same vectors, signs and phases included."""
    pairs = zip(map(array_of, case.ours), map(array_of, case.theirs))
    return all(np.allclose(ours, theirs, 1e-3, 1e-3) for ours, theirs in pairs)


def _has_equal_values(case):
    """Whether singular values or eigenvalues are equal, or singular ones 0: there gradients of vectors are not defined."""
    values = array_of(case.theirs[1] if case.name.endswith("svd") else case.theirs[0])
    size = values.shape[-1]
    apart = np.abs(values[..., :, None] - values[..., None, :])[..., ~np.eye(size, dtype=bool)]
    if case.name.endswith("svd"):
        apart = np.concatenate([apart, values], -1)
    return bool((apart < 1e-3 * max(1.0, float(np.abs(values).max(initial=0)))).any())


def _hermitian(matrix, case):
    lower = "U" not in case.operands[1:]
    half = matrix.tril(-1) if lower else matrix.triu(1)
    diagonal = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1).real.to(matrix.dtype))
    return half + half.mH + diagonal


def _half_overflow(case):
    """Products in half precision that pass its largest number on the way: PyTorch rounds each partial result, so that
    infinities and, by a zero, NaN come out; here they are taken in float32 and rounded once."""
    dtypes = {name_of(operand.dtype) for operand in case.operands if isinstance(operand, torch.Tensor)}
    named = case.name in ("prod", "matrix_exp", "linalg.matrix_exp", "nn.functional.soft_margin_loss")
    return named and not dtypes.isdisjoint(("float16", "bfloat16")) and _is_infinite(case.told)


def _second_kind(n, x):
    return mpmath.chebyu(n, x) if n >= 0 else mpmath.mpf(0)


_CHEBYSHEV = {
    "t": lambda n, x: mpmath.chebyt(n, x),
    "u": _second_kind,
    "v": lambda n, x: _second_kind(n, x) - _second_kind(n - 1, x),
    "w": lambda n, x: _second_kind(n, x) + _second_kind(n - 1, x),
}


def _shifted(exact):
    return lambda n, x: exact(n, 2 * x - 1)


# The polynomials by their names, with mpmath's numbers for a degree and a place.
_POLYNOMIALS = {
    "hermite_polynomial_h": lambda n, x: mpmath.hermite(n, x),
    "hermite_polynomial_he": lambda n, x: mpmath.hermite(n, x / mpmath.sqrt(2)) / mpmath.mpf(2) ** (mpmath.mpf(n) / 2),
    "laguerre_polynomial_l": lambda n, x: mpmath.laguerre(n, 0, x),
    "legendre_polynomial_p": lambda n, x: mpmath.legendre(n, x),
    **{f"chebyshev_polynomial_{kind}": exact for kind, exact in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _shifted(exact) for kind, exact in _CHEBYSHEV.items()},
}


def _exact_value(name, first, second):
    if name == "zeta":
        return mpmath.zeta(first, second)
    return _POLYNOMIALS[name](int(second), first)


def _recurrence(case):
    """Polynomials of degrees, and sums of powers (zeta), at which they come near the largest number: the intermediates of
    PyTorch's recurrence pass it, so that NaN and infinities, maybe of the other sign, come out; ours has the number that 30
    digits give, or the infinity that it becomes."""
    name = case.name.removeprefix("special.")
    results = [each for each in (case.ours, case.theirs) if hasattr(each, "detach")]
    if name not in (*_POLYNOMIALS, "zeta") or len(results) != 2 or _is_outward(case):
        return False
    ours, theirs = map(array_of, results)
    places, degrees = (operand.detach().to(torch.float64) for operand in torch.broadcast_tensors(*case.operands[:2]))
    largest = float(np.finfo(ours.dtype).max)
    for mine, other, x, n in zip(ours.ravel(), theirs.ravel(), places.ravel().tolist(), degrees.ravel().tolist()):
        if np.isclose(mine, other, 1e-3, 1e-3, equal_nan=True):
            continue
        with mpmath.workdps(30):
            wanted = float(_exact_value(name, mpmath.mpf(x), mpmath.mpf(n)))
        expected = math.copysign(math.inf, wanted) if abs(wanted) > largest else wanted
        if np.isfinite(other) or not np.isclose(mine, expected, 1e-3):
            return False
    return True


def _less_precise(case):
    """PyTorch's Bessel and Airy functions in float64 are off by up to 2.7e-6 (300 arguments up to 30, against 50 digits);
    ours by 1e-15."""
    named = case.name.startswith(
        ("special.bessel_", "special.airy", "special.modified_bessel", "special.scaled_modified")
    )
    results = [each for each in (case.ours, case.theirs) if hasattr(each, "detach")]
    if not named or len(results) != 2 or case.told.startswith("gradient"):
        return False
    ours, theirs = map(array_of, results)
    return ours.dtype == np.float64 and np.allclose(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True)


def _narrow_exponent(case):
    """``2**exponent`` is rounded to the exponent's dtype by PyTorch, and to the common dtype here: nearer by up to half a unit
    of its last place, a factor of the result."""
    if case.name != "ldexp" or case.told.startswith(("taken", "raises", "dtype", "shape")):
        return False
    exponent = case.operands[1]
    narrow = isinstance(exponent, torch.Tensor) and (exponent.is_floating_point() or exponent.is_complex())
    return narrow and exponent.dtype.to_real() != torch.float64


def _gradient_through_half(case):
    """A gradient that passes through float16 comes to more than its largest number in one order of additions, not in another."""
    return case.name == "program with float16" and case.told.startswith("gradients: [") and _is_infinite(case.told)


def _is_infinite(told):
    """Whether PyTorch's number is infinite or NaN."""
    return re.search(r"not np\.\w+\((nan|-?inf)\)", told) is not None


def _view_of_tracked_integers(case):
    """``eq_`` and its like make a tensor of integers or bools tracked where the other operand is, and PyTorch calls views of it
    from before tracked, too: nothing can flow through either."""
    if case.name != "program" or not case.told.endswith("requires_grad False, not True"):
        return False
    tensors = [each for each in case.operands if isinstance(each, torch.Tensor)]
    tracked = any(each.requires_grad and not (each.is_floating_point() or each.is_complex()) for each in tensors)
    return tracked or re.search(r"<(bool|u?int\d+) [^>]*tracked>", case.told) is not None


def _is_outward(case):
    """Whether the difference is no number: what is taken, and a result's dtype, shape or flag."""
    return re.match(r"(gradient )?(\[\d+\] )*(taken here|raises|dtype|shape|requires_grad)", case.told) is not None


def _nan_times_zero(case):
    """Sums of complex numbers: PyTorch multiplies the second one by ``alpha``, 1 + 0j, and infinity times that 0 is NaN."""
    named = case.name in ("add", "sub", "rsub", "add_", "sub_", "number", "number_", "number_first", "alpha")
    results = [each for each in (case.ours, case.theirs) if hasattr(each, "detach") and each.is_complex()]
    if not named or len(results) != 2 or _is_outward(case):
        return False
    ours, theirs = map(array_of, results)
    return all(
        bool((np.isclose(a, b, 1e-4, 1e-4, equal_nan=True) | (np.isnan(b) & ~np.isfinite(theirs))).all())
        for a, b in ((ours.real, theirs.real), (ours.imag, theirs.imag))
    )


def _deviation_overflow(case):
    """Standard deviations whose square is more than float32 holds: PyTorch takes the root of that infinity."""
    results = [each for each in (case.ours, case.theirs) if hasattr(each, "detach")]
    if case.name != "std" or len(results) != 2 or _is_outward(case):
        return False
    ours, theirs = map(array_of, results)
    wide = np.isinf(theirs) & (np.abs(ours) > np.sqrt(np.finfo(np.float32).max))
    return bool((wide | np.isclose(ours, theirs, 1e-3, 1e-3, equal_nan=True)).all())


def _sign_of_nan(case):
    """The sign of NaN after a conversion to half precision, which PyTorch keeps or not by the way that it converts."""
    return case.name == "copysign" and not _is_outward(case) and bool(case.operands[1].isnan().any())


def _median_of_one_row(case):
    """PyTorch's medians of an expanded dimension sort its one element against memory beside it; ours is that element."""
    source = case.operands[0] if case.operands else None
    if (
        case.name not in ("median", "nanmedian", "masked.median")
        or not isinstance(source, torch.Tensor)
        or _is_outward(case)
    ):
        return False
    named = [case.options["dim"]] if type(case.options.get("dim")) is int else []
    reduced = [*named, *(value for value in case.operands[1:] if type(value) is int and value not in named)]
    values = case.ours[0] if isinstance(case.ours, tuple) else case.ours
    return any(
        source.stride(dim) == 0
        and source.shape[dim] > 1
        and (case.told.startswith("gradient") or _same(_flat(values), source.detach().select(dim, 0).reshape(-1)))
        for dim in reduced
    )


def _flat(tensor):
    """The elements of our tensor, as PyTorch's."""
    flat = torch.from_numpy(array_of(tensor)).reshape(-1)
    return flat.to(getattr(torch, name_of(tensor.dtype)))


def _has_full_rank(matrix):
    matrix = matrix.detach().to(torch.complex128)
    return bool((torch.linalg.matrix_rank(matrix, rtol=1e-5) == min(matrix.shape[-2:])).all())


_OF_FULL_RANK = (
    "linalg.cond",
    "linalg.qr",
    "qr",
    "linalg.lstsq",
    "linalg.inv_ex",
    "linalg.solve_ex",
    "logdet",
    "geqrf",
    "pinverse",
)


def _singular(case):
    """What is not defined where a matrix has not full rank: its condition, the rest of its QR decomposition, its solution, what
    is left in place of its inverse, the phase of its determinant, its pseudo-inverse where singular values of rounding count, and the
    gradient of its nuclear norm."""
    nuclear = case.name in ("linalg.matrix_norm", "linalg.norm", "norm") and "nuc" in case.operands
    named = case.name in _OF_FULL_RANK or (nuclear and case.told.startswith("gradient"))
    return named and case.operands[0].numel() and not _is_outward(case) and not _has_full_rank(case.operands[0])


def _zero_by_rounding(case):
    """gels refuses a matrix of less than full rank where the QR decomposition's diagonal comes to exactly 0, which the order
    of additions decides: of 300 random matrices of rank 1 PyTorch refuses 200 in float32, by three different pivots."""
    named = case.name == "linalg.lstsq" and "does not have full rank" in case.told
    return named and not _has_full_rank(case.operands[0])


def _pivot_of_rounding(case):
    """Which row comes next where all that is left of a matrix is rounding; the factors' product is the matrix."""
    results = (case.ours, case.theirs)
    if case.name not in ("lu", "linalg.lu_factor", "linalg.lu_factor_ex") or _is_outward(case):
        return False
    if case.told.startswith("gradient") or _has_full_rank(case.operands[0]):
        return False
    matrix = case.operands[0].detach()
    parts = [[torch.from_numpy(array_of(part)) for part in result[:2]] for result in results]
    products = [p @ lower @ upper for p, lower, upper in (torch.lu_unpack(*pair) for pair in parts)]
    scale = 1e-4 * float(matrix.abs().max())
    return all(bool((product - matrix).abs().le(scale).all()) for product in products)


def _order_of_eigenvalues(case):
    """Eigenvalues come in no order, and those of equal ones are apart by the root of the rounding."""
    if case.name != "linalg.eigvals" or _is_outward(case) or case.told.startswith("gradient"):
        return False
    ours, theirs = (array_of(each) for each in (case.ours, case.theirs))
    scale = 1e-2 * max(1.0, float(np.abs(theirs).max(initial=0)))
    for mine, others in zip(ours.reshape(-1, ours.shape[-1]), theirs.reshape(-1, ours.shape[-1])):
        rest = list(others)
        for value in mine:
            nearest = min(range(len(rest)), key=lambda place: abs(rest[place] - value))
            if abs(rest.pop(nearest) - value) > scale:
                return False
    return True


def _bias_of_another_dtype(case):
    """Projections of attention whose bias has another dtype: PyTorch adds one by itself where the input or the bias has gaps, and
    refuses it elsewhere; here the steps of all samples are always the rows of one matrix, where it is refused."""
    return case.name == "nn.functional.multi_head_attention_forward" and case.told.startswith(
        "raises RuntimeError here: self and mat2 must have the same dtype"
    )


def _unchecked_variance(case):
    """A running variance of integers beside a weight or bias with gaps, in evaluation: PyTorch's way for such memory forgets the
    check that its other ways make, and meets an assertion of its own for every other wrong dtype."""
    if case.name != "nn.functional.batch_norm" or not case.told.startswith(
        "raises RuntimeError here: expected scalar type"
    ):
        return False
    small = [each for each in case.operands[1:5] if isinstance(each, torch.Tensor)]
    variance = case.operands[2]
    return not variance.is_floating_point() and not all(each.is_contiguous() for each in small)


def _of_the_processor(case):
    """Convolutions of float16: which of PyTorch's implementations runs, and so what it refuses, depends on whether the processor
    computes in float16. Ours refuses what the one for such processors does, on all."""
    if not case.name.startswith("nn.functional.conv") or torch.ops.mkldnn._is_mkldnn_fp16_supported():
        return False
    return case.told.startswith("raises RuntimeError here: Input type (torch.HalfTensor)") and "MKLDNN" in case.told


def _rounded_logarithm(case):
    """The logarithms of half precision's probabilities along the last dimension: PyTorch rounds the sum and its logarithm to the
    half, too (so computed, 0 of 430,000 differ from its own), ours are rounded once, as PyTorch's along other dimensions.
    Targets of another dtype show the last digit of either."""
    if case.name != "nn.functional.cross_entropy" or _is_outward(case) or case.told.startswith("gradient"):
        return False
    scores, targets = case.operands[:2]
    if scores.dtype not in (torch.float16, torch.bfloat16) or not targets.is_floating_point():
        return False
    ours, theirs = (array_of(each) for each in (case.ours, case.theirs))
    digit = 2.0**-10 if scores.dtype == torch.float16 else 2.0**-7
    reach = float(scores.detach().double().log_softmax(1 if scores.ndim > 1 else 0).abs().max())
    weight = max(1.0, float(targets.detach().double().abs().sum()))
    return bool((np.abs(ours - theirs) <= digit * reach * weight).all())


def _distance_in_single(case):
    """The distances of a triplet of several dtypes: two of them may be of float32, whose rounding is left where one of them is
    taken from the other."""
    if case.name != "nn.functional.triplet_margin_loss" or _is_outward(case) or case.told.startswith("gradient"):
        return False
    tensors = case.operands[:3]
    if not any(t.dtype in (torch.float32, torch.complex64) for t in tensors) or len({t.dtype for t in tensors}) == 1:
        return False
    ours, theirs = (array_of(each) for each in (case.ours, case.theirs))
    reach = max(float(t.detach().abs().double().max()) for t in tensors) * math.sqrt(tensors[0].shape[-1])
    return bool((np.abs(ours - theirs) <= 1e-6 * max(1.0, reach)).all())


EXPLAINED = (
    write_into_windows,
    write_of_its_own_window,
    replayed_view,
    retained_before_a_view,
    rounded_to_single,
    sign_of_a_rest,
    _nan_times_zero,
    _view_of_tracked_integers,
    _deviation_overflow,
    _sign_of_nan,
    _median_of_one_row,
    _singular,
    _zero_by_rounding,
    _pivot_of_rounding,
    _order_of_eigenvalues,
    _bias_of_another_dtype,
    _unchecked_variance,
    _of_the_processor,
    _rounded_logarithm,
    _distance_in_single,
    _gradient_of_real_part,
    _no_index,
    _view_inside,
    _equal_elements,
    _free_vectors,
    _half_overflow,
    _recurrence,
    _less_precise,
    _narrow_exponent,
    _gradient_through_half,
    *GRADIENTS,
)


def unexplained(told, name, operands=(), ours=None, theirs=None, options=None, gradients=(), exact=None):
    """``told``, or None where one of the `EXPLAINED` cases covers it."""
    if not told:
        return None
    case = Case(name, tuple(operands), ours, theirs, told, options or {}, gradients, exact)
    return None if any(covers(case) for covers in EXPLAINED) else told
