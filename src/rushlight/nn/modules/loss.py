"""Losses between predictions and targets, as modules that remember their options (margin losses: margin_loss.py)."""

from __future__ import annotations

import warnings

from ...tensor import Tensor
from .. import functional as F
from .module import Module


def _legacy_reduction(size_average, reduce):
    """The ``reduction`` that the two old arguments mean."""
    average = size_average is None or size_average
    reduction = "none" if reduce is False else "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction={reduction!r} instead.", stacklevel=4
    )
    return reduction


class _Loss(Module):
    """A loss that is averaged (``'mean'``, the default), summed (``'sum'``) or left as it is (``'none'``)."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _legacy_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a buffer ``weight``: one number a class, or one an element of a batch."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """``|input - target|``. Follows ``torch.nn.L1Loss``.

    >>> import rushlight as torch
    >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the right class: (N, C, ...) and class numbers (N, ...).

    Args:
        weight (Tensor): the weight of each class, (C,). ``'mean'`` divides by the sum of the weights used
        ignore_index (int): targets of this value count nothing. Default: -100

    Follows ``torch.nn.NLLLoss``.

    >>> import rushlight as torch
    >>> torch.nn.NLLLoss()(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss` for images; warns."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """Minus the log-likelihood of counts ``target`` under a Poisson distribution.

    ``exp(input) - target * input``, or ``input - target * log(input + eps)`` without ``log_input``; ``full`` adds
    Stirling's approximation of ``log(target!)``. Follows ``torch.nn.PoissonNLLLoss``.

    >>> import rushlight as torch
    >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-08,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Minus the log-likelihood of ``target`` under normal distributions with mean ``input`` and variance ``var``.

    ``(log(max(var, eps)) + (input - target)^2 / max(var, eps)) / 2``; ``full`` adds ``log(2 pi) / 2``.
    Nix & Weigend 1994; follows ``torch.nn.GaussianNLLLoss``.

    >>> import rushlight as torch
    >>> torch.nn.GaussianNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]), torch.tensor([1.0]))
    tensor(2.)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence ``target (log(target) - input)`` from log-probabilities ``input``.

    Args:
        reduction (str): also ``'batchmean'``: the sum divided by the batch size, the true divergence
        log_target (bool): the target holds logarithms too. Default: ``False``

    Follows ``torch.nn.KLDivLoss``.

    >>> import rushlight as torch
    >>> torch.nn.KLDivLoss(reduction="batchmean")(torch.tensor([[-1.0, -0.5]]), torch.tensor([[0.5, 0.5]]))
    tensor(0.0569)
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """``(input - target)^2``. Follows ``torch.nn.MSELoss``.

    >>> import rushlight as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities: ``-(target log(input) + (1 - target) log(1 - input))``.

    Logarithms are cut off at -100. ``weight`` multiplies each element. Follows ``torch.nn.BCELoss``.

    >>> import rushlight as torch
    >>> torch.nn.BCELoss()(torch.tensor([0.9]), torch.tensor([1.0]))
    tensor(0.1054)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of ``sigmoid(input)``, computed in one step that cannot overflow.

    Args:
        weight (Tensor): multiplies each element
        pos_weight (Tensor): multiplies the part of the positive targets, one number a class

    Follows ``torch.nn.BCEWithLogitsLoss``.

    >>> import rushlight as torch
    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(_Loss):
    """``(input - target)^2 / (2 beta)`` where they differ by less than ``beta``, else ``|input - target| - beta / 2``.

    Girshick 2015; follows ``torch.nn.SmoothL1Loss``.

    >>> import rushlight as torch
    >>> torch.nn.SmoothL1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 4.0]))
    tensor(0.8125)
    """

    __constants__ = ["reduction"]

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """`SmoothL1Loss` times ``delta``: square near 0, then straight. Huber 1964; follows ``torch.nn.HuberLoss``.

    >>> import rushlight as torch
    >>> torch.nn.HuberLoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 4.0]))
    tensor(0.8125)
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class CrossEntropyLoss(_WeightedLoss):
    """`NLLLoss` of the log-softmax of scores: (N, C, ...) and classes (N, ...) or class probabilities (N, C, ...).

    Args:
        weight (Tensor): the weight of each class, (C,)
        ignore_index (int): targets of this value count nothing. Default: -100
        label_smoothing (float): the part of each target spread evenly over all classes. Default: 0

    Follows ``torch.nn.CrossEntropyLoss``.

    >>> import rushlight as torch
    >>> torch.nn.CrossEntropyLoss()(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.4076)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        try:
            weight = self._buffers["weight"]  # as an attribute it would cost a failed look-up and a call
        except KeyError:
            weight = self.weight
        return F.cross_entropy(
            input,
            target,
            weight=weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over the classes of the binary cross entropy of scores: (N, C) and (N, C) of zeros and ones.

    Follows ``torch.nn.MultiLabelSoftMarginLoss``.

    >>> import rushlight as torch
    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]]))
    tensor(1.0032)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification: minus the log-probability of a label sequence over all its alignments.

    ``log_probs`` is (T, N, C), ``targets`` (N, S) or all in one row, the lengths (N,). ``zero_infinity`` zeroes the
    loss of targets that no alignment fits. Graves et al. 2006; follows ``torch.nn.CTCLoss``.

    >>> import rushlight as torch
    >>> scores = torch.zeros(4, 1, 3).log_softmax(2)
    >>> torch.nn.CTCLoss()(scores, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor(0.8432)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
