"""``torch.backends``: what optional machinery is there."""

from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)
from .switches import define as _define

_define(globals(), {"fp32_precision": "none"})
