"""The Mersenne Twister (MT19937): PyTorch's stream of 32-bit words, drawn in blocks through NumPy's bit generator."""

from __future__ import annotations

import ctypes
import functools
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
    """The one that all share, made when ``numpy.random`` is first needed: to register its class takes a while."""
    np.random.bit_generator.ISeedSequence.register(_Unseeded)
    return _Unseeded()


class MersenneTwister:
    """MT19937 (Matsumoto and Nishimura, 1998), seeded from one 32-bit number as ``init_genrand`` does.

    The words of one block of 624 are kept and handed out as slices, so a small draw costs an addition and a slice.
    Draws past the block's end make whole further blocks: between calls NumPy's generator always stands at a block
    boundary, and its key together with ``_position`` is the state that PyTorch would report.

    ``numpy.random`` (10 ms to import) is first touched when the first word is drawn.
    """

    __slots__ = ("_bits", "_derived", "_fresh", "_legacy", "_live_key", "_position", "_seed", "_words")

    def __init__(self, seed: int):
        self._bits: Any = None
        self._legacy: Any = None
        self._live_key: Any = None
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream of ``seed``; only its low 32 bits count. The work is put off until a word is drawn."""
        self._seed: int | None = seed & 0xFFFFFFFF
        self._words: Any = None
        self._derived: dict = {}
        self._position = BLOCK
        self._fresh = True

    @property
    def available(self) -> int:
        """How many words are left of the current block."""
        return BLOCK - self._position

    def take(self, count: int) -> np.ndarray:
        """The next ``count`` words as a uint32 array that the caller must not write to."""
        start = self._position
        end = start + count
        if end <= BLOCK:
            if self._words is None:
                return np.empty(0, np.uint32)
            self._position = end
            return self._words[start:end]
        rest = None if start == BLOCK else self._words[start:]
        missing = end - BLOCK
        blocks = -(-missing // BLOCK)
        fresh = self._generate(blocks)
        self._words = fresh if blocks == 1 else fresh[-BLOCK:].copy()
        self._derived = {}
        self._position = missing - (blocks - 1) * BLOCK
        fresh = fresh[:missing]
        return fresh if rest is None else np.concatenate((rest, fresh))

    def take_derived(self, count: int, compute):
        """The next ``count`` words, ``0 < count <= available``, as ``compute`` made them of the whole block.

        ``compute(words)`` is called once a block and returns an array whose last axis has a place for each word; many
        small draws then cost a slice each. The caller must not write to what it gets.
        """
        derived = self._derived.get(compute)
        if derived is None:
            derived = self._derived[compute] = compute(self._words)
        start = self._position
        self._position = end = start + count
        return derived[..., start:end]

    def give_back(self, count: int) -> None:
        """Take back the last ``count`` words handed out, all of the current block."""
        self._position -= count

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
        key: Any = _Key.from_address(ctypes.c_void_p.from_address(interface).value)
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
        return (key, 0, 1) if self._fresh else (key, self._position, BLOCK + 1 - self._position)

    def set_key(self, key: np.ndarray, following: int, left: int) -> None:
        """Continue from a state that ``key`` reported."""
        if self._bits is None:
            self._open()
        self._seed = None
        self._derived = {}
        self._fresh = left == 1 and following == 0
        self._words = np.zeros(BLOCK, np.uint32)
        remaining = min(left - 1, BLOCK - following)
        self._position = BLOCK - remaining
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": BLOCK - remaining}}
        self._words[self._position :] = self._bits.random_raw(remaining)
