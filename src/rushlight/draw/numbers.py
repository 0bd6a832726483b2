"""Numbers for people: shapes, bytes, and what a gradient looks like (norm, range, NaN and infinities, a few values)."""

from __future__ import annotations

import math

import numpy as np

FEW = 64  # a tensor of so few numbers is kept whole
SHOWN = 8  # of a larger one, so many are


class Summary:
    """What there is to say about a gradient: shape, dtype, norm, range, numbers of NaN and infinities, a few values."""

    __slots__ = ("dtype", "highest", "infinite", "lowest", "nan", "norm", "shape", "values", "whole")

    def __init__(self, tensor):
        array = tensor.detach()._array
        self.shape, self.dtype = tuple(array.shape), tensor.dtype.name
        values = array if array.dtype.kind == "c" else array.astype(np.float64)
        with np.errstate(all="ignore"):
            self.norm = float(np.linalg.norm(values.reshape(-1)))
        self.nan, self.infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        finite = values[np.isfinite(values)] if array.dtype.kind != "c" else np.empty(0)
        self.lowest, self.highest = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        self.whole = array.size <= FEW and array.ndim <= 2
        shown = values if self.whole else values.reshape(-1)[:SHOWN]
        self.values = shown.tolist() if array.dtype.kind != "c" else np.vectorize(str, otypes=[object])(shown).tolist()

    @property
    def single(self):
        """Whether it is one real number, which stands for itself, sign included: others are shown by their norm."""
        return self.dtype[:7] != "complex" and numel(self.shape) == 1

    @property
    def bad(self):
        """Whether there is a NaN or an infinity."""
        return bool(self.nan or self.infinite)

    def data(self):
        """The same for JSON, which has no NaN: such numbers become strings."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "norm": plain(self.norm),
            "text": str(self),
            "single": self.single,
            "lowest": self.lowest,
            "highest": self.highest,
            "nan": self.nan,
            "infinite": self.infinite,
            "values": plain(self.values),
            "whole": self.whole,
        }

    def __str__(self):
        if self.nan:
            return "NaN"
        if self.infinite:
            return "-∞" if self.single and self._first < 0 else "∞"
        return short(self._first if self.single else self.norm)

    @property
    def _first(self):
        values = self.values
        while isinstance(values, list):
            values = values[0]
        return values

    @property
    def described(self):
        """What it is, in a few words: ``-3`` for a number, ``norm 2.51`` for others."""
        return str(self) if self.single else f"norm {self}"


def plain(value):
    """A number or nested list of numbers with "nan", "inf" and "-inf" as strings."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def short(number):
    """A number in about five characters."""
    return f"{number:.3g}"


def shape_text(shape):
    """``16 × 3``; nothing for a single number or an unknown shape."""
    return " × ".join(str(size) for size in shape) if shape else ""


def bytes_text(count):
    """``512 B``, ``8.2 kB``, ``1.5 MB``."""
    if count < 1000:
        return f"{count} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.5 or unit == "TB":
            return f"{count:.{0 if count >= 99.5 else 1}f} {unit}"


def counted(number, noun, plural=None):
    """``1 operation``, ``2,000 operations``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def numel(shape):
    return math.prod(shape)
