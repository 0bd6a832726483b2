"""``torch.has_mkl`` and its like: what PyTorch was built with, as older programs ask."""

import warnings

from .. import backends

has_lapack = has_spectral = True
has_mkl, has_openmp = backends.mkl.is_available(), backends.openmp.is_available()
_REPLACED = {
    "has_mps": ("mps", "is_built"),
    "has_cuda": ("cuda", "is_built"),
    "has_cudnn": ("cudnn", "is_available"),
    "has_mkldnn": ("mkldnn", "is_available"),
}


def __getattr__(name):
    if name == "set_vital":
        warnings.warn("'set_vital' is deprecated, please do not call", stacklevel=3)
        return lambda *args: None
    if name not in _REPLACED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = _REPLACED[name]
    warnings.warn(f"'{name}' is deprecated, please use 'torch.backends.{module}.{function}()'", stacklevel=3)
    return getattr(getattr(backends, module), function)()
