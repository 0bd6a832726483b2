"""CUDA's switches: accepted, without effect on the CPU."""


def is_built():
    """Whether this build supports CUDA: False."""
    return False


class matmul:
    """Precision switches of CUDA's products."""

    allow_tf32 = False
