"""Random operands that lie anywhere in guarded memory: layouts, gaps, overlaps, odd addresses, and what may not change."""

import math

import numpy as np
from guarded_memory import AFTER

import rushlight as rl
from rushlight.base.arrays import window_on
from rushlight.ops.table import functions

LENGTHS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 100, 127, 129, 257)
FLOATS = ("float32",) * 6 + ("float64",) * 2 + ("float16", "bfloat16")
NUMBERS = (*FLOATS, "int64", "int32", "uint8", "int8", "int16", "bool", "complex64", "complex128")


class Draw:
    """Random arguments of one call; ``changed`` tells afterwards which operands have bytes that should not have been written."""

    def __init__(self, random, side):
        self.random, self.side = random, side
        self.buffers = []  # (bytes of an operand's memory, a copy of them, a mask of what may be written or None)
        self.targets = []  # operands that the call may write to
        self.results = []  # of the call

    # ------------------------------------------------------------ numbers and shapes

    def of(self, *choices):
        return self.random.choice(choices)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def chance(self, probability):
        return self.random.random() < probability

    def length(self, most=257):
        return min(self.random.choice(LENGTHS), most) if not self.chance(0.02) else 0

    def shape(self, dimensions, most=6000):
        """A shape of not too many elements; now and then of enough for all threads."""
        most = most * 20 if self.chance(0.05) else most
        found = [self.length() for _ in range(dimensions)]
        while math.prod(found) > most:
            place = found.index(max(found))
            found[place] = self.integer(1, max(1, found[place] // 2))
        return tuple(found)

    def broadcast_with(self, shape):
        """A shape that broadcasts to ``shape``."""
        kept = self.of(0, 0, 0, min(1, len(shape)), len(shape))
        return tuple(1 if self.chance(0.2) else n for n in shape[kept:])

    # ------------------------------------------------------------ memory

    def layout(self, shape):
        """(steps in elements, how many elements they reach over) of an array of this shape."""
        kind = self.of("rows", "rows", "rows", "permuted", "permuted", "gaps", "expanded", "overlapping")
        order = list(range(len(shape)))
        if kind in ("permuted", "gaps"):
            self.random.shuffle(order)
            if self.chance(0.5) and len(shape) > 2:
                order = [0, *range(2, len(shape)), 1]  # channels last
        steps, step = [0] * len(shape), self.of(1, 2, 3) if kind == "gaps" else 1
        for place in reversed(order):
            steps[place] = step
            step *= max(shape[place], 1)
            if kind == "gaps" and self.chance(0.4):
                step += self.integer(1, 5)
        for place in range(len(shape)):
            if kind == "expanded" and self.chance(0.5):
                steps[place] = 0
            elif kind == "overlapping" and self.chance(0.5):
                steps[place] = self.integer(0, 3)
        reach = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps))
        return steps, reach

    def array(self, shape, dtype, make, written=False, layout=None):
        """A tensor on memory that ends, and begins, with its elements; ``make(count)`` gives its numbers."""
        kind = getattr(rl, dtype).numpy
        steps, reach = layout or self.layout(shape)
        size, odd = kind.itemsize, self.chance(0.04)
        memory = np.empty(reach * size + odd, np.uint8)
        memory[:] = np.frombuffer(self.random.randbytes(min(memory.size, 64)) * (memory.size // 64 + 1), np.uint8)[
            : memory.size
        ]
        start, byte_steps = odd if self.side == AFTER else 0, [step * size for step in steps]
        target = window_on(memory, shape, kind, start, byte_steps)
        _fill(target, make, kind)
        mask = None
        if written:
            mask = np.zeros(memory.size, bool)
            window_on(mask.view(np.uint8), (*shape, size), np.dtype(np.uint8), start, (*byte_steps, 1))[...] = 1
        self.buffers.append((memory, memory.copy(), mask))
        found = functions.wrap(target)
        if written:
            self.targets.append(found)
        return found

    def changed(self):
        """Whether an operand has a byte that no call may write, and one did."""
        for memory, before, mask in self.buffers:
            different = memory != before
            if different.any() and (mask is None or (different & ~mask).any()):
                return True
        return False

    # ------------------------------------------------------------ tensors

    def tensor(self, *shape, dtype=None, low=-3.0, high=3.0, grad=False, written=False, layout=None):
        """A tensor of numbers between ``low`` and ``high``, some of them special."""
        dtype = dtype or self.random.choice(FLOATS)
        if self.chance(0.01) and layout is None:  # a call has to refuse it, or do without
            shape = tuple(max(n + self.of(0, 0, 1, -1), 0) for n in shape[self.of(0, 0, 1) :])
        generator = np.random.default_rng(self.random.getrandbits(32))

        def make(count):
            found = generator.uniform(low, high, count)
            if "complex" in dtype:
                return found + 1j * generator.uniform(low, high, count)
            if "float" in dtype and count and self.chance(0.1):
                found[generator.integers(0, count, 1 + count // 20)] = self.of(math.nan, math.inf, -math.inf, 0.0, 1e30)
            if dtype == "bool":
                return found > (low + high) / 2
            return np.abs(found) if dtype.startswith("uint") else found

        found = self.array(shape, dtype, make, written, layout)
        if grad and dtype in FLOATS and self.chance(0.6):
            found.requires_grad_()
        return found

    def indices(self, shape, length, dtype="int64"):
        """Positions below ``length``."""
        generator = np.random.default_rng(self.random.getrandbits(32))

        def make(count):
            found = generator.integers(0, max(length, 1), count)
            if count and self.chance(0.05):
                found[generator.integers(0, count)] = self.of(
                    -1, length, -length - 1, length + 1, 1 << 31, 1 << 62, -(1 << 63)
                )
            return found

        return self.array(shape, dtype, make)

    def dense(self, *shape, dtype="float32", **options):
        """As `tensor`, row by row, for what is written or wants it so."""
        steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return self.tensor(*shape, dtype=dtype, layout=(steps, math.prod(shape)), **options)

    def apart(self, *shape, dtype="float32", **options):
        """As `tensor`, to be written: no two of its elements share memory, and there may be gaps between them."""
        while True:
            steps, reach = self.layout(shape)
            ordered = sorted((s, n) for s, n in zip(steps, shape) if n > 1)
            covered, fits = 1, True
            for step, length in ordered:
                fits &= step >= covered
                covered = (length - 1) * step + covered
            if fits:
                return self.tensor(*shape, dtype=dtype, written=True, layout=(steps, reach), **options)


def _fill(target, make, kind):
    if not target.size:
        return
    numbers = make(target.size).reshape(target.shape)
    with np.errstate(all="ignore"):
        np.copyto(target, numbers.astype(np.float32) if kind.kind == "V" else numbers, casting="unsafe")
