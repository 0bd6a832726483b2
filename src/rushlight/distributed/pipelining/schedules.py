"""Schedules: in which order a stage runs the parts of a batch forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import hinted
from ...ops.table import functions
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage


class _Schedule:
    """A training step of one stage: `step` cuts the batch into parts and runs them through."""

    def __init__(
        self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        if n_microbatches < stage.num_stages and self._needs_as_many_parts:
            message = f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages ({stage.num_stages})."
            raise ValueError(hinted(message, "each stage works on another part"))
        self._stage, self._count, self._loss_fn = stage, n_microbatches, loss_fn
        self._chunk_specs, self._merge_spec = (args_chunk_spec, kwargs_chunk_spec), output_merge_spec
        self.scale_grads = scale_grads
        stage.has_backward = loss_fn is not None

    _needs_as_many_parts = False

    def step(
        self, *args: Any, target: Any = None, losses: list[Any] | None = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Run a batch through this stage; all stages call it. The first takes ``args``, the last ``target``; all take ``kwargs``.

        Returns the whole output in the last stage, None in the others. ``losses``, in the last, gets the loss of each part. Without
        a ``loss_fn`` there is no backward.
        """
        stage = self._stage
        stage.has_backward = self._loss_fn is not None
        stage.clear_runtime_states()
        parts, named = split_args_kwargs_into_chunks(args, kwargs, self._count, *self._chunk_specs)
        run = _Run(self, parts or [()] * self._count, named, target, loss_kwargs or {})
        self._run(run)
        stage.finish_sending()
        if stage.has_backward and self.scale_grads:
            stage.scale_grads(self._count)
        if losses is not None and stage.is_last:
            losses[:] = run.losses
        return merge_chunks(run.outputs, self._merge_spec) if stage.is_last and return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """`step` without backward."""
        loss_fn, self._loss_fn = self._loss_fn, None
        try:
            return self.step(*args, **kwargs)
        finally:
            self._loss_fn = loss_fn

    def _run(self, run: _Run) -> None:
        raise NotImplementedError


class _Run:
    """One step of a stage."""

    def __init__(
        self, schedule: _Schedule, parts: list[Any], named: list[Any], target: Any, loss_kwargs: dict[str, Any]
    ) -> None:
        self.stage, self.count, self.loss_fn = schedule._stage, schedule._count, schedule._loss_fn
        self.parts, self.named, self.loss_kwargs = parts, named, loss_kwargs
        self.targets = None if target is None else functions.tensor_split(target, self.count)
        self.outputs: list[Any] = []
        self.losses: list[Any] = []

    def forward(self, number: int) -> None:
        """Run a part forward."""
        result = self.stage.forward_one_chunk(number, self.parts[number], self.named[number])
        if self.stage.is_last:
            self.outputs.append(result)
            if self.loss_fn is not None:
                target = () if self.targets is None else (self.targets[number],)
                self.losses.append(self.loss_fn(result, *target, **self.loss_kwargs))

    def backward(self, number: int) -> None:
        """Run a part backward."""
        loss = self.losses[number] if self.stage.is_last else None
        self.stage.backward_one_chunk(number, loss, last_backward=number == self.count - 1)


class ScheduleGPipe(_Schedule):
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

    def _run(self, run: _Run) -> None:
        for number in range(self._count):
            run.forward(number)
        if run.stage.has_backward:
            for number in range(self._count):
                run.backward(number)


class Schedule1F1B(_Schedule):
    """Parts backward as soon as they can be, so that a stage keeps no more of them than there are stages after it.

    The arguments are those of `ScheduleGPipe`; a batch has as many parts as there are stages, or more.

    Follows ``torch.distributed.pipelining.Schedule1F1B``.
    """

    _needs_as_many_parts = True

    def _run(self, run: _Run) -> None:
        ahead = min(self._count, run.stage.num_stages - run.stage.stage_index)
        for number in range(ahead):
            run.forward(number)
        for number in range(self._count):
            if run.stage.has_backward:
                run.backward(number)
            if ahead + number < self._count:
                run.forward(ahead + number)
