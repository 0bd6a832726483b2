"""``rushlight cache``: the machine code kept on disk."""

from __future__ import annotations

from ..kernels.machine.cache import Cache


def execute(options):
    """Print where the kernels lie and how many there are, or remove them; returns the exit status."""
    cache = Cache()
    if options.clear:
        print(f"removed {cache.clear()} kernels from {cache.path}")
        return 0
    count, size = cache.information()
    print(f"{'folder':18} {cache.path}{'' if cache.usable else ' (not usable: kernels are compiled in every process)'}")
    print(f"{'kernels':18} {count}")
    print(f"{'size':18} {size / 1e6:.1f} MB")
    return 0
