"""``torch.mps`` of a build without Metal."""


def is_available():
    """Whether Metal can be used: False in this version."""
    return False


def device_count():
    """The number of Metal devices: 0."""
    return 0
