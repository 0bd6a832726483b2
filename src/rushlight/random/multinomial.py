"""``multinomial``: indices drawn by weight, with and without replacement."""

from __future__ import annotations

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from . import words
from .continuous import exponential_
from .filling import FLOAT32, holds_all, is_float, is_narrow_float
from .generator import resolve

_LARGEST_ROW = 1 << 24


def leading(quotients, count):
    """Where the ``count`` largest of each row are, in order."""
    if count == 1:
        return quotients.argmax(-1)[..., None]
    return np.argsort(-quotients, axis=-1, kind="stable")[..., :count]


def multinomial(weights, num_samples, replacement=False, generator=None, ways=None):
    """``num_samples`` int64 indices into the last axis of ``weights`` (1-d or 2-d, floating), as ``torch.multinomial``.

    Without replacement (and for a single sample) each weight is divided by an exponential number and the largest
    quotients win; with replacement, uniform numbers are looked up in the cumulated weights. ``RuntimeError`` for
    negative, infinite or NaN weights, rows that sum to zero, or more samples than categories. ``ways`` are functions that
    do what `leading`, `cumulated` and `looked_up` do; these, if None.
    """
    find_leading, cumulate, look_up = ways or (leading, cumulated, looked_up)
    _check(weights, num_samples, replacement)
    if weights.shape[-1] == 0:
        raise _zero_sum()
    if weights.size == 0:
        return np.empty(weights.shape[:-1] + (num_samples,), np.int64)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights.astype(FLOAT32) if is_narrow_float(weights.dtype) else weights)
        sums, generator = cumulate(rows), resolve(generator)
        with generator.lock:
            uniform = words.doubles(generator.engine, rows.shape[0] * num_samples).reshape(rows.shape[0], num_samples)
        return look_up(sums, uniform).reshape(*weights.shape[:-1], num_samples)
    _check_weights(weights)
    race = exponential_(np.empty(weights.shape, weights.dtype), 1.0, generator)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        np.divide(weights, race, race)
    return find_leading(race, num_samples)


def _check(weights, num_samples, replacement):
    if weights.ndim not in (1, 2):
        raise RuntimeError(hinted("prob_dist must be 1 or 2 dim", f"this one has the shape {list(weights.shape)}"))
    if not is_float(weights.dtype):
        kind = from_numpy(weights.dtype).legacy_name
        raise RuntimeError(
            hinted(
                f"multinomial only supports floating-point dtypes for input, got: {kind}",
                "call .float() on the weights",
            )
        )
    if num_samples <= 0:
        raise RuntimeError(hinted("cannot sample n_sample <= 0 samples", f"num_samples is {num_samples}"))
    categories = weights.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            hinted(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
                f"num_samples is {num_samples} and there are {categories} categories; pass replacement=True",
            )
        )
    if categories > _LARGEST_ROW:
        raise RuntimeError(hinted("number of categories cannot exceed 2^24", f"the last axis has {categories}"))


def _check_weights(weights):
    if not holds_all(weights >= 0) or not holds_all(np.isfinite(weights)):
        raise RuntimeError(
            hinted(
                "probability tensor contains either `inf`, `nan` or element < 0",
                "weights need not sum to one, but must be finite and not negative; softmax makes logits so",
            )
        )
    if not holds_all(np.add.reduce(weights, -1, np.float64) > 0):
        raise _zero_sum()


def _zero_sum():
    return RuntimeError(
        hinted(
            "invalid multinomial distribution (sum of probabilities <= 0)", "a row needs at least one positive weight"
        )
    )


def cumulated(rows):
    """The sums of each row's weights up to each one, added one by one, as parts of the whole."""
    if not holds_all(rows >= 0):
        raise RuntimeError(
            hinted(
                "invalid multinomial distribution (encountering probability entry < 0)",
                "weights must be finite and not negative; NaN counts as negative",
            )
        )
    if not holds_all(np.isfinite(rows)):
        raise RuntimeError(
            hinted(
                "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
                "weights must be finite",
            )
        )
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.cumsum(rows, axis=-1)
        total = sums[:, -1:].copy()
        if not holds_all(total > 0):
            raise _zero_sum()
        sums /= total
    return sums


def looked_up(sums, uniform):
    """Where in each row the numbers belong: before the first sum that is not smaller."""
    found = np.empty(uniform.shape, np.int64)
    for row, numbers, places in zip(sums, uniform, found):
        places[...] = np.searchsorted(row.astype(np.float64), numbers)
    return found
