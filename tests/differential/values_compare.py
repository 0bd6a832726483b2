"""Whether two results are the same: shape, dtype, NaN at the same places, signs of zeros, values to a few units in the last place."""

import numpy as np

# Of an operation on single elements, in units of the last place; float32's and float64's are those of other formulas.
ULPS = {"float16": 2, "bfloat16": 2, "float32": 32, "float64": 64}
DIGITS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
BY_ELEMENT = ("UnaryUfuncInfo", "BinaryUfuncInfo")
SUMS = {"float16": 8e-3, "bfloat16": 6e-2, "float32": 2e-4, "float64": 1e-9}
EXACT = """
    abs absolute neg negative sign sgn ceil floor trunc fix round frac positive clamp clamp_min clamp_max clip
    maximum minimum fmax fmin max min amax amin aminmax argmax argmin sort argsort msort topk kthvalue median
    nanmedian mode unique unique_consecutive searchsorted bucketize isin where masked_fill masked_select gather
    take index_select take_along_dim flip roll rot90 cat stack hstack vstack dstack column_stack eq ne lt le gt ge
    equal isnan isinf isfinite isposinf isneginf isclose allclose logical_and logical_or logical_xor logical_not
    signbit copysign nextafter heaviside cummax cummin relu nn.functional.relu nn.functional.relu6
    nn.functional.hardtanh nn.functional.threshold nn.functional.max_pool1d nn.functional.max_pool2d
    nn.functional.max_pool3d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
    nn.functional.adaptive_max_pool3d nn.functional.pad constant_pad_nd tril triu nonzero count_nonzero any all
    real imag conj nan_to_num diag diagonal repeat tile expand
"""
EXACT_NAMES = frozenset(EXACT.split())


# Positions among equal elements are free where no stable order is asked for.
TIES = {"sort", "msort", "topk", "kthvalue", "median", "nanmedian", "mode", "argsort"}


def _same_picks(call, expected, found):
    """Whether both libraries' positions lead to the same elements."""
    source = call.arguments[0].numbers
    axes = [leaf for leaf in [*call.arguments[1:], *call.options.values()] if type(leaf) is int]
    places = [numbers(results[-1]) for results in (expected, found)]
    for axis in {*axes, -1}:
        if -source.ndim <= axis < source.ndim and all(source.ndim - p.ndim in (0, 1) for p in places):
            kept = [p if p.ndim == source.ndim else np.expand_dims(p, axis) for p in places]
            if any(p.dtype.kind != "i" or not ((p >= 0) & (p < source.shape[axis])).all() for p in kept):
                continue
            first, second = (np.take_along_axis(source, p, axis) for p in kept)
            if np.array_equal(first, second, equal_nan=source.dtype.kind == "f"):
                return True
    return False


def _same_numbers(theirs, ours):
    """Whether two gradients hold the same numbers: which of equal elements each goes to is free."""
    first, second = (np.sort(numbers(tensor), axis=None).astype(np.float64) for tensor in (theirs, ours))
    return np.allclose(first, second, 1e-2 if theirs.dtype.itemsize == 2 else 1e-6, 1e-12, equal_nan=True)


def is_exact(name, dtype):
    """Whether an operation rounds nothing."""
    return name in EXACT_NAMES and not dtype.startswith("complex")


def leaves_of(value, module):
    """Tensors and plain values of a result, in order."""
    if isinstance(value, module.Tensor) or value is None or isinstance(value, (bool, int, float, complex, str)):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [leaf for item in value for leaf in leaves_of(item, module)] if hasattr(value, "__iter__") else [str(value)]


def numbers(tensor):
    """A tensor's numbers: bfloat16 as float32, complex ones as pairs."""
    tensor = tensor.detach()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    array = np.ascontiguousarray(np.asarray(tensor.resolve_conj().resolve_neg().numpy(force=True)))
    return array.reshape(tuple(tensor.shape))


def difference(torch, module, call, expected, found, order):
    """A line on what differs between PyTorch's results and ours, or None."""
    info = call.info
    if len(expected) != len(found):
        return f"{len(expected)} results, ours {len(found)}"
    for number, (theirs, ours) in enumerate(zip(expected, found)):
        if not isinstance(theirs, torch.Tensor):
            if theirs is None and isinstance(ours, module.Tensor) and order != "result" and not numbers(ours).any():
                continue
            if type(theirs) is not type(ours) or not (theirs == ours or theirs != theirs or isinstance(theirs, str)):
                return f"[{number}] {theirs!r}, ours {ours!r}"
            continue
        if ours is None and not numbers(theirs).any():
            continue
        if not isinstance(ours, module.Tensor):
            return f"[{number}] a tensor, ours {ours!r}"
        if tuple(theirs.shape) != tuple(ours.shape) or str(theirs.dtype) != str(ours.dtype):
            return f"[{number}] {list(theirs.shape)} {theirs.dtype}, ours {list(ours.shape)} {ours.dtype}"
        if info.name in TIES and (
            _same_numbers(theirs, ours)
            if order != "result"
            else number == len(expected) - 1 and _same_picks(call, expected, found)
        ):
            continue
        what = _numbers_differ(info, numbers(theirs), numbers(ours), str(theirs.dtype)[6:], order)
        if what:
            return f"[{number}] {what}"
    return None


def _numbers_differ(info, theirs, ours, dtype, order):
    kind = dtype
    if theirs.dtype.kind not in "fc":
        wrong = theirs != ours
        return _shown("differ", wrong, theirs, ours)
    if theirs.dtype.kind == "c":
        # An infinity or NaN in one part is one of the number: which parts it reaches differs even within PyTorch.
        wrong = np.isfinite(theirs) != np.isfinite(ours)
        if wrong.any():
            return _shown("infinite or NaN", wrong, theirs, ours)
        theirs, ours = (np.where(np.isfinite(theirs), a, 0) for a in (theirs, ours))
        theirs, ours = (a.reshape(-1).view(a.real.dtype) for a in (theirs, ours))
        dtype = {"complex64": "float32", "complex128": "float64"}[dtype]
        sizes = np.repeat(np.abs(theirs.view(theirs.dtype.char.upper())), 2)  # an error of either part is one of both
    else:
        sizes = np.abs(theirs)
    nan = np.isnan(theirs)
    wrong = nan != np.isnan(ours)
    if wrong.any():
        return _shown("NaN", wrong, theirs, ours)
    wrong = ~nan & (np.isinf(theirs) | np.isinf(ours)) & (theirs != ours)
    if wrong.any():
        return _shown("infinities", wrong, theirs, ours)
    finite = np.isfinite(theirs)
    exact = order == "result" and is_exact(info.name, kind)
    wrong = finite & ~(theirs == ours if exact else _close(info, theirs, ours, sizes, dtype, order, finite))
    if wrong.any():
        return _shown("values", wrong, theirs, ours)
    if order != "result" or not (exact or type(info).__name__ in BY_ELEMENT):
        return None
    wrong = finite & (theirs == 0) & (ours == 0) & (np.signbit(theirs) != np.signbit(ours))
    return _shown("sign of zero", wrong, theirs, ours)


def _close(info, theirs, ours, sizes, dtype, order, finite):
    with np.errstate(all="ignore"):
        apart = np.abs(theirs.astype(np.float64) - ours.astype(np.float64))
        size = np.where(np.isfinite(sizes), sizes, np.abs(theirs)).astype(np.float64)
        smallest = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149}.get(dtype, 5e-324)
        if type(info).__name__ in BY_ELEMENT and order == "result":
            return apart <= ULPS[dtype] * DIGITS[dtype] * size + 4 * smallest
        scale = float(size[finite].max(initial=0)) if finite.any() else 0.0
        return apart <= SUMS[dtype] * (size + min(max(scale, 1e-3), 1e30)) * (1 if order == "result" else 20)


def _shown(what, wrong, theirs, ours):
    if not wrong.any():
        return None
    places = np.flatnonzero(wrong.reshape(-1))[:6]
    return f"{what}: {int(wrong.sum())} of {wrong.size}, at {places.tolist()}: {theirs.reshape(-1)[places]}, ours {ours.reshape(-1)[places]}"
