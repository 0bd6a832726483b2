"""First values of parameters: the in-place functions of ``torch.nn.init``."""

from __future__ import annotations

import math
import warnings
from typing import Literal

from ..autograd import no_grad
from ..base.errors import hinted
from ..ops.table import functions
from ..random import Generator
from ..tensor import Tensor

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
]

_LINEAR = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
_GAINS = dict.fromkeys(_LINEAR | {"sigmoid"}, 1) | {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ],
    param: int | float | None = None,
) -> float:
    """The factor that keeps the variance through a layer followed by ``nonlinearity``.

    Args:
        nonlinearity (str): 'linear', 'conv2d', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu', ...
        param (float): the negative slope of 'leaky_relu'. Default: 0.01

    >>> import rushlight as torch
    >>> torch.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity not in _GAINS:
        message = f"Unsupported nonlinearity {nonlinearity}"
        raise ValueError(hinted(message, f"known are {', '.join(sorted([*_GAINS, 'leaky_relu']))}"))
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers uniform in [a, b) and return the tensor.

    >>> import rushlight as torch
    >>> torch.nn.init.uniform_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of that mean and standard deviation and return the tensor.

    >>> import rushlight as torch
    >>> torch.nn.init.normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers cut off at ``a`` and ``b`` and return the tensor.

    Numbers outside are drawn again; where the bounds hold less than 0.3 of the distribution, candidates are uniform
    between them, and kept with the probability that the density gives them.

    >>> import rushlight as torch
    >>> bool(torch.nn.init.trunc_normal_(torch.empty(100)).abs().max() <= 2)
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    below_a, below_b = ((1.0 + math.erf((bound - mean) / std / math.sqrt(2.0))) / 2.0 for bound in (a, b))
    with no_grad():
        if below_b - below_a > 0.3:
            return _redraw_normal(tensor, mean, std, a, b, generator)
        return _redraw_uniform(tensor, mean, std, a, b, generator)


def _redraw_normal(tensor, mean, std, a, b, generator):
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    values = tensor.normal_(mean, std, generator=generator)
    while (outside := (values < low) | (values > high)).any():
        again = functions.empty_like(tensor).normal_(mean, std, generator=generator)
        values = functions.where(outside, again, values)
    return tensor if values is tensor else tensor.copy_(values)


def _redraw_uniform(tensor, mean, std, a, b, generator):
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    candidates = values = tensor.uniform_(a, b, generator=generator)
    pending = None
    while True:
        log_density = ((candidates - mean) / std).pow(2).mul(-0.5).sub(log_peak)
        rejected = functions.empty_like(tensor).uniform_(generator=generator).log() > log_density
        pending = rejected if pending is None else pending & rejected
        if not pending.any():
            return tensor if values is tensor else tensor.copy_(values)
        candidates = functions.empty_like(tensor).uniform_(a, b, generator=generator)
        values = functions.where(pending, candidates, values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with the number ``val`` and return the tensor.

    >>> import rushlight as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones and return the tensor.

    >>> import rushlight as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros and return the tensor.

    >>> import rushlight as torch
    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity, so that a Linear layer passes its input on; return it.

    >>> import rushlight as torch
    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError(hinted("Only tensors with 2 dimensions are supported", f"its shape is {tuple(tensor.shape)}"))
    with no_grad():
        return tensor.copy_(functions.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution weight pass on its input channels, as many as fit, in each group; return it.

    >>> import rushlight as torch
    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndimension() not in (3, 4, 5):
        message = "Only tensors with 3, 4, or 5 dimensions are supported"
        raise ValueError(hinted(message, f"its shape is {tuple(tensor.shape)}"))
    if tensor.shape[0] % groups != 0:
        message = "dim 0 must be divisible by groups"
        raise ValueError(hinted(message, f"{tensor.shape[0]} is no multiple of {groups}"))
    per_group = tensor.shape[0] // groups
    centre = tuple(length // 2 for length in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs one output sums over, and how many outputs one input reaches: for (out, in, *kernel)."""
    if tensor.ndimension() < 2:
        message = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        raise ValueError(hinted(message, f"its shape is {tuple(tensor.shape)}; biases are set with zeros_ or uniform_"))
    outputs, inputs, *kernel = tensor.shape
    area = math.prod(kernel)
    return inputs * area, outputs * area


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill uniformly within ``gain * sqrt(6 / (fan_in + fan_out))`` and return the tensor. Glorot & Bengio 2010.

    >>> import rushlight as torch
    >>> torch.nn.init.xavier_uniform_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / (fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of deviation ``gain * sqrt(2 / (fan_in + fan_out))``; return it. Glorot & Bengio 2010.

    >>> import rushlight as torch
    >>> torch.nn.init.xavier_normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill uniformly within ``gain * sqrt(3 / fan)`` and return the tensor. He et al. 2015.

    Args:
        a (float): the negative slope of a leaky ReLU that follows. Default: 0
        mode (str): 'fan_in' keeps the variance forward, 'fan_out' backward. Default: 'fan_in'
        nonlinearity (str): what follows the layer, as for `calculate_gain`. Default: 'leaky_relu'

    >>> import rushlight as torch
    >>> torch.nn.init.kaiming_uniform_(torch.empty(3, 5), nonlinearity="relu").shape
    torch.Size([3, 5])
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers of deviation ``gain / sqrt(fan)``; arguments as for `kaiming_uniform_`. He et al. 2015.

    >>> import rushlight as torch
    >>> torch.nn.init.kaiming_normal_(torch.empty(3, 5), mode="fan_out").shape
    torch.Size([3, 5])
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def _kaiming_deviation(tensor, a, mode, nonlinearity):
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix times ``gain``, dimensions after the first taken as one. Saxe et al. 2013.

    >>> import rushlight as torch
    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        message = "Only tensors with 2 or more dimensions are supported"
        raise ValueError(hinted(message, f"its shape is {tuple(tensor.shape)}"))
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        flattened = functions.empty((rows, columns), dtype=tensor.dtype).normal_(0, 1, generator=generator)
        if rows < columns:
            flattened = flattened.t()
        q, r = functions.linalg_qr(flattened)
        q = q * r.diagonal().sign()  # the sign that makes the decomposition, and so the distribution, unique
        if rows < columns:
            q = q.t()
        tensor.copy_(q.reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal numbers and zero the fraction ``sparsity`` of each column. Martens 2010.

    >>> import rushlight as torch
    >>> int((torch.nn.init.sparse_(torch.empty(10, 3), 0.2) == 0).sum())
    6
    """
    if tensor.ndimension() != 2:
        raise ValueError(hinted("Only tensors with 2 dimensions are supported", f"its shape is {tuple(tensor.shape)}"))
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[functions.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(new):
    """The old name of ``new``, without the underscore, which warns."""
    old_name = new.__name__[:-1]

    def old(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    old.__name__ = old.__qualname__ = old_name
    old.__doc__ = f"The old name of `{new.__name__}`; warns."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
