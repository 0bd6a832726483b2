"""Softmax and its logarithm."""

import warnings

import numpy as np

from ..base import dtypes
from ..base.arrays import narrowed
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..base.user_code import to_user
from .reduce import add_up
from .rowwise import by_rows
from .table import composite, functions, is_half, op, widened

_NATIVE = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def _prepared(name, array, dim, dtype):
    """(float array, axis, result dtype) of a softmax call."""
    if dtype is None and array.dtype in _NATIVE:
        axis = wrap_dim(dim, array.ndim)
        return array, axis if array.ndim else None, array.dtype
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    axis = wrap_dim(dim, array.ndim)
    if not kind.is_floating_point:
        if not array.size:  # for which PyTorch starts no kernel
            return array.astype(np.float32), axis if array.ndim else None, kind.numpy
        where = "_lastdim" if axis == max(array.ndim - 1, 0) else ""
        raise NotImplementedError(
            hinted(
                f"\"{name}{where}_kernel_impl\" not implemented for '{kind.legacy_name}'",
                "softmax takes floating-point numbers: x.float()",
            )
        )
    goal = np.dtype(np.float32) if is_half(kind.numpy) else kind.numpy
    wide = narrowed(array, goal).astype(goal, copy=False)
    return wide, axis if array.ndim else None, kind.numpy


def _shift(array, axis, out):
    """Into ``out``: ``array`` less its maximum along ``axis``, so that its exponentials stay finite."""
    if array.size:
        np.subtract(array, np.maximum.reduce(array, axis=axis, keepdims=True), out=out)


def _softmax(array, axis, out):
    _shift(array, axis, out)
    np.exp(out, out=out)
    np.divide(out, add_up(out, axis, True), out=out)


def _log_softmax(array, axis, out):
    _shift(array, axis, out)
    np.subtract(out, np.log(add_up(np.exp(out), axis, True)), out=out)


def _softmax_gradient(grad, output, axis, out):
    np.multiply(grad, output, out=out)
    total = add_up(out, axis, True)
    np.subtract(out, np.multiply(output, total), out=out)


def _log_softmax_gradient(grad, output, axis, out):
    np.exp(output, out=out)
    np.multiply(out, add_up(grad, axis, True), out=out)
    np.subtract(grad, out, out=out)


def _gradient_of(formula, grad, output, dim):
    axis = wrap_dim(dim, output.ndim) if output.ndim else None
    found = by_rows(formula, axis, widened(grad), widened(output))
    return found.astype(grad.dtype, copy=False)


@op("softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor", names=("torch", "Tensor", "special"))
class softmax:
    """``exp(x) / sum(exp(x))`` along ``dim``: positive numbers that sum to one.

    >>> import rushlight as torch
    >>> torch.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """

    def forward(self, dim, dtype):
        wide, axis, kind = _prepared("softmax", self, dim, dtype)
        return by_rows(_softmax, axis, wide).astype(kind, copy=False)

    def d_self(grad, result, dim):
        return functions.softmax_gradient(grad, result, dim)


@op("softmax_gradient(Tensor grad, Tensor output, int dim) -> Tensor", names=(), node="SoftmaxBackwardDataBackward0")
class softmax_gradient:
    """The gradient of softmax: ``output * (grad - sum(grad * output))`` along ``dim``."""

    def forward(grad, output, dim):
        return _gradient_of(_softmax_gradient, grad, output, dim)

    def gradients(grads, grad, output, dim, needs):
        (outer,) = grads
        total = (grad * output).sum(dim, True) if output.ndim else grad * output
        outer_total = (outer * output).sum(dim, True) if output.ndim else outer * output
        return output * (outer - outer_total), outer * (grad - total) - grad * outer_total


@op("log_softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor", names=("torch", "Tensor", "special"))
class log_softmax:
    """``x - log(sum(exp(x)))`` along ``dim``, computed without overflow.

    >>> import rushlight as torch
    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """

    def forward(self, dim, dtype):
        wide, axis, kind = _prepared("log_softmax", self, dim, dtype)
        return by_rows(_log_softmax, axis, wide).astype(kind, copy=False)

    def d_self(grad, result, dim):
        return functions.log_softmax_gradient(grad, result, dim)


@op("log_softmax_gradient(Tensor grad, Tensor output, int dim) -> Tensor",
    names=(), node="LogSoftmaxBackwardDataBackward0")  # fmt: skip
class log_softmax_gradient:
    """The gradient of log_softmax: ``grad - exp(output) * sum(grad)`` along ``dim``."""

    def forward(grad, output, dim):
        return _gradient_of(_log_softmax_gradient, grad, output, dim)

    def gradients(grads, grad, output, dim, needs):
        (outer,) = grads
        probability = output.exp()
        weighted = (outer * probability).sum(dim, True) if output.ndim else outer * probability
        total = grad.sum(dim, True) if output.ndim else grad
        return outer - weighted, -outer * probability * total


def _implicit_dim(name, ndim):
    """The dimension that old code without ``dim`` meant, with PyTorch's warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=to_user(),
    )
    return 0 if ndim in (0, 1, 3) else 1


def _functional(name, doc):
    def call(input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            dim = _implicit_dim(name, input.ndim)
        if name == "softmin":
            return functions.softmax(-input, dim, dtype)
        return getattr(functions, name)(input, dim, dtype)

    call.__name__ = call.__qualname__ = f"functional_{name}"
    call.__doc__ = doc
    composite(call, names=(f"nn.functional:{name}",))


_functional("softmax", "`torch.softmax`; without ``dim`` the old implicit choice, with a warning.")
_functional("log_softmax", "`torch.log_softmax`; without ``dim`` the old implicit choice, with a warning.")
_functional("softmin", "The softmax of the negated input.")
