"""Classes and functions that the tests of whole objects name in files; `events` notes when code of theirs runs."""

import enum
from dataclasses import dataclass, field

from rushlight import nn

events = []


class Colour(enum.Enum):
    RED = 1


@dataclass
class Settings:
    width: int = 3
    names: list = field(default_factory=list)


class Slotted:
    __slots__ = ("a", "b")


class SlottedToo(Slotted):
    __slots__ = ("__dict__", "c")


def double(x):
    events.append("double")
    return 2 * x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        events.append("__init__")
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        self.settings = Settings(names=["a"])
        self.colour, self.function, self.kind = Colour.RED, double, nn.LayerNorm
        self.register_buffer("steps", self.layers[0].weight.new_zeros(2), persistent=False)
        self.tied = self.layers[0].weight

    def forward(self, x):
        return self.layers(x)

    def __getattr__(self, name):
        events.append("__getattr__")
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        events.append("__setattr__")
        super().__setattr__(name, value)


class Restoring(nn.Module):
    def __setstate__(self, state):
        events.append("__setstate__")
        super().__setstate__(state)


class Plainly:
    def __setstate__(self, state):
        events.append("__setstate__")
        vars(self).update(state)


class Leaving:
    def __del__(self):
        events.append("__del__")


class Made:
    def __new__(cls):
        events.append("__new__")
        return object.__new__(cls)

    @property
    def __class__(self):
        events.append("__class__")
        return Made

    def __getattribute__(self, name):
        events.append("__getattribute__")
        return object.__getattribute__(self, name)

    def __eq__(self, other):
        events.append("__eq__")
        return True

    def __hash__(self):
        events.append("__hash__")
        return 1


class Reduced:
    def __reduce__(self):
        return double, (1,)


class Meta(type):
    def __call__(cls, *arguments):
        events.append("__call__")
        return super().__call__(*arguments)

    def __getattr__(cls, name):
        events.append("Meta.__getattr__")
        raise AttributeError(name)


class OfMeta(metaclass=Meta):
    pass
