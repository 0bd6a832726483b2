"""The switches for deterministic algorithms. Every operation is deterministic here; the setting is kept and answered."""

from __future__ import annotations

from .base.errors import hinted

_LEVELS = {"default": 0, "warn": 1, "error": 2}
_enabled = _warn_only = False


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for deterministic algorithms: refuse the others, or only warn with ``warn_only``. There are no others here.

    >>> import rushlight as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    global _enabled, _warn_only
    for position, (name, value) in enumerate((("mode", mode), ("warn_only", warn_only)), 1):
        if not isinstance(value, bool):
            where = f"'{name}' (position {position})" if position == 1 else f"'{name}'"
            kind = type(value).__name__
            raise TypeError(f"_set_deterministic_algorithms(): argument {where} must be bool, not {kind}")
    _enabled, _warn_only = mode, warn_only


def are_deterministic_algorithms_enabled():
    """Whether deterministic algorithms were asked for."""
    return _enabled


def is_deterministic_algorithms_warn_only_enabled():
    """Whether operations that are not deterministic would only warn."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode):
    """The same as one number or word: 0 ``"default"``, 1 ``"warn"``, 2 ``"error"``."""
    global _enabled, _warn_only
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _LEVELS:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _LEVELS[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            hinted(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}", "0 is off, 1 warns, 2 refuses")
        )
    _enabled, _warn_only = debug_mode > 0, debug_mode == 1


def get_deterministic_debug_mode():
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not _enabled else 1 if _warn_only else 2
