"""cuDNN's switches: accepted, without effect on the CPU."""

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
