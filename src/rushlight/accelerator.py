"""``torch.accelerator``: there is none in this version."""


def is_available():
    """Whether an accelerator can be used: False in this version."""
    return False


def current_accelerator(check_available=False):
    """The device type of the accelerator: None."""
    return None


def device_count():
    """The number of accelerators: 0."""
    return 0
