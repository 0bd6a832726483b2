"""Where generated kernels take over from NumPy: a room below this one says how to load them."""

from __future__ import annotations

# Numbers in one draw. The kernels give the same bits as NumPy does, so when they are loaded is a matter of time only.
_WORTH_LOADING = 4096
_LOADING_TAKES = 10_000  # us: small draws that have cost NumPy as much load them, too

_kernels = _load = None
_spent = 0


def use(load):
    """Let ``load()`` give the kernels (the module ``kernels.random_numbers.numbers``), or None; it is called at the first
    large draw, or after many small ones. ``use(None)`` returns to NumPy."""
    global _kernels, _load, _spent
    _kernels, _load, _spent = None, load, 0


def kernels(count, cost=0):
    """The kernels for a draw of ``count`` numbers that takes NumPy about ``cost`` us; None where NumPy is to compute."""
    global _kernels, _load, _spent
    if _load is not None:
        _spent += cost
        if count >= _WORTH_LOADING or _spent >= _LOADING_TAKES:
            _kernels, _load = _load(), None
    return _kernels
