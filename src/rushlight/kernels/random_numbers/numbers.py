"""Random numbers as kernels: what ``random.bulk`` asks for."""

from __future__ import annotations

import functools
import sys

import numpy as np

from ..compiler.kernel import compiled
from ..machine.host import host, lanes
from ..machine.scratch import scratch
from . import programs

_ALONE = 1 << 13  # numbers up to which other threads are not called in


@functools.cache
def _kernel(name, scalar_size):
    width = lanes(scalar_size)
    return compiled((f"random_{name}", width), lambda: getattr(programs, name)(width))


def _run(name, scalar_size, count):
    """What to call for so many numbers."""
    kernel = _kernel(name, scalar_size)
    return kernel.alone if count <= _ALONE else kernel.threaded


def fill_words(key, words):
    """Fill ``words``, whole blocks of 624, with what follows the state ``key`` (624 words), which goes on."""
    _kernel("twister", 4).alone(key, words, words.size // programs.BLOCK)


def normals(words, out, mean, std):
    """float32 normal numbers of as many words, a multiple of 16; ``mean`` and ``std`` come rounded to float32."""
    _run("normals", 4, out.size)(words, out, out.size // 16, mean, std)


def floats(words, out, low, high, span):
    """float32 numbers ``u * span + low``, u of 24 bits; ``low`` instead of ``high``."""
    _run("floats", 4, out.size)(words, out, out.size, span, low, high)


def doubles(words, out):
    """float64 numbers of 53 bits in [0, 1), of two words each."""
    _run("doubles", 8, out.size)(words, out, out.size)


def below(words, out, threshold):
    """Whether 53 bits, of two words each, are less than ``threshold``."""
    _run("below", 8, out.size)(words, out, out.size, threshold)


def remainders(words, out, span, base):
    """int64 numbers ``word % span + base`` for a span up to 2**32."""
    _run("remainders", 8, out.size)(words, out, out.size, span, 1.0 / span, base)


def shuffled(words, n):
    """The numbers 0 to n - 1 (n > 0) after n - 1 exchanges: of k with ``k + words[k] % (n - k)``."""
    order = np.empty(n, np.int64)
    _run("shuffle", 8, n)(words, scratch("shuffle", n, np.int64), order, n)
    return order


def load():
    """This module, or None where no machine code can be made (or words lie in memory the other way round)."""
    return sys.modules[__name__] if host() is not None and sys.byteorder == "little" else None
