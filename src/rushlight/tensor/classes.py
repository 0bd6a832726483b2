"""Classes of arguments: plain tensors, tensors of transforms, values that change no operation; arguments that are left out."""

from __future__ import annotations

from ..base import dtypes
from ..base.size import Size
from ..ops.schema import OPTIONAL_TENSOR_CLASSES, TENSOR_CLASSES
from .base import Tensor

# Classes that behave as Tensor itself: Tensor and Parameter.
PLAIN_CLASSES = TENSOR_CLASSES
PLAIN_CLASSES.add(Tensor)
OPTIONAL_TENSOR_CLASSES.add(Tensor)
# Classes of arguments that cannot override operations: no need to ask them for __torch_function__.
INERT_CLASSES = {Tensor, int, float, bool, complex, str, tuple, list, type(None), dtypes.DType, Size}
LEVEL_CLASSES = set()  # of tensors of transforms: empty until one is used
SEQUENCES = frozenset((list, tuple))
MISSING = object()  # an argument that a call leaves out


def as_given(*values):
    """The positional arguments that a call gave."""
    return [value for value in values if value is not MISSING]


def register_plain_class(cls):
    """Let a Tensor subclass that changes no operation (Parameter) take the fast paths."""
    for classes in (PLAIN_CLASSES, OPTIONAL_TENSOR_CLASSES, INERT_CLASSES):
        classes.add(cls)


def register_level_class(cls):
    """Let the interposers handle tensors of this class: they are those of a transform's level."""
    INERT_CLASSES.add(cls)
    LEVEL_CLASSES.add(cls)


def living(values):
    """``values`` with the tensors of transforms that have ended replaced by what is inside them."""
    return [
        value.living() if value.__class__ in LEVEL_CLASSES else living(value) if value.__class__ is list else value
        for value in values
    ]


def holds_others(items):
    """Whether a list holds anything but plain tensors and values."""
    return any(item.__class__ not in INERT_CLASSES for item in items)
