"""``pipeline``: a Sequential in stages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, NoReturn

from ...base.errors import hinted
from ...nn import Module, Sequential
from .stage import PipelineStage, build_stage


class SplitPoint(Enum):
    """Whether a stage begins before a submodule, or after it."""

    BEGINNING = 1
    END = 2


class PipeInfo(NamedTuple):
    """What stages know of the whole."""

    num_stages: int


class Pipe(Module):
    """A model in stages."""

    def __init__(self, stages: list[Sequential]) -> None:
        super().__init__()
        self.num_stages = len(stages)
        self.split_gm = Sequential(*stages)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> Module:
        """The module of a stage, in which submodules have the names that they have in the model."""
        if not 0 <= stage_idx < self.num_stages:
            message = f"Invalid stage index {stage_idx}!"
            raise ValueError(hinted(message, f"there are {self.num_stages} stages"))
        return self.split_gm[stage_idx]

    def info(self) -> PipeInfo:
        """What stages know of the whole."""
        return PipeInfo(self.num_stages)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """The `PipelineStage` of a number, in the process that runs it."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)


def pipeline(
    module: Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None, split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[..., Any] | None = None,
) -> Pipe:  # fmt: skip
    """A Sequential in stages.

    Args:
        module (Sequential): others are split by hand: each process makes a `PipelineStage` of its own part.
        mb_args, mb_kwargs: arguments of a part of a batch; accepted, as nothing is traced.
        split_spec: where stages begin: ``{"2": SplitPoint.BEGINNING}`` before submodule "2".
        split_policy: not in this version.

    Follows ``torch.distributed.pipelining.pipeline``.

    >>> import rushlight as torch
    >>> from rushlight.distributed.pipelining import SplitPoint, pipeline
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> pipe = pipeline(model, (torch.ones(1, 2),), split_spec={"2": SplitPoint.BEGINNING})
    >>> [name for name, _ in pipe.get_stage_module(1).named_parameters()]
    ['2.weight', '2.bias']
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError(
            hinted("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.", "leave one out")
        )
    if type(module) is not Sequential or split_policy is not None:
        message = "pipeline: only a Sequential, with split_spec, is split in this version"
        raise NotImplementedError(hinted(message, "make a PipelineStage of each process's own part of the model"))
    stages: list[OrderedDict[str, Module]] = [OrderedDict()]
    wanted = dict(split_spec or {})
    for name, child in module.named_children():
        point = wanted.pop(name, None)
        if point is SplitPoint.BEGINNING:
            stages.append(OrderedDict())
        stages[-1][name] = child
        if point is SplitPoint.END:
            stages.append(OrderedDict())
    if wanted:
        message = f"Split target {next(iter(wanted))} is not found in the model"
        raise ValueError(hinted(message, f"its submodules are {[name for name, _ in module.named_children()]}"))
    return Pipe([Sequential(each) for each in stages if each])


def pipe_split() -> NoReturn:
    """Marks in a forward where a stage ends; only tracing sees it, which is not in this version."""
    message = "pipe_split: forward is not traced in this version"
    raise NotImplementedError(hinted(message, "pipeline(..., split_spec={...}) splits a Sequential"))
