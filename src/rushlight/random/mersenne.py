"""The Mersenne Twister (MT19937): PyTorch's stream of 32-bit words, drawn in blocks through NumPy's bit generator."""

from __future__ import annotations

import ctypes
import functools
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from . import bulk

if TYPE_CHECKING:
    from typing import Any

BLOCK = 624

_Key = ctypes.c_uint32 * BLOCK
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class _Unseeded:
    """What a bit generator takes for a seed where it will be seeded otherwise: NumPy's own takes 100 us to prepare."""

    def generate_state(self, count, dtype=np.uint32):
        return [0] * count


@functools.cache
def _unseeded() -> Any:
    """The one that all share, made when ``numpy.random`` is first needed: to register its class takes a while.

    The module is asked for by its name: after a first import that Ctrl-C ended, ``np.random`` lacks it as an attribute.
    """
    import_module("numpy.random.bit_generator").ISeedSequence.register(_Unseeded)
    return _Unseeded()


class MersenneTwister:
    """MT19937 (Matsumoto and Nishimura, 1998), seeded from one 32-bit number as ``init_genrand`` does.

    The words of one block of 624 are kept and handed out as slices, so a small draw costs an addition and a slice; what
    draws make of them (uniform numbers, normal numbers) is made of a whole block at once and kept beside it.
    Draws past the block's end make whole further blocks: between calls NumPy's generator always stands at a block
    boundary, and its key together with ``position`` is the state that PyTorch would report.

    ``numpy.random`` (10 ms to import) is first touched when the first word is drawn.
    """

    __slots__ = ("_bits", "_derived", "_fresh", "_legacy", "_live_key", "_seed", "block", "position")

    def __init__(self, seed: int):
        self._bits: Any = None
        self._legacy: Any = None
        self._live_key: Any = None
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream of ``seed``; only its low 32 bits count. The work is put off until a word is drawn."""
        self._seed: int | None = seed & 0xFFFFFFFF
        self.block: Any = None
        self._derived: dict = {}
        self.position = BLOCK
        self._fresh = True

    @property
    def available(self) -> int:
        """How many words are left of the current block."""
        return BLOCK - self.position

    def take(self, count: int) -> np.ndarray:
        """The next ``count`` words as a uint32 array that the caller must not write to."""
        start = self.position
        end = start + count
        if end <= BLOCK:
            if self.block is None:
                return np.empty(0, np.uint32)
            self.position = end
            return self.block[start:end]
        rest = None if start == BLOCK else self.block[start:]
        missing = end - BLOCK
        blocks = -(-missing // BLOCK)
        fresh = self._generate(blocks)
        self.block = fresh if blocks == 1 else fresh[-BLOCK:].copy()
        self._derived = {}
        self.position = missing - (blocks - 1) * BLOCK
        fresh = fresh[:missing]
        return fresh if rest is None else np.concatenate((rest, fresh))

    def ready(self) -> int:
        """How many words are left of the block that the next word is in, at least one: some of them must then be drawn."""
        if self.position == BLOCK:
            self.block = self._generate(1)
            self._derived = {}
            self.position = 0
        return BLOCK - self.position

    def of_block(self, compute, phase: int = 0):
        """What ``compute(self, phase)`` makes of the current block, kept for the draws that follow from the same block.

        Many small draws then cost a slice each. The caller must not write to what it gets.
        """
        found = self._derived.get((compute, phase))
        if found is None:
            found = self._derived[compute, phase] = compute(self, phase)
        return found

    def few(self, compute, shape, size: int, words: int = 1, group: int = 1, dear: bool = False):
        """``size`` numbers in ``shape``, made of so many words each; None where the words are not all of one block.

        ``compute(self, phase)`` gives the numbers of a whole block, in groups of so many words, the first of which begins
        at word ``phase``. Where that is ``dear``, only the second draw from a block asks for it; the first gets None.
        The caller must not write to what it gets.
        """
        start, count = self.position, size * words
        if not 0 < count <= BLOCK - start:
            if start < BLOCK or not 0 < count <= BLOCK:
                return None
            self.ready()
            start = 0
        phase = start % group
        numbers = self._derived.get((compute, phase))
        if numbers is None:
            if dear and compute not in self._derived:
                self._derived[compute] = True
                return None
            numbers = self._derived[compute, phase] = compute(self, phase)
        place = (start - phase) // words
        found = numbers[place : place + size].reshape(shape)
        self.position = start + count
        return found

    def skip(self, count: int) -> int:
        """The position of the next ``count`` words, no more than ``ready()`` told, which count as drawn now."""
        start = self.position
        self.position = start + count
        return start

    def give_back(self, count: int) -> None:
        """Take back the last ``count`` words handed out, all of the current block."""
        self.position -= count

    def _generate(self, blocks: int) -> np.ndarray:
        if self._seed is not None:
            self._start(self._seed)
        self._fresh = False
        kernels = bulk.kernels(blocks * BLOCK)
        if kernels is not None:
            words = np.empty(blocks * BLOCK, np.uint32)
            kernels.fill_words(self._live_key, words)
            return words
        if blocks == 1:
            return self._bits.random_raw(BLOCK).astype(np.uint32)
        return np.random.Generator(self._bits).integers(0, 1 << 32, blocks * BLOCK, dtype=np.uint32)

    def _open(self) -> None:
        self._bits = np.random.MT19937(_unseeded())
        self._legacy = np.random.RandomState(self._bits)
        # NumPy's C interface begins with a pointer to the state, which begins with the key: quicker than `_bits.ctypes`.
        interface = _capsule_pointer(self._bits.capsule, b"BitGenerator")
        key: Any = _Key.from_address(ctypes.c_void_p.from_address(interface).value or 0)
        self._live_key = np.frombuffer(key, np.uint32)  # the bit generator's own; kernels go on with it

    def _start(self, seed: int) -> None:
        if self._bits is None:
            self._open()
        self._legacy.seed(seed)
        self._seed = None

    def key(self) -> tuple[np.ndarray, int, int]:
        """PyTorch's view of the state: 624 uint32 numbers, the index of the next word, and ``left``.

        ``left`` counts the draws up to the next twist: 1 where the very next word needs a new block.
        """
        if self._seed is not None:
            self._start(self._seed)
        key = self._live_key.copy()
        return (key, 0, 1) if self._fresh else (key, self.position, BLOCK + 1 - self.position)

    def set_key(self, key: np.ndarray, following: int, left: int) -> None:
        """Continue from a state that ``key`` reported."""
        if self._bits is None:
            self._open()
        self._seed = None
        self._derived = {}
        self._fresh = left == 1 and following == 0
        self.block = np.zeros(BLOCK, np.uint32)
        remaining = min(left - 1, BLOCK - following)
        self.position = BLOCK - remaining
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": BLOCK - remaining}}
        self.block[self.position :] = self._bits.random_raw(remaining)
