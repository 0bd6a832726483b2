"""Normalisation over features without running statistics: LayerNorm, GroupNorm, RMSNorm and local response."""

from __future__ import annotations

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.size import Size
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module, held


def _add_affine(module, shape, weight, bias, device, dtype):
    """Register ``weight`` and ``bias`` of ``shape`` on ``module``, None where it has none."""
    for name, wanted in (("weight", weight), ("bias", bias)):
        parameter = Parameter(functions.empty(shape, device=device, dtype=dtype)) if wanted else None
        module.register_parameter(name, parameter)


def _reset_affine(module):
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class LayerNorm(Module):
    """Normalise over the last dimensions, ``normalized_shape``, then scale by ``weight`` and shift by ``bias``.

    ``normalized_shape`` is an int or a shape; ``eps`` (1e-5) is added to the variance; ``elementwise_affine`` and
    ``bias`` say which parameters there are. Any input whose shape ends in ``normalized_shape``. After Ba et al.,
    "Layer Normalization" (2016). Follows ``torch.nn.LayerNorm``.

    >>> import rushlight as torch
    >>> torch.nn.LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: int | list[int] | Size,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _add_affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set ``weight`` to ones and ``bias`` to zeros."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, held(self, "weight"), held(self, "bias"), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalise (N, C, *) over each of ``num_groups`` groups of channels, then scale and shift each channel.

    ValueError if ``num_channels`` is no multiple of ``num_groups``. After Wu and He, "Group Normalization" (2018).
    Follows ``torch.nn.GroupNorm``.

    >>> import rushlight as torch
    >>> torch.nn.GroupNorm(3, 6)(torch.randn(20, 6, 10, 10)).shape
    torch.Size([20, 6, 10, 10])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _add_affine(self, (num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set ``weight`` to ones and ``bias`` to zeros."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, held(self, "weight"), held(self, "bias"), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions, ``normalized_shape``, then scale by ``weight``.

    ``eps`` None is the machine epsilon of the input's dtype. After Zhang and Sennrich, "Root Mean Square Layer
    Normalization" (2019). Follows ``torch.nn.RMSNorm``.

    >>> import rushlight as torch
    >>> torch.nn.RMSNorm(2)(torch.tensor([1.0, 7.0])).detach()
    tensor([0.2000, 1.4000])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: int | list[int] | Size,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = functions.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set ``weight`` to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, held(self, "weight"), self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divide (N, C, *) by (k + alpha * mean of squares over ``size`` neighbouring channels) ** beta.

    After Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks" (2012). Follows
    ``torch.nn.LocalResponseNorm``.

    >>> import rushlight as torch
    >>> torch.nn.LocalResponseNorm(2)(torch.randn(32, 5, 24, 24)).shape
    torch.Size([32, 5, 24, 24])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """:class:`LocalResponseNorm` of (N, C, H, W) over a symmetric window of channels, as Lua Torch had it.

    The window reaches (size - 1) // 2 channels to both sides. PyTorch's sum never lets go of channel 0 once the window
    has left it; the same is done here, so that the numbers agree. Follows ``torch.nn.CrossMapLRN2d``.

    >>> import rushlight as torch
    >>> torch.nn.CrossMapLRN2d(3)(torch.randn(2, 5, 4, 4)).shape
    torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        squares = input * input
        sums = F.pad(squares, (0, 0, 0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1).sum(-1)
        beyond = max(input.shape[1] - reach - 1, 0)
        sums = sums + F.pad(squares[:, :1].expand(-1, beyond, -1, -1), (0, 0, 0, 0, input.shape[1] - beyond, 0))
        return input * (self.k + self.alpha / self.size * sums) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
