"""Schedules: in which order the stages of a process run the parts of a batch forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...autograd import is_grad_enabled
from ...base.errors import hinted
from ...ops.table import functions
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage


class _Action(NamedTuple):
    """What a process does next: run a part of the batch through one of its stages, forward or backward."""

    stage: PipelineStage
    number: int
    forward: bool


class _Schedule:
    """A training step of the stages of one process: `step` cuts the batch into parts and runs them through."""

    def __init__(
        self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        self._stages, self._count, self._loss_fn = stages, n_microbatches, loss_fn
        self._chunk_specs, self._merge_spec = (args_chunk_spec, kwargs_chunk_spec), output_merge_spec
        self.scale_grads, self._has_backward = scale_grads, loss_fn is not None
        near = {stage.stage_index: stage for stage in stages}
        for stage in stages:
            stage.has_backward, stage.near = self._has_backward, near

    def step(
        self, *args: Any, target: Any = None, losses: list[Any] | None = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Run a batch through these stages; all processes call it. The first stage takes ``args``, the last ``target``; all take ``kwargs``.

        Returns the whole output where the last stage is, None elsewhere. ``losses``, there, gets the loss of each part. Without a
        ``loss_fn`` there is no backward.
        """
        if self._has_backward and not is_grad_enabled():
            message = (
                "step() requires gradients to be enabled for backward computation; it should not be used under "
                "torch.no_grad() context. Please call eval() instead."
            )
            raise RuntimeError(hinted(message, "eval() runs forward alone"))
        for stage in self._stages:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        parts, named = split_args_kwargs_into_chunks(args, kwargs, self._count, *self._chunk_specs)
        run = _Run(self, parts or [()] * self._count, named, target, loss_kwargs or {})
        for action in self._order():
            run.forward(action) if action.forward else run.backward(action)
        for stage in self._stages:
            stage.finish_sending()
            if self._has_backward and self.scale_grads:
                stage.scale_grads(self._count)
        is_last = any(stage.is_last for stage in self._stages)
        if losses is not None and is_last:
            losses[:] = run.losses
        return merge_chunks(run.outputs, self._merge_spec) if is_last and return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """`step` without backward."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _order(self) -> Iterator[_Action]:
        """What this process does, one after the other."""
        raise NotImplementedError


class _Run:
    """One step of a process."""

    def __init__(
        self, schedule: _Schedule, parts: list[Any], named: list[Any], target: Any, loss_kwargs: dict[str, Any]
    ) -> None:
        self.count, self.loss_fn, self.has_backward = schedule._count, schedule._loss_fn, schedule._has_backward
        self.parts, self.named, self.loss_kwargs = parts, named, loss_kwargs
        self.targets = None if target is None else functions.tensor_split(target, self.count)
        self.left = {stage.stage_index: self.count for stage in schedule._stages}  # parts that have not run backward
        self.outputs: list[Any] = []
        self.losses: list[Any] = []

    def forward(self, action: _Action) -> None:
        """Run a part forward."""
        stage, number, _ = action
        result = stage.forward_one_chunk(number, self.parts[number], self.named[number])
        if stage.is_last:
            self.outputs.append(result)
            if self.loss_fn is not None and (self.has_backward or self.targets is not None):
                target = () if self.targets is None else (self.targets[number],)
                self.losses.append(self.loss_fn(result, *target, **self.loss_kwargs))

    def backward(self, action: _Action) -> None:
        """Run a part backward."""
        if self.has_backward:
            stage, number, _ = action
            self.left[stage.stage_index] -= 1
            loss = self.losses[number] if stage.is_last else None
            stage.backward_one_chunk(number, loss, last_backward=not self.left[stage.stage_index])


class _OneStage(_Schedule):
    """A schedule for one stage in each process."""

    _needs_as_many_parts = False

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args: Any, **options: Any) -> None:
        if n_microbatches < stage.num_stages and self._needs_as_many_parts:
            message = f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages ({stage.num_stages})."
            raise ValueError(hinted(message, "each stage works on another part"))
        if stage.group_size < stage.num_stages:
            message = f"{type(self).__name__}: one process runs one stage, but {stage.num_stages} stages are in {stage.group_size}"
            raise ValueError(hinted(message, "ScheduleInterleaved1F1B and ScheduleLoopedBFS run several"))
        super().__init__([stage], n_microbatches, *args, **options)


class ScheduleGPipe(_OneStage):
    """All parts forward, then all backward (Huang et al., 2019).

    Args:
        stage (PipelineStage): what this process runs.
        n_microbatches (int): how many parts a batch is cut into.
        loss_fn: ``loss_fn(output, target)`` of a part. Default: no backward
        args_chunk_spec, kwargs_chunk_spec: a `TensorChunkSpec` for each argument. Default: dimension 0
        output_merge_spec: a `TensorChunkSpec` for each output. Default: dimension 0
        scale_grads (bool): divide gradients by the number of parts, as a mean loss of the whole batch has it. Default: True

    Follows ``torch.distributed.pipelining.ScheduleGPipe``.
    """

    def _order(self) -> Iterator[_Action]:
        for forward in (True, False):
            yield from (_Action(self._stages[0], number, forward) for number in range(self._count))


class Schedule1F1B(_OneStage):
    """Parts backward as soon as they can be, so that a stage keeps no more of them than there are stages after it.

    The arguments are those of `ScheduleGPipe`; a batch has as many parts as there are stages, or more.

    Follows ``torch.distributed.pipelining.Schedule1F1B``.
    """

    _needs_as_many_parts = True

    def _order(self) -> Iterator[_Action]:
        stage = self._stages[0]
        ahead = min(self._count, stage.num_stages - stage.stage_index)
        yield from (_Action(stage, number, True) for number in range(ahead))
        for number in range(self._count):
            yield _Action(stage, number, False)
            if ahead + number < self._count:
                yield _Action(stage, ahead + number, True)


class ScheduleLoopedBFS(_Schedule):
    """Several stages in each process: all parts through one stage, then through the next, and backward the other way (Lamy-Poirier, 2023).

    Args:
        stages (list[PipelineStage]): what this process runs: of n processes, number i has the stages i, i + n, i + 2n, ...
        n_microbatches, loss_fn, output_merge_spec, scale_grads: see `ScheduleGPipe`.
        backward_requires_autograd, defer_pp_recv (bool): accepted: backward is autograd's, and what comes is waited for when it is used.

    Follows ``torch.distributed.pipelining.ScheduleLoopedBFS``.
    """

    def __init__(
        self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable[..., Any] | None = None, output_merge_spec: Any = None,
        scale_grads: bool = True, backward_requires_autograd: bool = True, defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads)

    def _order(self) -> Iterator[_Action]:
        yield from (_Action(stage, number, True) for stage in self._stages for number in range(self._count))
        for stage in reversed(self._stages):
            yield from (_Action(stage, number, False) for number in reversed(range(self._count)))


class ScheduleInterleaved1F1B(_Schedule):
    """Several stages in each process: rounds of parts through one stage after the other, and backward in between as soon as it can be
    (Narayanan et al., 2021).

    Args:
        stages (list[PipelineStage]): what this process runs: of n processes, number i has the stages i, i + n, i + 2n, ...
        n_microbatches (int): how many parts a batch is cut into: a multiple of ``max(1, n_microbatches // n)``, the rounds.
        loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: see `ScheduleGPipe`.
        backward_requires_autograd, defer_pp_recv (bool): accepted: backward is autograd's, and what comes is waited for when it is used.

    Follows ``torch.distributed.pipelining.ScheduleInterleaved1F1B``.
    """

    def __init__(
        self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True, backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self.number_of_rounds = max(1, n_microbatches // stages[0].group_size)
        self.microbatches_per_round = n_microbatches // self.number_of_rounds
        if n_microbatches % self.number_of_rounds:
            message = (
                "Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds "
                f"({self.number_of_rounds}), but got {n_microbatches}."
            )
            raise ValueError(hinted(message, "as many parts in each round"))

    def _one_way(self, stages: list[PipelineStage], forward: bool) -> list[_Action]:
        """All parts through stages, a round through each before the next round."""
        each = self.microbatches_per_round
        return [
            _Action(stage, start + number, forward)
            for start in range(0, self._count, each)
            for stage in stages
            for number in range(each)
        ]

    def _order(self) -> Iterator[_Action]:
        forward, backward = self._one_way(self._stages, True), self._one_way(self._stages[::-1], False)
        hops = self._stages[0].group_size - 1 - self._stages[0].group_rank  # to the process of the last stage, and back
        ahead = min((len(self._stages) - 1) * self.microbatches_per_round + 2 * hops, len(forward))
        yield from forward[:ahead]
        for pair in zip(forward[ahead:], backward):
            yield from pair
        yield from backward[len(forward) - ahead :]
