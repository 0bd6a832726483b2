"""Tensors that say what they are to a transform: images, videos, masks, bounding boxes."""

from __future__ import annotations

from enum import Enum

import numpy as np

from rushlight.ops.table import functions
from rushlight.tensor import Tensor
from rushlight.tensor.overrides import DisableTorchFunctionSubclass
from rushlight.utils import _pytree as pytree

from .images import array_to_tensor, is_pillow

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]

KEEPING = {Tensor.clone, Tensor.requires_grad_}  # whose result is of the same class
KEEP_ALL = [False]  # whether all others are, too


class TVTensor(Tensor):
    """What the classes share: an operation gives a plain tensor, except for copies (see `set_return_type`)."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
            if KEEP_ALL[0] or (func in KEEPING and isinstance(args[0], cls)):
                return cls._as_this(output, args, kwargs)
            return output.as_subclass(Tensor) if isinstance(output, cls) else output

    @classmethod
    def _as_this(cls, output, args, kwargs):
        if isinstance(output, (tuple, list)):
            return type(output)(cls._as_this(part, args, kwargs) for part in output)
        if isinstance(output, Tensor) and not isinstance(output, cls):
            leaves = pytree.tree_leaves((args, kwargs))
            return cls.wrap(output, next(leaf for leaf in leaves if isinstance(leaf, cls)))
        return output

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        """`tensor` as this class, with what `like` knows unless `kwargs` say otherwise."""
        return tensor.as_subclass(cls)

    def to(self, *args, **kwargs):
        """A copy with another dtype or device, of the same class."""
        return type(self).wrap(self.as_subclass(Tensor).to(*args, **kwargs), self)

    def detach(self):
        """The same numbers outside of the graph, of the same class."""
        return type(self).wrap(self.as_subclass(Tensor).detach(), self)

    def __deepcopy__(self, memo):
        return self.detach().clone().requires_grad_(self.requires_grad)

    def _printed(self, **facts):
        text = "".join(f", {name}={value}" for name, value in facts.items())
        return f"{super().__repr__()[:-1]}{text or ', '})"

    def __repr__(self, *, tensor_contents=None):
        return self._printed()


def plain(data, dtype, device, requires_grad):
    """`data` as a plain tensor."""
    if is_pillow(data):
        data = array_to_tensor(np.array(data))
    requires_grad = getattr(data, "requires_grad", False) if requires_grad is None else requires_grad
    return functions.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)


class Image(TVTensor):
    """An image ...xCxHxW; two dimensions get one for the channel."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = plain(data, dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)


class Video(TVTensor):
    """A video ...xTxCxHxW."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = plain(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Tensor must be 4D or higher, got {tensor.ndim}D tensor.")
        return tensor.as_subclass(cls)


class Mask(TVTensor):
    """A mask for segmentation or detection, ...xHxW."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        return plain(data, dtype, device, requires_grad).as_subclass(cls)

    def __repr__(self, *, tensor_contents=None):
        return self._printed()


class BoundingBoxFormat(Enum):
    """How the numbers of a box are meant; see ``ops.box_convert``."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


ROTATED = (BoundingBoxFormat.XYWHR, BoundingBoxFormat.CXCYWHR, BoundingBoxFormat.XYXYXYXY)


def is_rotated_bounding_format(format):
    """Whether a format, or the name of one, has an angle or four corners."""
    if isinstance(format, BoundingBoxFormat):
        return format in ROTATED
    if isinstance(format, str):
        return format in {each.value for each in ROTATED}
    raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")


class BoundingBoxes(TVTensor):
    """Boxes, Nx4 (rotated ones Nx5 or Nx8), with their format and the size of the image (height, width).

    >>> from rushlight.vision import tv_tensors
    >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(8, 8))
    >>> boxes.format, boxes.canvas_size
    (<BoundingBoxFormat.XYXY: 'XYXY'>, (8, 8))
    """

    def __new__(
        cls,
        data,
        *,
        format,
        canvas_size,
        clamping_mode="soft",
        dtype=None,
        device=None,
        requires_grad=None,
    ):
        tensor = plain(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        if tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        elif tensor.ndim != 2:
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        return cls._with(tensor, format, canvas_size, clamping_mode)

    @classmethod
    def _with(cls, tensor, format, canvas_size, clamping_mode):
        if clamping_mode is not None and clamping_mode not in ("hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        boxes = tensor.as_subclass(cls)
        boxes.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        boxes.canvas_size = canvas_size
        boxes.clamping_mode = clamping_mode
        return boxes

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        """`tensor` as boxes, with the format, canvas and clamping of `like` unless `kwargs` say otherwise."""
        facts = {name: kwargs.get(name, getattr(like, name)) for name in ("format", "canvas_size", "clamping_mode")}
        return cls._with(tensor, **facts)

    def __repr__(self, *, tensor_contents=None):
        return self._printed(format=self.format, canvas_size=self.canvas_size, clamping_mode=self.clamping_mode)


def wrap(wrappee, *, like, **kwargs):
    """A plain tensor as the class of `like`, with what `like` knows; `kwargs` override parts of that."""
    if isinstance(like, TVTensor):
        return type(like).wrap(wrappee, like, **kwargs)
    return wrappee.as_subclass(type(like))


class set_return_type:
    """What operations on these tensors give from here on: "Tensor" (as at first) or "TVTensor"; also for a with block."""

    def __init__(self, return_type):
        known = {"tensor": False, "tvtensor": True}
        if return_type.lower() not in known:
            raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
        self.before = KEEP_ALL[0]
        KEEP_ALL[0] = known[return_type.lower()]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        KEEP_ALL[0] = self.before
