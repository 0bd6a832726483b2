"""``torch.utils.benchmark``: how long statements take, and tables that compare them."""

from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .utils.timer import CopyIfCallgrind, Language, Timer, timer

__all__ = [
    "Colorize", "Compare", "CopyIfCallgrind", "FuzzedParameter", "FuzzedTensor", "Fuzzer", "Language", "Measurement",
    "ParameterAlias", "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig",
    "unit_to_english",
]  # fmt: skip
