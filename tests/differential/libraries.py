"""PyTorch's values carried over to Rushlight, what a call gives in either library, and whether the two agree."""

from __future__ import annotations

import cmath
import warnings
from typing import NamedTuple

import numpy as np
import torch

import rushlight as rl

# Relative to the largest number of a result: sums are added up in another order.
TOLERANCE = {
    "float16": 8e-3,
    "complex32": 8e-3,
    "bfloat16": 6e-2,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-7,
    "complex128": 1e-7,
}


# What PyTorch says where it meets its own mistakes.
_FAULTS = ("INTERNAL ASSERT", "Autograd not support dtype", "tensor does not have a device")


def name_of(dtype):
    """``float32`` of either library's dtype."""
    return str(dtype).removeprefix("torch.")


def carried(value):
    """``value``, of PyTorch, with tensors, dtypes and devices exchanged for Rushlight's; layouts and flags are kept."""
    if isinstance(value, torch.Tensor):
        return carried_tensor(value)
    if isinstance(value, torch.dtype):
        return getattr(rl, name_of(value))
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(rl, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return rl.device(str(value))
    if isinstance(value, torch.Size):
        return rl.Size(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(carried, value)) if type(value) in (list, tuple) else tuple(map(carried, value))
    if isinstance(value, dict):
        return {key: carried(each) for key, each in value.items()}
    return value


def carried_tensor(tensor):
    """A tensor of the same elements, strides and ``requires_grad``, in memory of its own."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    reach = sum((size - 1) * stride for size, stride in zip(plain.shape, plain.stride())) + 1 if plain.numel() else 0
    flat = plain.as_strided((reach,), (1,)) if reach else plain.reshape(-1)
    if plain.dtype == torch.bfloat16:
        storage = rl.from_numpy(flat.view(torch.int16).numpy().copy()).view(rl.bfloat16)
    else:
        storage = rl.from_numpy(flat.numpy().copy())
    made = storage.as_strided(tuple(plain.shape), tuple(plain.stride())) if reach else storage.reshape(plain.shape)
    made = made.data  # no view: what is written into views of it is followed up to it, as with PyTorch's own
    return made.requires_grad_() if tensor.requires_grad else made


class Raised(NamedTuple):
    """What a call raised: the type's name, and the first line of its message."""

    kind: str
    line: str


def attempt(function, *args, **kwargs):
    """The result of a call, or what it `Raised`; in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            first = (str(error).splitlines() or [""])[0].split(" (Triggered internally")[0].rstrip()
            return Raised(type(error).__name__, first)


def is_fault(outcome):
    """Whether PyTorch met a mistake of its own."""
    return isinstance(outcome, Raised) and any(words in outcome.line for words in _FAULTS)


def array_of(tensor):
    """The elements of either library's tensor, half precision in float32 and complex64."""
    tensor = tensor.detach()
    if name_of(tensor.dtype) in ("bfloat16", "float16"):
        tensor = tensor.float()
    elif name_of(tensor.dtype) == "complex32":
        tensor = tensor.cfloat()
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy(force=True))


def difference(ours, theirs, loose=1.0):
    """In what two outcomes differ, in words; None where they agree. ``loose`` multiplies the tolerance."""
    if isinstance(theirs, Raised) or isinstance(ours, Raised):
        if is_fault(theirs):
            return None
        if not isinstance(ours, Raised):
            return f"taken here, PyTorch raises {theirs.kind}: {theirs.line}"
        if not isinstance(theirs, Raised):
            return f"raises {ours.kind} here: {ours.line}"
        return None
    if isinstance(theirs, torch.Tensor):
        return _tensors_difference(ours, theirs, loose)
    if isinstance(theirs, (list, tuple)):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(theirs):
            return f"{ours!r:.100}, not {theirs!r:.100}"
        found = (difference(*pair, loose) for pair in zip(ours, theirs))
        return next((f"[{place}] {each}" for place, each in enumerate(found) if each), None)
    if isinstance(theirs, (float, complex)) and type(ours) is type(theirs):
        close = cmath.isclose(ours, theirs, rel_tol=1e-5) or (cmath.isnan(ours) and cmath.isnan(theirs))
        return None if close else f"{ours!r}, not {theirs!r}"
    return None if str(ours) == str(theirs) else f"{ours!r:.100}, not {theirs!r:.100}"


def _tensors_difference(ours, theirs, loose):
    if not isinstance(ours, rl.Tensor):
        return f"{type(ours).__name__}, not a tensor"
    for aspect in ("dtype", "shape", "requires_grad"):
        mine, other = getattr(ours, aspect), getattr(theirs, aspect)
        if str(mine) != str(other):
            return f"{aspect} {mine}, not {other}"
    found, expected = array_of(ours), array_of(theirs)
    if expected.dtype.kind not in "fc":
        return None if np.array_equal(found, expected) else f"{found!r:.200}, not {expected!r:.200}"
    tolerance = TOLERANCE[name_of(theirs.dtype)] * loose
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        scale = max(1.0, float(finite.max(initial=0.0)))
        same = np.isclose(found, expected, tolerance, tolerance * scale, equal_nan=True)
    if same.all():
        return None
    first = tuple(int(place) for place in np.unravel_index(int(np.argmin(same)), same.shape))
    return (
        f"at {list(first)} {found[first]!r}, not {expected[first]!r} ({same.size - same.sum()} of {same.size} elements)"
    )
