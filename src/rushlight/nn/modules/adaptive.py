"""AdaptiveLogSoftmaxWithLoss: a softmax over very many classes that spends little on the rare ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.errors import hinted
from ...base.exporting import is_exporting
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by frequency, frequent ones first: (N, in_features) and class numbers (N,).

    The head scores the first ``cutoffs[0]`` classes and one entry a cluster; each cluster, a low-rank layer, is
    computed only for the rows whose target lies in it.

    Args:
        cutoffs (sequence of int): where clusters begin, ascending, below ``n_classes``
        div_value (float): the i-th cluster's rank is ``in_features / div_value**(i + 1)``. Default: 4
        head_bias (bool): whether the head has a bias. Default: ``False``

    Returns:
        a named tuple: ``output``, the log-probability of each target, and ``loss``, minus their mean

    Grave et al. 2017; follows ``torch.nn.AdaptiveLogSoftmaxWithLoss``.

    >>> import rushlight as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10], div_value=2.0)
    >>> layer(torch.randn(5, 16), torch.tensor([0, 3, 5, 12, 19])).output.shape
    torch.Size([5])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        ascending = all(low < high for low, high in zip(cutoffs, cutoffs[1:] + [n_classes]))
        if not ascending or min(cutoffs) <= 0 or any(int(cutoff) != cutoff for cutoff in cutoffs):
            raise ValueError(
                hinted(
                    "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                    "where each value is between 1 and n_classes-1",
                    f"they are {cutoffs}, and n_classes is {n_classes}",
                )
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        factory = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for place, (first, end) in enumerate(self._clusters()):
            rank = int(in_features // div_value ** (place + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, rank, bias=False, **factory), Linear(rank, end - first, bias=False, **factory)
                )
            )

    def _clusters(self):
        """First class and end of each cluster."""
        return list(zip(self.cutoffs, self.cutoffs[1:]))

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        self.head.reset_parameters()
        for low_rank, scores in self.tail:
            low_rank.reset_parameters()
            scores.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        self._check(input_, target_)
        single = target_.dim() == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        output = self._of_all(input, target) if is_exporting() else self._of_targets(input, target)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _of_all(self, input, target):
        """What `_of_targets` gives, by every class: which rows are in a cluster is not known beforehand."""
        return self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)

    def _of_targets(self, input, target):
        """The log-probability of each row's target."""
        head_class = target  # what the head has to score: a frequent class, or the entry of the target's cluster
        within = functions.zeros(target.shape, dtype=input.dtype, device=input.device)
        for place, (first, end) in enumerate(self._clusters()):
            member = (target >= first) & (target < end)
            rows = member.nonzero().squeeze(1)
            if rows.numel():
                head_class = head_class.masked_fill(member, self.shortlist_size + place)
                scores = F.log_softmax(self.tail[place](input.index_select(0, rows)), dim=1)
                chosen = scores.gather(1, target.index_select(0, rows).unsqueeze(1) - first).squeeze(1)
                within = within.index_copy(0, rows, chosen.to(within.dtype))
        used = (target >= 0) & (target < self.n_classes)
        if not used.all():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        return head.gather(1, head_class.unsqueeze(1)).squeeze(1) + within

    def _check(self, input, target):
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                message = "Input and target should have the same size in the batch dimension."
                raise RuntimeError(hinted(message, f"they have {input.shape[0]} and {target.shape[0]} rows"))
            if input.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}"
                )
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}"
                )
        else:
            message = "0D or 1D target tensor expected, multi-target not supported"
            raise RuntimeError(hinted(message, f"the target has shape {tuple(target.shape)}"))

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for place, cluster in enumerate(self.tail):
            entry = head[:, self.shortlist_size + place].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + entry)
        return functions.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probability of every class: (N, in_features) to (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row: (N, in_features) to (N,); `log_prob(input).argmax(1)`, but cheaper."""
        if is_exporting():
            return self.log_prob(input).argmax(dim=1)
        head_output = self.head(input)
        best = head_output.argmax(dim=1)
        rare = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel() == 0:
            return best
        scores = self._get_full_log_prob(input.index_select(0, rare), head_output.index_select(0, rare))
        return best.index_copy(0, rare, scores.argmax(dim=1))
