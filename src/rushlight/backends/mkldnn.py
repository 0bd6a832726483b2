"""oneDNN: not used; its switches are accepted, without effect."""

from .switches import Precision as _Precision
from .switches import define as _define

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
_define(
    globals(),
    {"enabled": True, "deterministic": False, "allow_tf32": None, "fp32_precision": "none"},
    {"enabled": False, "deterministic": False, "allow_tf32": True},
)
conv, matmul, rnn = _Precision(), _Precision(), _Precision()


def is_available():
    """Whether oneDNN can be used: False; generated kernels compute."""
    return False


def is_acl_available():
    """Whether Arm's Compute Library can be used: False."""
    return False
