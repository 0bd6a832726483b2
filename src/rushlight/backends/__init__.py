"""``torch.backends``: what optional machinery is there."""

from contextlib import contextmanager as _contextmanager

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


@_contextmanager
def __allow_nonbracketed_mutation():
    """A block in which switches may be set one by one, as they may everywhere here."""
    yield


_define(globals(), {"fp32_precision": "none"})
