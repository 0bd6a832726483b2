"""Dropout: elements or whole channels set to zero at random."""

import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.user_code import to_user
from ..random import distributions as draw
from .random import drawn
from .reduce import accumulator
from .table import composite, functions, op


@op("native_dropout(Tensor self, float p, bool train) -> Tensor[]", names=(), node="MulBackward0")
class dropout_pair:
    """The tensor with elements set to zero with probability ``p``, the rest divided by ``1 - p``; and the factors."""

    def forward(self, p, train):
        if self.dtype.kind not in "fV":
            raise _no_dropout(dtypes.from_numpy(self.dtype))
        mask = draw.keep_mask_like(self, 1 - p).astype(self.dtype)
        if p < 1:
            mask *= np.reciprocal(np.array(1 - p, accumulator(self.dtype))).astype(self.dtype)
        return self * mask, mask

    def d_self(grad, result1):
        return grad * result1.detach()


def _no_dropout(dtype):
    """PyTorch's error where a tensor cannot hold the factors of dropout."""
    if dtype.is_complex:
        return NotImplementedError(
            hinted(
                f"\"bernoulli_scalar_cpu_\" not implemented for '{dtype.legacy_name}'",
                "view_as_real(x) has the real and imaginary parts as real numbers",
            )
        )
    return RuntimeError(
        hinted(
            f"result type Float can't be cast to the desired output type {dtype.legacy_name}",
            "dropout divides by 1 - p: convert the tensor with .float()",
        )
    )


def _check_probability(p, kind=ValueError):
    """PyTorch's refusal: as its Python says it, or (RuntimeError) as its own operations do."""
    if not 0 <= p <= 1:
        shown = f"{p:g}" if kind is RuntimeError else p
        text = f"dropout probability has to be between 0 and 1, but got {shown}"
        raise kind(hinted(text, "p is the share of elements set to zero"))


@composite(names=("torch",))
def dropout(input, p, train):
    """Elements set to zero with probability ``p`` in training, the rest scaled by ``1 / (1 - p)`` (Hinton et al., 2012)."""
    _check_probability(p, RuntimeError)
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input * functions.zeros((), dtype=input.dtype, device=input.device)
    return functions.dropout_pair(input, p, train)[0]


def _feature_shape(input):
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _with_noise(input, p, shape, alpha):
    """Dropout with one draw for each element of ``shape``; ``alpha`` keeps mean and variance of SELU networks."""
    noise = drawn(functions.empty(shape, dtype=input.dtype, device=input.device), "bernoulli_", (1 - p,), None)
    if not alpha:
        return input * noise.div_(1 - p) if p < 1 else input * noise
    saturated = 1.7580993408473766
    scale = 1 / math.sqrt((saturated * saturated * p + 1) * (1 - p)) if p < 1 else 0.0
    shift = (noise - 1) * (saturated * scale) + saturated * scale * p
    return input * (noise * scale) + shift


@composite(names=("torch",))
def feature_dropout(input, p, train):
    """Whole channels set to zero with probability ``p``."""
    _check_probability(p, RuntimeError)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, _feature_shape(input), False)


@composite(names=("torch",))
def alpha_dropout(input, p, train):
    """Dropout to the saturation value of SELU, keeping mean and variance (Klambauer et al., 2017)."""
    _check_probability(p, RuntimeError)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, tuple(input.shape), True)


@composite(names=("torch",))
def feature_alpha_dropout(input, p, train):
    """`alpha_dropout` of whole channels."""
    _check_probability(p, RuntimeError)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, _feature_shape(input), True)


def _functional(name, function, doc):
    def call(input, p=0.5, training=True, inplace=False):
        _check_probability(p)
        found = getattr(functions, function)(input, p, training)
        return input.copy_(found) if inplace and found is not input else found

    call.__name__ = call.__qualname__ = f"functional_{name}"
    call.__doc__ = doc
    composite(call, names=(f"nn.functional:{name}",))


_functional("dropout", "dropout", "`torch.dropout`, on in training by default.")


def _purpose(count):
    return (
        f"Note that dropout{count}d exists to provide channel-wise dropout on inputs with {count} spatial "
        f"dimension{'s' * (count > 1)}, a channel dimension, and an optional batch dimension (i.e. {count + 1}D or "
        f"{count + 2}D inputs)."
    )


def _channel_dropout(input, p, training, inplace, batched):
    """Whole channels of (N, C, ...), or of (C, ...) unless ``batched``, set to zero with probability ``p``."""
    found = functions.feature_dropout(input if batched else input.unsqueeze(0), p, training)
    found = found if batched else found.squeeze(0)
    return input.copy_(found) if inplace and found is not input else found


def _warn_of_dropout(count, ndim):
    warnings.warn(
        f"dropout{count}d: Received a {ndim}-D input to dropout{count}d, which is deprecated and will result in an error in a "
        f"future release. To retain the behavior and silence this warning, please use dropout instead. {_purpose(count)}",
        stacklevel=to_user(),
    )


@composite(names=("nn.functional:dropout1d",))
def functional_dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, L) or (C, L) set to zero with probability ``p``."""
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. {_purpose(1)}")
    return _channel_dropout(input, p, training, inplace, input.ndim == 3)


@composite(names=("nn.functional:dropout2d",))
def functional_dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole planes of (N, C, H, W) set to zero with probability ``p``; three dimensions are (N, C, L)."""
    _check_probability(p)
    if input.ndim not in (3, 4):
        _warn_of_dropout(2, input.ndim)
    elif input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
            "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=to_user(),
        )
    return _channel_dropout(input, p, training, inplace, True)


@composite(names=("nn.functional:dropout3d",))
def functional_dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole volumes of (N, C, D, H, W) or (C, D, H, W) set to zero with probability ``p``."""
    _check_probability(p)
    if input.ndim not in (4, 5):
        _warn_of_dropout(3, input.ndim)
    return _channel_dropout(input, p, training, inplace, input.ndim == 5)


def _functional_alpha(name):
    def call(input, p=0.5, training=False, inplace=False):
        _check_probability(p)
        found = getattr(functions, name)(input, p, training)
        return input.copy_(found) if inplace and found is not input else found

    call.__name__ = call.__qualname__ = f"functional_{name}"
    call.__doc__ = f"`torch.{name}`, off by default."
    composite(call, names=(f"nn.functional:{name}",))


_functional_alpha("alpha_dropout")
_functional_alpha("feature_alpha_dropout")
