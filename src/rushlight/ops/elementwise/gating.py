"""`glu`: the first half of a tensor, gated by the second."""

import numpy as np

from ...base.arrays import in_result_order
from ...base.errors import hinted
from ..table import functions, is_half, op, widened
from .checks import NOT_FLOATING


@op("glu(Tensor self, int dim=-1) -> Tensor", names=("nn.functional",), refuse=NOT_FLOATING)
class glu:
    """The first half along ``dim`` times the sigmoid of the second half (Dauphin et al., 2016)."""

    def forward(self, dim):
        first, second = halves(self, dim)
        if is_half(self.dtype):
            first, second = first.astype(np.float32), second.astype(np.float32)
        gate = np.exp(-second)
        gate += 1
        found = np.divide(first, gate, out=gate).astype(self.dtype, copy=False)
        return found if self.flags.c_contiguous else in_result_order(found, halves(self, dim))

    def d_self(grad, self, dim):
        return functions.glu_gradient(grad, self, dim)


@op("glu_backward(Tensor grad, Tensor self, int dim) -> Tensor", names=(), node="GluBackwardBackward0")
class glu_gradient:
    """The gradient of `glu`."""

    def forward(grad, self, dim):
        first, second = (widened(half) for half in halves(self, dim))
        grad, gate = widened(grad), 1 / (1 + np.exp(-second))
        return np.concatenate([grad * gate, grad * first * gate * (1 - gate)], dim).astype(self.dtype, copy=False)

    def gradients(grads, grad, self, dim, needs):
        return functions.differentiate_gradient(lambda x: _gated(x, dim), (self,), grad, (grads[0],))

    def samples():
        draw = np.random.default_rng(0)
        for shape, dim in (((2, 6), 1), ((4, 3), 0)):
            x = draw.standard_normal(shape)
            yield (halves(draw.standard_normal(shape), dim)[0], x, dim), {}


def _gated(x, dim):
    """`glu`, of operations that can be differentiated again."""
    first, second = x.chunk(2, dim)
    return first * second.sigmoid()


def halves(array, dim):
    if array.ndim == 0:
        raise RuntimeError(
            hinted(
                "glu does not support scalars because halving size must be even",
                "the tensor needs a dimension to halve",
            )
        )
    if not -array.ndim <= dim < array.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-array.ndim}, {array.ndim - 1}], but got {dim})"
        )
    dim %= array.ndim
    if array.shape[dim] % 2:
        raise RuntimeError(
            hinted(
                f"Halving dimension must be even, but dimension {dim} is size {array.shape[dim]}",
                "the first half is gated by the second",
            )
        )
    head, middle = (slice(None),) * dim, array.shape[dim] // 2
    return array[(*head, slice(0, middle))], array[(*head, slice(middle, None))]
