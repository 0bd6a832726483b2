"""RReLU: a rectifier whose slope for negative elements is drawn at random (Xu et al., 2015)."""

from ...base.dtypes import float64
from ...base.errors import hinted
from ..table import ELEMENTWISE, composite, functions, op
from .checks import NOT_FLOATING


@op(
    "rrelu_with_noise(Tensor self, Tensor noise) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
    names=(),
    refuse=NOT_FLOATING,
)
class rrelu_with_noise:
    """``noise * x``: positive elements have a noise of 1."""

    kernel = "leaky_relu_cpu"
    inplace_node = "RreluWithNoiseBackward1"

    light = True

    def element(m, self, noise):
        return self * noise

    def d_self(grad, noise):
        return grad * noise


def _rrelu_noise(input, lower, upper, training, generator):
    """The factor of each element: 1, or for those that are not positive a slope."""
    if lower > upper:
        raise RuntimeError(
            hinted("Lower bound should be less than or equal to the upper bound", f"they are {lower} and {upper}")
        )
    outside = (input <= 0).detach()
    if training:
        slopes = functions.empty(int(outside.sum().item()), dtype=float64).uniform_(lower, upper, generator=generator)
        return functions.ones_like(input.detach()).masked_scatter_(outside, slopes.to(input.dtype))
    return functions.where(outside, functions.scalar_tensor((lower + upper) / 2, dtype=input.dtype), 1)


@composite(names=("torch",))
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """``x`` for positive elements; the others times a slope, random between the bounds in training, else their mean."""
    return functions.rrelu_with_noise(input, _rrelu_noise(input, lower, upper, training, generator))


@composite(names=("torch",))
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """In-place form of `rrelu`."""
    return functions.rrelu_with_noise_(input, _rrelu_noise(input, lower, upper, training, generator))
