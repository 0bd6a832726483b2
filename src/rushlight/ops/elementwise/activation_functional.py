"""Activations as ``nn.functional`` has them, with ``inplace``."""

import warnings
from functools import partial

from ...base import dtypes
from ...base.user_code import to_user
from ..table import composite, functions


def functional(function, explains=True):
    """Publish ``function`` in nn.functional; the table knows an operation of the same name already.

    ``explains`` is as of `composite`: that operation says what is wrong with a call.
    """
    public = function.__name__
    function.__name__ = "functional_" + public
    composite(function, names=(f"nn.functional:{public}",), explains=explains)
    function.__name__ = public
    return function


@functional
def relu(input, inplace=False):
    """Each element, but at least 0."""
    return functions.relu_(input) if inplace else functions.relu(input)


@functional
def relu_(input):
    """In-place form of `relu`."""
    return functions.relu_(input)


@functional
def relu6(input, inplace=False):
    """Each element, but at least 0 and at most 6."""
    return (functions.hardtanh_ if inplace else functions.hardtanh)(input, 0, 6)


@functional
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Each element, but at least ``min_val`` and at most ``max_val``."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if getattr(input, "dtype", None) is dtypes.uint8:  # the fraction of a bound is cut before its sign is looked at
        min_val, max_val = (0 if -1 < bound < 0 else bound for bound in (min_val, max_val))
    return (functions.hardtanh_ if inplace else functions.hardtanh)(input, min_val, max_val)


@partial(functional, explains=False)
def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """In-place form of `hardtanh`."""
    return functions.hardtanh_(input, min_val, max_val)


@functional
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` for positive elements, ``negative_slope * x`` for the others."""
    return (functions.leaky_relu_ if inplace else functions.leaky_relu)(input, negative_slope)


@partial(functional, explains=False)
def leaky_relu_(input, negative_slope=0.01):
    """In-place form of `leaky_relu`."""
    return functions.leaky_relu_(input, negative_slope)


@functional
def elu(input, alpha=1.0, inplace=False):
    """``x`` for positive elements, ``alpha * (exp(x) - 1)`` for the others."""
    return (functions.elu_ if inplace else functions.elu)(input, alpha)


@partial(functional, explains=False)
def elu_(input, alpha=1.0):
    """In-place form of `elu`."""
    return functions.elu_(input, alpha)


@partial(functional, explains=False)
def selu(input, inplace=False):
    """`elu` with the constants that keep mean 0 and variance 1 from layer to layer."""
    return functions.selu_(input) if inplace else functions.selu(input)


@partial(functional, explains=False)
def selu_(input):
    """In-place form of `selu`."""
    return functions.selu_(input)


@functional
def celu(input, alpha=1.0, inplace=False):
    """``x`` for positive elements, ``alpha * (exp(x / alpha) - 1)`` for the others."""
    return (functions.celu_ if inplace else functions.celu)(input, alpha)


@functional
def celu_(input, alpha=1.0):
    """In-place form of `celu`."""
    return functions.celu_(input, alpha)


@partial(functional, explains=False)
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """``x`` for positive elements; the others times a slope, random in training, else the mean of the bounds."""
    return (functions.rrelu_ if inplace else functions.rrelu)(input, lower, upper, training)


@partial(functional, explains=False)
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place form of `rrelu`."""
    return functions.rrelu_(input, lower, upper, training)


@functional
def silu(input, inplace=False):
    """``x * sigmoid(x)``."""
    return functions.silu_(input) if inplace else functions.silu(input)


@functional
def mish(input, inplace=False):
    """``x * tanh(softplus(x))``."""
    return functions.mish_(input) if inplace else functions.mish(input)


@functional
def hardsigmoid(input, inplace=False):
    """``(x + 3) / 6`` between 0 and 1."""
    return functions.hardsigmoid_(input) if inplace else functions.hardsigmoid(input)


@functional
def hardswish(input, inplace=False):
    """``x * hardsigmoid(x)``."""
    return functions.hardswish_(input) if inplace else functions.hardswish(input)


@functional
def threshold(input, threshold, value, inplace=False):
    """Each element above ``threshold``; ``value`` for the others."""
    return (functions.threshold_ if inplace else functions.threshold)(input, threshold, value)


@functional
def threshold_(input, threshold, value):
    """In-place form of `threshold`."""
    return functions.threshold_(input, threshold, value)


@functional
def sigmoid(input):
    """``1 / (1 + exp(-x))``."""
    return functions.sigmoid(input)


@functional
def tanh(input):
    """The hyperbolic tangent of each element."""
    return functions.tanh(input)


@functional
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A random sample of the relaxed one-hot distribution of ``logits`` (Jang et al.; Maddison et al., 2016).

    Args:
        tau (float): temperature, above 0; small ones come close to one-hot. Default: 1
        hard (bool): return one-hot vectors that have the gradient of the soft ones. Default: ``False``
        eps: without effect, deprecated as in PyTorch.
        dim (int): the dimension of the classes. Default: -1

    >>> import rushlight as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=to_user())
    noise = -functions.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = functions.zeros_like(logits).scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return chosen - soft.detach() + soft
