"""NNPACK: not used."""

from .switches import define as _define

_define(globals(), {"enabled": False}, {"enabled": False})


def is_available():
    """Whether NNPACK can be used: False."""
    return False
