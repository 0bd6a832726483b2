"""``torch.functional``: functions of ``torch`` that PyTorch has written in Python; they are those of ``torch``."""

import importlib as _importlib

_NAMES = """
    atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu
    meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index
"""
__all__ = _NAMES.split()


def __getattr__(name):
    if name not in __all__ and name != "Tensor":
        raise AttributeError(f"module 'torch.functional' has no attribute '{name}'")
    return getattr(_importlib.import_module("rushlight"), name)
