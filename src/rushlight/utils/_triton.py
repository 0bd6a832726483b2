"""``torch.utils._triton``: whether the compiler of kernels for GPUs is there."""


def has_triton_package():
    """Whether Triton can be used: False, since nothing here calls it."""
    return False


def has_triton():
    """Whether Triton can compile for a device: False."""
    return False
