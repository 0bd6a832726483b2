"""Switches of machinery that this build does not have: kept, told and restored, without effect."""

from __future__ import annotations

import contextlib


def define(namespace, defaults, within=None):
    """Variables of a module with these first values, its ``set_flags`` and its context ``flags``.

    ``within`` are the values that ``flags()`` sets where it is called without them (None: left as they are).
    """
    names = list(defaults)
    namespace.update(defaults)

    def set_flags(*values, **options):
        """Set switches, those that are not None; returns the values that they had."""
        given = dict(zip([f"_{name}" for name in names], values)) | options
        unknown = [name for name in given if name[1:] not in names or not name.startswith("_")]
        if unknown or len(values) > len(names):
            raise TypeError(f"set_flags() got an unexpected keyword argument '{''.join(unknown[:1])}'")
        before = tuple(namespace[name] for name in names)
        namespace.update((name[1:], value) for name, value in given.items() if value is not None)
        return before

    @contextlib.contextmanager
    def flags(*values, **options):
        """A block with other switches."""
        wanted = dict(within or {}) | dict(zip(names, values)) | options
        before = set_flags(**{f"_{name}": value for name, value in wanted.items()})
        try:
            yield
        finally:
            namespace.update(zip(names, before))

    namespace.update(set_flags=set_flags, flags=flags)


class Precision:
    """``conv.fp32_precision``, ...: kept."""

    def __init__(self):
        self.fp32_precision = "none"
