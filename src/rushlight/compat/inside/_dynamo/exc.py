"""``torch._dynamo.exc``: errors of the compiler, which programs catch."""


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
