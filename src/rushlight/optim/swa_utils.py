"""Averages of weights over training: SWA and exponential moving averages, ``torch.optim.swa_utils``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

from ..autograd import no_grad
from ..base.device import DeviceLike
from ..base.dtypes import int64
from ..base.errors import hinted
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..ops.table import functions
from ..tensor import Tensor
from .lr_scheduler import LRScheduler
from .lr_scheduler.base import one_a_group, values_of

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """An exponential moving average of a list of tensors, in place: for ``AveragedModel(multi_avg_fn=...)``.

    >>> import rushlight as torch
    >>> average = torch.zeros(2)
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)([average], [torch.ones(2)], 1)
    >>> average
    tensor([0.1000, 0.1000])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, num_averaged):
        for average, current in zip(ema_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Any:
    """The plain mean of a list of tensors, in place: for ``AveragedModel(multi_avg_fn=...)``.

    >>> import rushlight as torch
    >>> average = torch.zeros(2)
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()([average], [torch.ones(2)], 1)
    >>> average
    tensor([0.5000, 0.5000])
    """

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        count = num_averaged + 1
        for average, current in zip(averaged_param_list, current_param_list):
            average.copy_(average + (current - average) / count)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """An exponential moving average of one tensor: for ``AveragedModel(avg_fn=...)``.

    >>> import rushlight as torch
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.9)(torch.zeros(2), torch.ones(2), 1)
    tensor([0.1000, 0.1000])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Any:
    """The plain mean of one tensor: for ``AveragedModel(avg_fn=...)``.

    >>> import rushlight as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(2), torch.ones(2), 1)
    tensor([0.5000, 0.5000])
    """

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of the model's over its ``update_parameters`` calls.

    SWA (Izmailov et al., 2018) by default: the plain mean. The first call copies.

    Args:
        model: the model to average; it is copied.
        device: where the copy is kept.
        avg_fn: ``avg_fn(average, parameter, count)`` returns the new average of one parameter.
        multi_avg_fn: ``multi_avg_fn(averages, parameters, count)`` updates lists of them in place.
        use_buffers: average buffers too; otherwise they are copied from the model.

    >>> import rushlight as torch
    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: DeviceLike = None,
        avg_fn: Callable[[Tensor, Tensor, Tensor | int], Tensor] | None = None,
        multi_avg_fn: Callable[[Any, Any, Tensor | int], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", functions.full((), 0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        buffers = module.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in itertools.chain(module.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the average."""
        averages = self._averaged(self.module)
        current = [tensor.to(average.device) for average, tensor in zip(averages, self._averaged(model))]
        if self.n_averaged == 0:
            for average, tensor in zip(averages, current):
                average.copy_(tensor)
        elif self.avg_fn is not None:
            for average, tensor in zip(averages, current):
                average.copy_(self.avg_fn(average, tensor, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, current, self.n_averaged)
        if not self.use_buffers:
            for own, buffer in zip(self.module.buffers(), model.buffers()):
                own.detach().copy_(buffer.detach().to(own.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike = None) -> None:
    """Compute the running statistics of all BatchNorm layers anew, in one pass over ``loader``.

    Args:
        loader: yields batches for ``model``, or tuples and lists that begin with one.
        model: the model; its mode (training or not) is as before afterwards.
        device: where batches are moved first.

    >>> import rushlight as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The learning rate goes to ``swa_lr`` in ``anneal_epochs`` epochs and stays there.

    Args:
        optimizer: the optimizer whose groups are written.
        swa_lr: the final rate; a number, or a list with one a group.
        anneal_epochs: epochs until it is reached.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the epoch to resume from; -1 to begin.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=1)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, lr in zip(optimizer.param_groups, one_a_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                hinted(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}", "it counts whole epochs")
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        """How much of the way is done after so many steps."""
        share = max(0, min(1, step / max(1, self.anneal_epochs)))
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group, lr in zip(self.optimizer.param_groups, values_of(self.optimizer, "lr")):
            target = group["swa_lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
