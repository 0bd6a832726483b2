"""The cross entropy of a linear layer's scores, which can be computed for a part of the batch at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...base.device import DeviceLike
from ...base.dtypes import DType, bfloat16, float16, float32, float64
from ...base.errors import hinted
from ...tensor import Tensor
from .. import functional as F
from .linear import Linear
from .loss import _WeightedLoss

_POLICIES = ("auto", "accurate", "balanced", "compact")
_SUMS = (float16, bfloat16, float32, float64)


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through a batch in parts, so that not all scores are in memory at once.

    Args:
        allow_retain_graph (bool): PyTorch keeps what a second backward needs only then; here it is always kept.
        batch_chunk_size (int): how many samples a part has.
        chunking_method (str): "auto", or "aspect_ratio:N": so that scores take no more memory than the input, N times less.
        acc_policy (str): "auto", "accurate", "balanced" or "compact": in which numbers PyTorch sums over the parts.
        acc_dtype (dtype): the dtype of these sums.

    Follows ``torch.nn.LinearCrossEntropyOptions``.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(hinted(f"invalid acc_policy: {self.acc_policy!r}", f"it is one of {', '.join(_POLICIES)}"))
        self._factor()
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(
                hinted(f"batch_chunk_size must be positive int or None, got {size!r}", "a number of samples")
            )
        if self.acc_dtype is not None and self.acc_dtype not in _SUMS:
            raise ValueError(
                hinted(
                    "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                    f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.",
                    "it is what gradients are summed in",
                )
            )

    def _factor(self):
        """The N of "aspect_ratio:N", None for other methods."""
        if self.chunking_method in (None, "auto"):
            return None
        name, colon, factor = self.chunking_method.partition(":")
        factor = factor if colon else "1"
        if name != "aspect_ratio" or not factor.isdigit() or int(factor) == 0:
            raise ValueError(
                hinted(f"invalid chunking_method: {self.chunking_method!r}", 'it is "auto" or "aspect_ratio:N"')
            )
        return int(factor)

    def chunk_size(self, samples: int, features: int, classes: int) -> int:
        """How many samples a part has."""
        given, factor = self.batch_chunk_size, self._factor()
        if factor is None and given is not None:
            return max(1, min(given, samples))
        wanted = -(-samples // -(-classes // features))
        size = min((1 << (wanted - 1).bit_length()) // (factor or 1), samples)
        if given is not None and given != size:
            raise ValueError(
                hinted(
                    f"batch_chunk_size (={given}) and chunking_method ('{self.chunking_method}') give different chunk sizes "
                    f"({given} vs {size}); pass only one.",
                    "chunking_method=None lets batch_chunk_size count",
                )
            )
        return max(1, size)


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of the scores that a linear layer of its own, ``linear``, gives an input (N, in_features).

    Args:
        in_features (int): numbers a sample
        num_classes (int): classes
        out_features (tuple): further dimensions, for each place of which there is a target. Default: none
        bias (bool): whether the layer has one. Default: False
        weight (Tensor): the weight of each class, (C,)
        ignore_index (int): targets of this value count nothing. Default: -100
        label_smoothing (float): the part of each target spread evenly over all classes. Default: 0
        options (LinearCrossEntropyOptions): go through the batch in parts.

    Follows ``torch.nn.LinearCrossEntropyLoss``.

    >>> import rushlight as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(torch.zeros(2, 4), torch.tensor([0, 2]))
    tensor(1.0986, grad_fn=<NllLossBackward0>)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            message = f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            raise RuntimeError(hinted(message, "each class has one weight"))
        if not 0 <= label_smoothing <= 1:
            message = f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            raise RuntimeError(hinted(message, "it is the share of the probability that goes to all classes alike"))
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        layer, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            layer.weight.reshape((*shape, layer.in_features)),
            target,
            linear_bias=None if layer.bias is None else layer.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown: dict[str, Any] = {"in_features": self.linear.in_features}
        for name in ("num_classes", "out_features"):
            shown[name] = getattr(self, name)
        shown["bias"] = self.linear.bias is not None
        for name in ("reduction", "ignore_index", "label_smoothing", "options"):
            shown[name] = getattr(self, name)
        return ", ".join(f"{name}={value}" for name, value in shown.items())
