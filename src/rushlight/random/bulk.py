"""Where generated kernels take over from NumPy: a room below this one says how to load them."""

from __future__ import annotations

# Numbers in one draw. The kernels give the same bits as NumPy does, so when is a matter of time only.
_WORTH_LOADING = 4096

_kernels = _load = None


def use(load):
    """Let ``load()`` give the kernels (the module ``kernels.random_numbers``), or None; it is called at the first
    large draw. ``use(None)`` returns to NumPy."""
    global _kernels, _load
    _kernels, _load = None, load


def kernels(count):
    """The kernels for a draw of ``count`` numbers, or None where NumPy is to compute."""
    global _kernels, _load
    if _load is not None and count >= _WORTH_LOADING:
        _kernels, _load = _load(), None
    return _kernels
