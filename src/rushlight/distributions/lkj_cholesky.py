"""torch.distributions.lkj_cholesky: Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math

from ..base.dtypes import finfo
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import EMPTY, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices M, ``dim`` by ``dim``, of density in proportion to ``|M|**(concentration - 1)``.

    A concentration of 1 makes all correlation matrices equally likely; ``dim`` below 2 raises ValueError. After
    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices" (2009), the onion method. Follows
    ``torch.distributions.LKJCholesky``.

    >>> import rushlight as torch
    >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
    >>> (factor @ factor.mT).diagonal()
    tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")
    _unbatched = ("dim",)

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            line = f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            raise ValueError(hinted(line, "a single variable correlates with none"))
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of what each row has left of the diagonal; the first row, of nothing, is drawn along.
        rows = functions.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        rows = functions.cat([rows.new_zeros((1,)), rows])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = functions.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
        directions = normal / normal.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)
        factor = squares.sqrt() * directions
        diagonal = (1 - (factor**2).sum(-1)).clamp(min=finfo(factor.dtype).tiny).sqrt()
        return factor + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = functions.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + functions.mvlgamma(alpha - 0.5, less) - alpha.lgamma() * less
        return (powers * diagonal.log()).sum(-1) - normalizer
