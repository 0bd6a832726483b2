"""The package opt_einsum, which is not used: ``einsum`` contracts from left to right."""

from .switches import define as _define

_define(globals(), {"enabled": False, "strategy": None})


def is_available():
    """Whether ``einsum`` asks opt_einsum for an order: False."""
    return False


def get_opt_einsum():
    """The package: None."""
    return None
