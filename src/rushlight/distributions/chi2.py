"""torch.distributions.chi2: sums of squares of normal numbers."""

from __future__ import annotations

from ..tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Chi-squared distributions of ``df`` degrees of freedom: Gamma(df / 2, 1 / 2). Follows ``torch.distributions.Chi2``.

    >>> import rushlight as torch
    >>> chi2 = torch.distributions.Chi2(torch.tensor([1.0, 4.0]))
    >>> chi2.mean, chi2.df
    (tensor([1., 4.]), tensor([1., 4.]))
    """

    arg_constraints = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Twice the concentration."""
        return self.concentration * 2
