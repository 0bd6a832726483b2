"""Kernels of single precision for arrays of half precision: converted on the way in, rounded once on the way out."""

from __future__ import annotations

import functools

import numpy as np

from ...ops.table import is_half
from .calls import copy


def by_single_precision(*exact):
    """Let a kernel that declines half precision compute in float32. Its results in float32 are rounded, but for those
    numbered ``exact``."""

    def decorate(kernel):
        @functools.wraps(kernel)
        def run(*arguments):
            found = kernel(*arguments)
            if found is not NotImplemented:
                return found
            kinds = {a.dtype for a in arguments if _is_half(a)}
            if len(kinds) != 1:
                return found
            (kind,) = kinds
            found = kernel(*(converted(a, np.float32) if _is_half(a) else a for a in arguments))
            if found is NotImplemented:
                return found
            if isinstance(found, np.ndarray):
                return _rounded(found, kind)
            return tuple(x if i in exact else _rounded(x, kind) for i, x in enumerate(found))

        return run

    return decorate


def _is_half(argument):
    return isinstance(argument, np.ndarray) and is_half(argument.dtype)


def _rounded(result, dtype):
    """A result in half precision where it is an array of float32; None and positions as they are."""
    return converted(result, dtype) if isinstance(result, np.ndarray) and result.dtype == np.float32 else result


def converted(array, dtype):
    """A copy in another dtype, its dimensions in the same order in memory."""
    out = np.empty_like(array, dtype)
    if copy(array, out=out) is NotImplemented:
        out[...] = array
    return out
