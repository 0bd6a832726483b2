"""Linear layers: Identity, Linear, Bilinear, and LazyLinear, which learns in_features from its first input."""

from __future__ import annotations

import math
from typing import Any

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module, held

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; takes any arguments and ignores them. Follows ``torch.nn.Identity``.

    >>> import rushlight as torch
    >>> torch.nn.Identity(54, unused=True)(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    r"""``y = x A^T + b`` over the last dimension: (*, in_features) to (*, out_features).

    ``weight`` (out_features, in_features) and ``bias`` (out_features,) start uniform in
    :math:`\pm 1/\sqrt{\text{in\_features}}`. Follows ``torch.nn.Linear``.

    >>> import rushlight as torch
    >>> torch.nn.Linear(20, 30)(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(functions.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(functions.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw ``weight`` and ``bias`` anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # the gain that makes the bound 1/sqrt(fan_in)
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, held(self, "weight"), held(self, "bias"))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The Linear inside MultiheadAttention, under PyTorch's name for it."""


class Bilinear(Module):
    r"""``y = x1^T A x2 + b``: (*, in1_features) and (*, in2_features) to (*, out_features).

    ``weight`` is (out_features, in1_features, in2_features). Follows ``torch.nn.Bilinear``.

    >>> import rushlight as torch
    >>> torch.nn.Bilinear(20, 30, 40)(torch.randn(128, 20), torch.randn(128, 30)).shape
    torch.Size([128, 40])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(functions.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(functions.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw ``weight`` and ``bias`` anew, uniform within 1/sqrt(in1_features)."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose ``in_features`` is the last dimension of its first input. Follows ``torch.nn.LazyLinear``.

    >>> import rushlight as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> layer(torch.zeros(2, 5)).shape
    torch.Size([2, 3])
    >>> layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: DType | None = None
    ) -> None:
        super().__init__(0, 0, False)  # nothing to draw yet
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw ``weight`` and ``bias``, once their sizes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters the sizes that fit ``input``, and draw them."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:  # the parameters came from a state dict
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    hinted(
                        f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                        f"self.weight: {self.weight.shape[-1]}",
                        "the loaded weights are for inputs of another width",
                    )
                )
            self.in_features = input.shape[-1]
