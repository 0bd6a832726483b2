"""What modules pass on to the functions that make their parameters: ``nn.factory_kwargs``."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted

_NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords of a module that belong to functions such as ``torch.empty``, a new dict.

    Args:
        kwargs: ``device``, ``dtype`` and ``memory_format``; and ``factory_kwargs``, a dict of these, for modules that use such a
            name for something else. None counts as none.

    Raises:
        TypeError: another keyword is among them, or one is given twice.

    >>> import rushlight as torch
    >>> torch.nn.factory_kwargs({"dtype": torch.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_NAMES, "factory_kwargs"}
    if unknown:
        raise TypeError(
            hinted(f"unexpected kwargs {unknown}", "device, dtype, memory_format and factory_kwargs are known")
        )
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in [each for each in _NAMES if each in kwargs]:
        if name in found:
            message = f"{name} specified twice, in **kwargs and in factory_kwargs"
            raise TypeError(hinted(message, "give it in one of them"))
        found[name] = kwargs[name]
    return found
