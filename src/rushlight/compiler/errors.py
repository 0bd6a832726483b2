"""Errors of PyTorch's compiler under their names in ``torch._dynamo.exc``: programs catch them."""

from ..base.errors import hinted


class TorchDynamoException(RuntimeError):
    """The base of the compiler's errors."""


class Unsupported(TorchDynamoException):
    """Code that cannot be compiled."""


class BackendCompilerFailed(TorchDynamoException):
    """A code generator has failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler itself has failed."""


class UserError(Unsupported):
    """Code that was not made to be compiled."""


class TorchRuntimeError(TorchDynamoException):
    """An operation has failed while code was compiled."""


class RestartAnalysis(TorchDynamoException):
    """The compiler begins again."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """The compiler begins again, with a number as a tensor."""


class FailOnRecompileLimitHit(Exception):
    """Code was compiled too often."""


class RecompileLimitExceeded(Unsupported):
    """Code was compiled too often."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of this name."""

    def __init__(self, name):
        line = f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends."
        super().__init__(hinted(line, "such as inductor or eager; torch._dynamo.register_backend gives others a name"))
