"""Where the two libraries may differ, each case by a narrow condition and with the reason: the testers tell the rest alone."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import torch
from libraries import array_of, name_of


class Case(NamedTuple):
    """A difference: the function's name, PyTorch's operands, both outcomes, and what differs in words."""

    name: str
    operands: tuple
    ours: object
    theirs: object
    told: str


def _refused_by_pytorch(case, *words):
    return "taken here, PyTorch raises" in case.told and any(each in case.told for each in words)


def _complex_half(case):
    """complex32 is not there: what PyTorch gives in it is complex64 here, and what it has no kernel for works."""
    words = ("ComplexHalf", "complex32", "but got Half and Half")
    return any(each in case.told for each in words)


def _rounded_to_complex_half(case):
    """A float16 tensor beside a 0-dim complex one: PyTorch rounds that to complex32 first, here it stays complex64."""
    pair = [each for each in case.operands[:2] if isinstance(each, torch.Tensor)]
    return len(pair) == 2 and torch.result_type(*pair) == torch.complex32 and not _is_outward(case)


def _gradient_of_real_part(case):
    """A real tensor that was written into a complex one: PyTorch's gradient is complex, and its own check stops it."""
    return _refused_by_pytorch(case, "isFloatingType(grad.scalar_type())")


def _no_index(case):
    """The derivative of ``index_put`` without any index, which PyTorch itself takes, fails in its own indexing."""
    return case.name in ("put", "accumulate") and _refused_by_pytorch(case, "at least one index must be provided")


def _view_inside(case):
    """PyTorch's own code calls view() where the operands' strides do not allow it; the call has a result."""
    return case.name in ("kron", "take_along_dim") and _refused_by_pytorch(case, "view size is not compatible")


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
    if case.name not in _PLACED or not isinstance(case.operands[0], torch.Tensor):
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
    named = case.name in ("prod", "matrix_exp", "linalg.matrix_exp")
    return named and not dtypes.isdisjoint(("float16", "bfloat16")) and _is_infinite(case.told)


def _recurrence(case):
    """Polynomials of degrees at which they pass the largest number: PyTorch's recurrence subtracts infinities, which is NaN."""
    ours = re.search(r" -?inf\b|\(-?inf", case.told)
    return "_polynomial_" in case.name and ours is not None and "not np." in case.told and "(nan)" in case.told


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


def _half_exponent(case):
    """``2**exponent`` of a half's fraction is rounded to that half by PyTorch, and to the common dtype here: nearer by up to
    half a unit of the half's last place, a factor of the result."""
    if case.name != "ldexp" or case.told.startswith(("taken", "raises", "dtype", "shape")):
        return False
    exponent = case.operands[1]
    return isinstance(exponent, torch.Tensor) and exponent.dtype in (torch.float16, torch.bfloat16)


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
    """PyTorch's nanmedian of an expanded dimension sorts its one element against memory beside it."""
    source = case.operands[0] if case.operands else None
    if case.name not in ("nanmedian", "masked.median") or not isinstance(source, torch.Tensor) or _is_outward(case):
        return False
    reduced = [value for value in case.operands[1:] if type(value) is int]
    return any(source.stride(dim) == 0 and source.shape[dim] > 1 for dim in reduced)


def _singular(case):
    """What is not defined where a matrix has not full rank: its condition, the rest of its QR decomposition, its solution."""
    if case.name not in ("linalg.cond", "linalg.qr", "qr", "linalg.lstsq") or not case.operands[0].numel():
        return False
    if _is_outward(case):
        return False
    matrix = case.operands[0].detach().to(torch.complex128)
    return bool((torch.linalg.matrix_rank(matrix, rtol=1e-5) < min(matrix.shape[-2:])).any())


EXPLAINED = (
    _nan_times_zero,
    _view_of_tracked_integers,
    _deviation_overflow,
    _sign_of_nan,
    _median_of_one_row,
    _singular,
    _complex_half,
    _rounded_to_complex_half,
    _gradient_of_real_part,
    _no_index,
    _view_inside,
    _equal_elements,
    _free_vectors,
    _half_overflow,
    _recurrence,
    _less_precise,
    _half_exponent,
    _gradient_through_half,
)


def unexplained(told, name, operands=(), ours=None, theirs=None):
    """``told``, or None where one of the `EXPLAINED` cases covers it."""
    if not told:
        return None
    case = Case(name, tuple(operands), ours, theirs, told)
    return None if any(covers(case) for covers in EXPLAINED) else told
