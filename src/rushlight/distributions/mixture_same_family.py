"""torch.distributions.mixture_same_family: values of a component that is drawn first."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import EMPTY

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Mixtures of the distributions along the last batch dimension of ``component_distribution``.

    ``mixture_distribution``, a `Categorical`, draws which. ValueError for other classes and for batches that do not go together.
    Follows ``torch.distributions.MixtureSameFamily``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 3.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(1.), tensor(5.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False
    _batched = ("_mixture_distribution", "_component_distribution")
    _unbatched = ("_num_component", "_event_ndims")

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        _check_parts(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        batch_shape = component_distribution.batch_shape[:-1]
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution that draws the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        weights, parts = self._weights(), self.component_distribution
        within = (weights * parts.variance).sum(-1 - self._event_ndims)
        between = (weights * (parts.mean - self._pad(self.mean)).pow(2.0)).sum(-1 - self._event_ndims)
        return within + between

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._check_value(x)
        parts = self.component_distribution.log_prob(self._pad(x))
        return (parts + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        with no_grad():
            place = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (1 + self._event_ndims))
            chosen = chosen.repeat((*(1 for _ in range(chosen.dim() - self._event_ndims)), *self.event_shape))
            return functions.gather(values, place, chosen).squeeze(place)

    def _pad(self, x):
        """A value with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _weights(self):
        """The components' probabilities with the dimensions of the batch and of the event."""
        probs = self.mixture_distribution.probs
        dimensions = len(self.mixture_distribution.batch_shape)
        missing = 0 if dimensions == 1 else len(self.batch_shape) - dimensions
        return probs.reshape(probs.shape[:-1] + (1,) * missing + probs.shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


def _check_parts(mixture, component):
    if not isinstance(mixture, Categorical):
        line = " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
        raise ValueError(hinted(line, f"it is a {type(mixture).__name__}"))
    if not isinstance(component, Distribution):
        line = "The Component distribution needs to be an instance of torch.distributions.Distribution"
        raise ValueError(hinted(line, f"it is a {type(component).__name__}"))
    outer, inner = mixture.batch_shape, component.batch_shape[:-1]
    for size, other in zip(reversed(outer), reversed(inner)):
        if size != other and size != 1 and other != 1:
            raise ValueError(
                hinted(
                    f"`mixture_distribution.batch_shape` ({outer}) is not compatible with "
                    f"`component_distribution.batch_shape`({inner})",
                    "without the components' dimension, the last one, they have to broadcast",
                )
            )
    weights, parts = mixture.logits.shape[-1], component.batch_shape[-1]
    if weights != parts:
        raise ValueError(
            hinted(
                f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` ({parts})",
                "there has to be a weight for each component",
            )
        )
