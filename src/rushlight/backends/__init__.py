"""``torch.backends``: what optional machinery is there."""

from . import cuda, cudnn, mkl, mps, openmp
