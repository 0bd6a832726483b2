"""``torch.jit.frontend``: errors of TorchScript's compiler, which programs catch, and the defaults of a function's arguments."""

import inspect as _inspect


class FrontendError(Exception):
    """Code that PyTorch's compiler does not take: never raised here."""


class NotSupportedError(FrontendError):
    """A construct that PyTorch's compiler does not take: never raised here."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of statement that PyTorch's compiler does not take: never raised here."""


class FrontendTypeError(FrontendError):
    """A type that PyTorch's compiler does not take: never raised here."""


def get_default_args(fn):
    """{name: default} of a function's arguments that have one."""
    if fn is None:
        return {}
    return {
        name: parameter.default
        for name, parameter in _inspect.signature(fn).parameters.items()
        if parameter.default is not _inspect.Parameter.empty
    }
