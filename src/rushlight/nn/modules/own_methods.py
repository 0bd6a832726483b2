"""Layers that share a private base's methods have them under their own names, which is what Python's errors show."""

from types import FunctionType


def own(cls: type, *names: str) -> type:
    """``cls`` with the methods ``names`` that it inherits as its own: the same code under the name of the class."""
    for name in names:
        if name not in vars(cls):
            shared = getattr(cls, name)
            method = FunctionType(shared.__code__, shared.__globals__, name, shared.__defaults__, shared.__closure__)
            method.__kwdefaults__, method.__doc__ = shared.__kwdefaults__, shared.__doc__
            method.__annotations__, method.__module__ = shared.__annotations__, cls.__module__
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)
    return cls


class OwnMethods:
    """Base of the private bases whose public layers own the methods ``_own``.

    All convolutions share one ``__init__``; what ``nn.Conv2d(3)`` lacks are arguments of ``Conv2d.__init__()``.
    """

    _own: tuple[str, ...] = ("__init__", "forward")

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("_"):
            own(cls, *(name for name in cls._own if getattr(cls, name).__qualname__.startswith("_")))
