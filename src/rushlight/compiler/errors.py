"""Errors of PyTorch's compiler under their names in ``torch._dynamo.exc``: programs catch them."""

from enum import Enum

from ..base.errors import hinted


class TorchDynamoException(RuntimeError):
    """The base of the compiler's errors."""


class Unsupported(TorchDynamoException):
    """Code that cannot be compiled."""


class BackendCompilerFailed(TorchDynamoException):
    """A code generator has failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler itself has failed."""


class UserErrorType(Enum):
    """Of which kind a `UserError` is."""

    DYNAMIC_CONTROL_FLOW = "what runs depends on values"
    CONSTRAINT_VIOLATION = "sizes do not change as they were said to"
    INVALID_INPUT = "arguments, or what was told of them, cannot be used"


class UserError(Unsupported):
    """Code that was not made to be compiled.

    Attributes:
        error_type: of which kind it is.
    """

    def __init__(self, message: str, error_type: UserErrorType = UserErrorType.INVALID_INPUT):
        super().__init__(message)
        self.error_type = error_type


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
