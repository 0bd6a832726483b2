"""A stage: a part of a model that one process runs, and the messages to those before and after it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ...autograd import backward as run_backward
from ...base.errors import hinted
from ...nn import Module
from ...nn.parallel import DistributedDataParallel
from ...ops.table import functions
from ...tensor import Tensor
from ..groups import default_group
from ..messages import isend, recv
from ..objects import receive_value, send_value


class PipelineStage:
    """One stage of a pipeline: number i, in process i of the group; where there are more stages than processes, in turn.

    Args:
        submodule (Module): what this stage computes. Its inputs are the tensors that the stage before gives.
        stage_index (int): the number of this stage.
        num_stages (int): how many there are; at least as many as the group has processes.
        device: the CPU.
        input_args, output_args: accepted; the first step finds out which shapes go from stage to stage.
        group: default: all processes.

    Follows ``torch.distributed.pipelining.PipelineStage``.
    """

    def __init__(
        self, submodule: Module, stage_index: int, num_stages: int, device: Any, input_args: Any = None, output_args: Any = None,
        output_grads: Any = None, input_grads: Any = None, group: Any = None, dw_builder: Any = None, get_mesh: Any = None,
    ) -> None:  # fmt: skip
        if stage_index >= num_stages:
            message = f"Stage index {stage_index} is out of range of {num_stages}"
            raise ValueError(hinted(message, "stages are counted from 0"))
        self.submod: Any = submodule
        self.stage_index, self.num_stages, self.device = stage_index, num_stages, device
        self.group = default_group() if group is None else group
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            message = f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            raise RuntimeError(hinted(message, "one process for each stage"))
        self.has_backward = False
        # Stages in this process, by their numbers: what goes to them is put into ``_come``, under the stage that it comes from.
        self.near: dict[int, PipelineStage] = {}
        self._come: dict[int, list[Any]] = defaultdict(list)
        # Of each part of the batch: shapes and dtypes of what the stage before sends.
        self._templates: dict[int, Any] = {}
        self._told: set[int] = set()  # parts of which the stage after knows those of what this one sends
        self._kept: dict[int, tuple[Any, Any]] = {}  # number of a part of the batch -> (inputs, outputs)
        self._sending: dict[int, list[Any]] = defaultdict(list)

    @property
    def is_first(self) -> bool:
        """Whether it takes the batch."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether it gives the result."""
        return self.stage_index == self.num_stages - 1

    def forward_one_chunk(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run part ``number`` of the batch, whose tensors come from the stage before unless this is the first."""
        inputs = args if self.is_first else self._received(number)
        result = self.submod(*inputs, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        if self.has_backward:
            self._kept[number] = inputs, outputs
        if not self.is_last:
            self._send_outputs(number, outputs)
        return result

    # Messages between two processes are told apart by the stage that they come from: each stage's come in its own order.

    def _place(self, stage: int) -> int:
        """The process of a stage."""
        return stage % self.group_size

    def _received(self, number: int) -> tuple[Any, ...]:
        before = self.stage_index - 1
        if number not in self._templates:
            told = self._come[before].pop(0) if before in self.near else self._receive_value(before)
            self._templates[number] = told
        made = []
        for shape, dtype, tracked in self._templates[number]:
            each = self._receive(functions.empty(tuple(shape), dtype=dtype), before)
            made.append(each.requires_grad_(tracked and self.has_backward))
        return tuple(made)

    def _receive_value(self, stage: int) -> Any:
        return receive_value(None, self.group, stage, self._place(stage))[0]

    def _receive(self, tensor: Any, stage: int) -> Any:
        """What comes from a stage, in ``tensor`` where that is in another process."""
        if stage in self.near:
            return self._come[stage].pop(0)
        recv(tensor, group=self.group, tag=stage, group_src=self._place(stage))
        return tensor

    def _send_outputs(self, number: int, outputs: tuple[Any, ...]) -> None:
        for each in outputs:
            if not isinstance(each, Tensor):
                message = (
                    f"Outputs of a stage have to be tensors, but stage {self.stage_index} gave a {type(each).__name__}"
                )
                raise TypeError(hinted(message, "what later stages need besides goes through tensors"))
        after = self.stage_index + 1
        if number not in self._told:
            told = [(tuple(each.shape), each.dtype, each.requires_grad) for each in outputs]
            if after in self.near:
                self.near[after]._come[self.stage_index].append(told)
            else:
                send_value(told, None, self.group, self.stage_index, self._place(after))
            self._told.add(number)
        for each in outputs:
            self._begin(number, each.detach(), after)

    def _begin(self, number: int, tensor: Any, stage: int) -> None:
        """Begin to send a tensor to a stage."""
        if stage in self.near:
            self.near[stage]._come[self.stage_index].append(tensor)
            return
        kept = tensor.contiguous()
        work = isend(kept, group=self.group, tag=self.stage_index, group_dst=self._place(stage))
        self._sending[number].append((work, kept))

    def backward_one_chunk(self, number: int, loss: Any = None, last_backward: bool = False) -> None:
        """Run part ``number`` backward, from its loss in the last stage, else from the gradients that come from the stage after."""
        inputs, outputs = self._kept.pop(number)
        tracked = [each for each in outputs if each.requires_grad]
        if self.is_last:
            roots, grads = [loss], [None]
        else:
            roots = tracked
            grads = [self._receive(functions.empty_like(each.detach()), self.stage_index + 1) for each in tracked]
        parallel = isinstance(self.submod, DistributedDataParallel)
        if parallel and not last_backward:
            with self.submod.no_sync():
                run_backward(roots, grads)
        else:
            run_backward(roots, grads)
        if not self.is_first:
            for each in inputs:
                if each.requires_grad:
                    self._begin(
                        number, functions.zeros_like(each) if each.grad is None else each.grad, self.stage_index - 1
                    )

    def finish_sending(self) -> None:
        """Wait until all that was sent is on its way."""
        for some in self._sending.values():
            for work, _ in some:
                work.wait()
        self._sending.clear()

    def scale_grads(self, factor: int) -> None:
        """Divide the gradients of the stage's parameters."""
        for each in self.submod.parameters():
            if each.grad is not None:
                each.grad.div_(factor)

    def clear_runtime_states(self) -> None:
        """Forget what a step has kept."""
        self._kept.clear()


def build_stage(
    stage_module: Module, stage_index: int, pipe_info: Any, device: Any, group: Any = None
) -> PipelineStage:
    """The `PipelineStage` of a module that `pipeline` has split off."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)
