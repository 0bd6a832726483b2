"""Folding a batch norm, as it works in evaluation, into the convolution or linear layer before it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from ...nn.modules.batchnorm import _BatchNorm
    from ...nn.modules.module import ModuleT

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, variance, eps, scale, shift, shape):
    """Weight and bias of the one layer; ``shape`` lays the factor of a channel out along the weight's channels."""
    dtypes = weight.dtype, bias.dtype if bias is not None else weight.dtype
    bias = functions.zeros_like(mean) if bias is None else bias
    scale = functions.ones_like(mean) if scale is None else scale
    shift = functions.zeros_like(mean) if shift is None else shift
    factor = scale * functions.rsqrt(variance + eps)
    return (weight * factor.reshape(shape)).to(dtypes[0]), ((bias - mean) * factor + shift).to(dtypes[1])


def _as_parameters(weight, bias, of_weight, of_bias):
    return (
        Parameter(weight.detach(), of_weight.requires_grad),
        Parameter(bias.detach(), True if of_bias is None else of_bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what a convolution and a batch norm in evaluation do.

    Args:
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, eps, weight and bias of the norm.
        transpose (bool): for transposed convolutions, whose weight has its output channels second. Default: ``False``
    """
    shape = [1, -1] if transpose else [-1, 1]
    found = _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))
    return _as_parameters(*found, conv_w, conv_b)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """The same for a linear layer followed by a batch norm."""
    found = _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
    return _as_parameters(*found, linear_w, linear_b)


def _in_evaluation(layer, bn):
    if layer.training or bn.training:
        raise AssertionError(hinted("Fusion only for eval!", "call .eval() on both modules first"))


def fuse_conv_bn_eval(conv: ModuleT, bn: _BatchNorm, transpose: bool = False) -> ModuleT:
    """A copy of ``conv`` that does what ``bn(conv(x))`` does in evaluation; both must be in evaluation mode.

    >>> import rushlight as torch
    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, bn), torch.randn(1, 1, 5, 5)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    _in_evaluation(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: ModuleT, bn: _BatchNorm) -> ModuleT:
    """A copy of ``linear`` that does what ``bn(linear(x))`` does in evaluation; both must be in evaluation mode."""
    _in_evaluation(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
