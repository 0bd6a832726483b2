"""``torch.cpu``: the CPU as a device among others, for programs that ask each in the same words."""

from . import amp


def is_available():
    """Whether the CPU can be used: True."""
    return True


def device_count():
    """The number of CPU devices: 1."""
    return 1


def current_device():
    """The current CPU device: ``"cpu"``."""
    return "cpu"


def set_device(device):
    """Nothing to choose."""


def synchronize(device=None):
    """Nothing to wait for: operations have ended when they return."""
