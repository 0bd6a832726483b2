"""cuDNN's switches: accepted, without effect on the CPU."""

from .switches import Precision as _Precision
from .switches import define as _define

_define(
    globals(),
    {"enabled": True, "benchmark": False, "benchmark_limit": None, "deterministic": False, "allow_tf32": True,
     "fp32_precision": "none", "depthwise_kernel": "auto"},
    {"enabled": False, "benchmark": False, "benchmark_limit": 10, "deterministic": False, "allow_tf32": True},
)  # fmt: skip
conv, rnn = _Precision(), _Precision()


def is_available():
    """Whether cuDNN can be used: False in this version."""
    return False


def is_acceptable(tensor):
    """Whether cuDNN would take this tensor: False."""
    return False


def version():
    """The version of cuDNN: none."""
    return None
