"""The tensors that the rows of `large_operations` are calls of; each is made when a row first asks for it."""

from __future__ import annotations

import functools
import math


class Operands:
    """Tensors of about ``size`` numbers: in one dimension, or of the shape that the name tells."""

    def __init__(self, torch, size):
        self.torch, self.F, self.size, self.side = torch, torch.nn.functional, size, max(16, math.isqrt(size))
        torch.manual_seed(0)

    def _normal(self, *shape, dtype="float32"):
        return self.torch.randn(*shape).to(getattr(self.torch, dtype))

    def _integers(self, bound, *shape):
        return self.torch.randint(0, bound, shape)

    x = functools.cached_property(lambda self: self._normal(self.size))
    y = functools.cached_property(lambda self: self._normal(self.size))
    z = functools.cached_property(lambda self: self._normal(self.size))  # what calls write into
    positive = functools.cached_property(lambda self: self.x.abs() + 0.1)
    above_one = functools.cached_property(lambda self: self.x.abs() + 1.1)
    inside = functools.cached_property(lambda self: self.torch.rand(self.size) * 1.98 - 0.99)  # between -1 and 1
    share = functools.cached_property(lambda self: self.torch.rand(self.size) * 0.98 + 0.01)  # between 0 and 1
    signs = functools.cached_property(lambda self: self.y.sign())
    doubles = functools.cached_property(lambda self: self._normal(self.size, dtype="float64"))
    more_doubles = functools.cached_property(lambda self: self._normal(self.size, dtype="float64"))
    halves = functools.cached_property(lambda self: self._normal(self.size, dtype="bfloat16"))
    more_halves = functools.cached_property(lambda self: self._normal(self.size, dtype="bfloat16"))
    complexes = functools.cached_property(lambda self: self.torch.complex(self.x, self.y))
    ints = functools.cached_property(lambda self: self._integers(100, self.size) + 1)
    more_ints = functools.cached_property(lambda self: self._integers(9, self.size) + 1)
    short_ints = functools.cached_property(lambda self: self.ints.int())
    mask = functools.cached_property(lambda self: self.x > 0)
    other_mask = functools.cached_property(lambda self: self.y > 0)
    few = functools.cached_property(lambda self: self.x > 2)  # 2 in 100

    matrix = functools.cached_property(lambda self: self._normal(self.side, self.side))
    other = functools.cached_property(lambda self: self._normal(self.side, self.side))
    target = functools.cached_property(lambda self: self._normal(self.side, self.side))  # what calls write into
    half_matrix = functools.cached_property(lambda self: self.matrix.to(self.torch.bfloat16))
    double_matrix = functools.cached_property(lambda self: self.matrix.double())
    masks = functools.cached_property(lambda self: self.matrix > 0)
    row = functools.cached_property(lambda self: self._normal(self.side))
    weight = functools.cached_property(lambda self: self._normal(self.side))
    column = functools.cached_property(lambda self: self._normal(self.side, 1))
    tall = functools.cached_property(lambda self: self._normal(self.size // 8, 8))
    wide = functools.cached_property(lambda self: self._normal(8, self.size // 8))
    batch = functools.cached_property(lambda self: self._normal(max(1, self.size // 10_000), 100, 100))
    images = functools.cached_property(lambda self: self._normal(max(1, self.size // 25_088), 32, 28, 28))

    rows = functools.cached_property(lambda self: self._integers(self.side, self.side))
    columns = functools.cached_property(lambda self: self._integers(self.side, self.side, self.side))
    places = functools.cached_property(lambda self: self._integers(self.size, self.size))
    classes = functools.cached_property(lambda self: self._integers(self.side, self.side))
    segments = functools.cached_property(lambda self: self._integers(100, self.side))
    sorted = functools.cached_property(lambda self: self.torch.sort(self.y).values)
    probabilities = functools.cached_property(lambda self: self.other.softmax(1))


@functools.cache
def operands(torch, size):
    """The operands of a module's rows."""
    return Operands(torch, size)
