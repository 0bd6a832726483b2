"""``torch.quasirandom``: Sobol' sequences, PyTorch's numbers to the last bit."""

from __future__ import annotations

import numpy as np

from .base.dtypes import float32, float64, get_default_dtype, int64
from .base.errors import hinted
from .ops.table import functions
from .random import Generator
from .random.sobol import BITS, MOST_DIMENSIONS, direction_numbers, next_points, scrambled, skipped
from .tensor.creation import from_numpy

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws points of the unit cube that fill it more evenly than random ones: a Sobol' sequence.

    Args:
        dimension: of the points, 1 to 21201; from 5716 on SciPy has to be installed.
        scramble: whether the points are moved at random, such that they stay even; False by default.
        seed: of the scrambling; the default generator's numbers by default.

    >>> import rushlight as torch
    >>> engine = torch.quasirandom.SobolEngine(dimension=2)
    >>> engine.draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    >>> torch.quasirandom.SobolEngine(3, scramble=True, seed=5)
    SobolEngine(dimension=3, scramble=True, seed=5)
    """

    MAXBIT = BITS
    MAXDIM = MOST_DIMENSIONS

    def __init__(self, dimension, scramble=False, seed=None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                hinted(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]", f"got {dimension}")
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = from_numpy(direction_numbers(dimension))
        self.shift = self._scrambled() if scramble else functions.zeros(dimension, dtype=int64)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**BITS).reshape(1, -1)
        self.num_generated = 0

    def _scrambled(self):
        """Scramble the direction numbers; the shift of all points."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = functions.randint(2, (self.dimension, BITS), generator=generator)
        matrices = functions.randint(2, (self.dimension, BITS, BITS), generator=generator).tril()
        self.sobolstate = from_numpy(scrambled(self.sobolstate.numpy(), matrices.numpy()))
        return functions.mv(bits, from_numpy(1 << np.arange(BITS)))

    def draw(self, n=1, out=None, dtype=None):
        """The next ``n`` points, a tensor (n, dimension) of the default dtype or ``dtype``; written to ``out`` if given."""
        dtype = get_default_dtype() if dtype is None else dtype
        parts, left = [], n
        if self.num_generated == 0:
            parts, left = [self._first_point.to(dtype)], n - 1
        if left or not parts:
            parts.append(self._points(left, dtype))
        result = parts[0] if len(parts) == 1 else functions.cat(parts, -2)
        self.num_generated += n
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)

    def _points(self, count, dtype):
        if dtype not in (float32, float64):
            raise NotImplementedError(
                hinted(f"\"_sobol_engine_draw\" not implemented for '{dtype.legacy_name}'", "draw float32 or float64")
            )
        if count < 0:
            raise RuntimeError(
                hinted(
                    f"Trying to create tensor with negative dimension {count}: [{count}, {self.dimension}]",
                    "n counts points",
                )
            )
        state, directions = self.quasi.numpy(), self.sobolstate.numpy()
        points = next_points(state, directions, count, max(self.num_generated - 1, 0))
        if count:
            self.quasi = from_numpy(points[-1].copy())
        return from_numpy(points).to(dtype) * 2**-BITS

    def draw_base2(self, m, out=None, dtype=None):
        """The next ``2**m`` points, where the number of all points drawn is a power of two then."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                hinted(
                    f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been "
                    f"previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                    "'SobolEngine.draw()' instead.",
                    "reset() begins anew",
                )
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Begin anew. Returns the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leave ``n`` points out. Returns the engine."""
        count = n - 1 if self.num_generated == 0 else n
        state = skipped(self.quasi.numpy(), self.sobolstate.numpy(), count, max(self.num_generated - 1, 0))
        self.quasi = from_numpy(state)
        self.num_generated += n
        return self

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] * bool(self.scramble)
        parts += [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(parts)})"


SobolEngine.__module__ = "torch.quasirandom"
