"""Activations: elementwise nonlinearities (the softmax family is in softmax.py)."""

from __future__ import annotations

import warnings

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init as initialize
from ..parameter import Parameter
from .module import Module
from .own_methods import OwnMethods


class _Activation(Module):
    """Prints the constants of the class by name, and ``inplace`` only where it is set."""

    __constants__ = []

    def extra_repr(self) -> str:
        shown = [name for name in self.__constants__ if name != "inplace" or self.inplace]
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)


class _InplaceActivation(OwnMethods, _Activation):
    """An activation without numbers of its own; ``inplace`` writes the result over the input. Default: ``False``"""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Threshold(_Activation):
    """``x`` where it exceeds ``threshold``, else ``value``. Follows ``torch.nn.Threshold``.

    >>> import rushlight as torch
    >>> torch.nn.Threshold(0.1, 20.0)(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([20., 20.,  2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(_InplaceActivation):
    """``max(x, 0)``. Follows ``torch.nn.ReLU``.

    >>> import rushlight as torch
    >>> torch.nn.ReLU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(_Activation):
    """``x`` where positive, else ``a x`` with ``a`` uniform in [lower, upper], or their mean in evaluation.

    Xu et al. 2015; follows ``torch.nn.RReLU``.

    >>> import rushlight as torch
    >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.4000,  0.0000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """``x`` clamped to [min_val, max_val]. Follows ``torch.nn.Hardtanh``.

    >>> import rushlight as torch
    >>> torch.nn.Hardtanh(-1.0, 1.0)(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and renamed to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and renamed to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``. Follows ``torch.nn.ReLU6``.

    >>> import rushlight as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``. Follows ``torch.nn.Sigmoid``.

    >>> import rushlight as torch
    >>> torch.nn.Sigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functions.sigmoid(input)


class Hardsigmoid(_InplaceActivation):
    """``min(max(x / 6 + 1/2, 0), 1)``. Howard et al. 2019; follows ``torch.nn.Hardsigmoid``.

    >>> import rushlight as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1667, 0.5000, 0.8333])
    """

    def extra_repr(self) -> str:
        return ""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """``tanh(x)``. Follows ``torch.nn.Tanh``.

    >>> import rushlight as torch
    >>> torch.nn.Tanh()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.9640,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functions.tanh(input)


class SiLU(_InplaceActivation):
    """``x * sigmoid(x)``, also called swish. Elfwing et al. 2017; follows ``torch.nn.SiLU``.

    >>> import rushlight as torch
    >>> torch.nn.SiLU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InplaceActivation):
    """``x * tanh(softplus(x))``. Misra 2019; follows ``torch.nn.Mish``.

    >>> import rushlight as torch
    >>> torch.nn.Mish()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2525,  0.0000,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_InplaceActivation):
    """``x * hardsigmoid(x)``. Howard et al. 2019; follows ``torch.nn.Hardswish``.

    >>> import rushlight as torch
    >>> torch.nn.Hardswish()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.3333,  0.0000,  1.6667])
    """

    def extra_repr(self) -> str:
        return ""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class ELU(_Activation):
    """``x`` where positive, else ``alpha (exp(x) - 1)``. Clevert et al. 2015; follows ``torch.nn.ELU``.

    >>> import rushlight as torch
    >>> torch.nn.ELU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """``max(x, 0) + min(0, alpha (exp(x / alpha) - 1))``. Barron 2017; follows ``torch.nn.CELU``.

    >>> import rushlight as torch
    >>> torch.nn.CELU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InplaceActivation):
    """`ELU` scaled so that means and variances settle at 0 and 1. Klambauer et al. 2017; follows ``torch.nn.SELU``.

    >>> import rushlight as torch
    >>> torch.nn.SELU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.5202,  0.0000,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(_Activation):
    """First half along ``dim`` times the sigmoid of the second. Dauphin et al. 2016; follows ``torch.nn.GLU``.

    >>> import rushlight as torch
    >>> torch.nn.GLU()(torch.randn(4, 2)).shape
    torch.Size([4, 1])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class GELU(_Activation):
    """``x`` times the normal distribution function of ``x``. Hendrycks & Gimpel 2016; follows ``torch.nn.GELU``.

    Args:
        approximate (str): ``'none'`` for the exact function, ``'tanh'`` for the faster formula. Default: ``'none'``

    >>> import rushlight as torch
    >>> torch.nn.GELU()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.0455,  0.0000,  1.9545])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input) if self.approximate == "none" else F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(_Activation):
    """``x`` where ``|x| > lambd``, else 0. Follows ``torch.nn.Hardshrink``.

    >>> import rushlight as torch
    >>> torch.nn.Hardshrink()(torch.tensor([-2.0, 0.3, 2.0]))
    tensor([-2.,  0.,  2.])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class LeakyReLU(_Activation):
    """``x`` where positive, else ``negative_slope * x``. Follows ``torch.nn.LeakyReLU``.

    >>> import rushlight as torch
    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2000,  0.0000,  2.0000])
    """

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class LogSigmoid(Module):
    """``log(sigmoid(x))``. Follows ``torch.nn.LogSigmoid``.

    >>> import rushlight as torch
    >>> torch.nn.LogSigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-2.1269, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(_Activation):
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``. Follows ``torch.nn.Softplus``.

    >>> import rushlight as torch
    >>> torch.nn.Softplus()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1269, 0.6931, 2.1269])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softshrink(_Activation):
    """``x`` moved towards 0 by ``lambd``, and 0 where ``|x| <= lambd``. Follows ``torch.nn.Softshrink``.

    >>> import rushlight as torch
    >>> torch.nn.Softshrink()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(_Activation):
    """``x`` where positive, else ``weight * x`` with a learned ``weight``. He et al. 2015; follows ``torch.nn.PReLU``.

    Args:
        num_parameters (int): 1, or one weight a channel (dimension 1). Default: 1
        init (float): what the weights start from. Default: 0.25

    >>> import rushlight as torch
    >>> torch.nn.PReLU()(torch.tensor([-2.0, 2.0]))
    tensor([-0.5000,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(functions.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every weight to ``init``."""
        initialize.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softsign(Module):
    """``x / (1 + |x|)``. Follows ``torch.nn.Softsign``.

    >>> import rushlight as torch
    >>> torch.nn.Softsign()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.6667,  0.0000,  0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``. Follows ``torch.nn.Tanhshrink``.

    >>> import rushlight as torch
    >>> torch.nn.Tanhshrink()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.0360,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
