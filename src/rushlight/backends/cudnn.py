"""cuDNN's switches: accepted, without effect on the CPU."""

from ..base.contexts import contextmanager

enabled = False
benchmark = False
deterministic = False
allow_tf32 = False


def is_available():
    """Whether cuDNN can be used: False in this version."""
    return False


def version():
    """The version of cuDNN: none."""
    return None


@contextmanager
def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
):
    """A block with other switches of cuDNN: accepted, without effect on the CPU."""
    yield
