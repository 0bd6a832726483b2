"""``torch.distributed.pipelining``: a model in stages, each in a process of its own, through which parts of a batch flow."""

from ..later import LATER as _LATER
from .microbatch import TensorChunkSpec
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .splitting import Pipe, SplitPoint, pipe_split, pipeline
from .stage import PipelineStage, build_stage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "SplitPoint",
    "TensorChunkSpec", "build_stage", "pipe_split", "pipeline",
]  # fmt: skip
__getattr__ = _LATER.of("pipelining")
