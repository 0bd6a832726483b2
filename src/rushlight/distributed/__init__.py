"""``torch.distributed``: one process alone in this version; questions are answered."""


def is_available():
    """Whether several processes can train together: False in this version."""
    return False


def is_initialized():
    """Whether a process group was set up: never in this version."""
    return False


def is_torchelastic_launched():
    """Whether an elastic launcher started this process: False."""
    return False
