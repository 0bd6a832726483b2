"""torch.distributions.von_mises: normal numbers on a circle."""

from __future__ import annotations

import math

from ..autograd import no_grad
from ..base.dtypes import bool_, float64
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, broadcast_all, lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun, 9.8.1 to 9.8.4: I0 and I1 / x in (x / 3.75)**2, and sqrt(x) exp(-x) I in 3.75 / x.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
)  # fmt: skip


def _polynomial(y, coefficients):
    found = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = coefficient + y * found
    return found


def _log_modified_bessel_fn(x, order=0):
    """The logarithm of the modified Bessel function of the first kind, of ``order`` 0 or 1, for positive numbers."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (x.abs() * small if order == 1 else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return functions.where(x < 3.75, small, large)


class VonMises(Distribution):
    """Angles around ``loc``, in radians from -pi to pi, the closer the larger ``concentration`` is. Follows ``torch.distributions.VonMises``.

    Samples are found in double precision, after Best and Fisher, "Efficient simulation of the von Mises distribution" (1979).

    >>> import rushlight as torch
    >>> angles = torch.distributions.VonMises(torch.tensor(0.0), torch.tensor([1.0, 4.0]))
    >>> angles.variance
    tensor([0.5536, 0.1365])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = ("loc", "concentration")

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        height = self.concentration * (value - self.loc).cos()
        return height - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that samples are proposed from."""
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return functions.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = self.loc.to(float64), self.concentration.to(float64), self._proposal_r
        angle = functions.zeros(shape, dtype=float64, device=loc.device)
        done = functions.zeros(shape, dtype=bool_, device=loc.device)
        while not done.all():
            place, chance, side = functions.rand((3, *shape), dtype=float64, device=loc.device).unbind()
            z = (math.pi * place).cos()
            cosine = (1 + r * z) / (r + z)
            c = kappa * (r - cosine)
            accept = (c * (2 - c) - chance > 0) | ((c / chance).log() + 1 - c >= 0)
            # A place that has its angle takes a later one, too: PyTorch's samples are the last ones accepted.
            angle = functions.where(accept, (side - 0.5).sign() * cosine.acos(), angle)
            done = done | accept
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the length of the mean vector."""
        ratio = _log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration, 0)
        return 1 - ratio.exp()
