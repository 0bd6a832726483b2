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


class ProcessGroup:
    """Processes that work together: none are here; annotations name the class."""


class DistError(RuntimeError):
    """An error of processes that work together."""


class DistBackendError(DistError):
    """An error of what carries their messages."""


class DistNetworkError(DistError):
    """An error of the network between them."""


class DistStoreError(DistError):
    """An error of what they share."""
