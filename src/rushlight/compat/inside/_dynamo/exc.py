"""``torch._dynamo.exc``: errors of the compiler, which programs catch."""

from ....compiler.errors import (
    BackendCompilerFailed,
    FailOnRecompileLimitHit,
    InternalTorchDynamoError,
    InvalidBackend,
    RecompileLimitExceeded,
    RestartAnalysis,
    TensorifyScalarRestartAnalysis,
    TorchDynamoException,
    TorchRuntimeError,
    Unsupported,
    UserError,
)
