"""``torch._C``: classes and questions of PyTorch's native part that programs reach for, as a build for the CPU answers."""

import importlib as _importlib

from ....autograd.function import Function as _Function
from ....base.device import device, layout, memory_format
from ....base.dtypes import DType as dtype
from ....base.errors import AcceleratorError, OutOfMemoryError
from ....base.size import Size
from ....base.streams import Event, Stream
from ....autograd import is_grad_enabled
from ....kernels.machine.host import host as _host
from ....ops.linalg.checks import LinAlgError as _LinAlgError
from ....random import Generator, default_generator
from ....tensor import NAMESPACES as _NAMESPACES
from ....tensor import Tensor as _Tensor
from ....tensor.base import Tensor as TensorBase
from ....tensor.names import names_at as _names_at
from ....tensor.overrides import DISPATCH as _DISPATCH
from ....tensor.overrides import DisableTorchFunctionSubclass
from ....tensor.overrides import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from ....tensor.overrides import disabled_torch_function as _disabled_torch_function_impl
from ....tensor.overrides import is_torch_function_enabled as _is_torch_function_enabled
from ....tensor.storage import UntypedStorage as StorageBase
from ....utils._python_dispatch import _len_torch_dispatch_stack
from ... import absent as _absent
from ...modes import DisableTorchFunction
from . import _functorch, _nn

_TensorBase, _FunctionBase, _TensorMeta = TensorBase, _Function, type(_Tensor)
_has_cuda = _has_mps = _has_xpu = _has_mkldnn = has_openmp = has_mkl = False
_has_kineto = _has_distributed = _has_xnnpack = False
has_lapack = has_spectral = _GLIBCXX_USE_CXX11_ABI = True
_Event, _Stream = Event, Stream


class _VariableFunctionsClass:
    """The functions of the op table."""

    def __getattr__(self, name):
        try:
            return _NAMESPACES["torch"][name]
        except KeyError:
            raise AttributeError(f"type object 'torch._C._VariableFunctions' has no attribute '{name}'") from None

    def __dir__(self):
        return sorted(_names_at("torch"))


_VariableFunctions = _VariableFunctionsClass()
_absent.define(
    globals(),
    {
        "_log_api_usage_once(event); _log_api_usage_metadata(event, metadata); _jit_override_can_fuse_on_cpu(enabled); "
        "_jit_override_can_fuse_on_gpu(enabled); _jit_set_texpr_fuser_enabled(enabled); _jit_set_nvfuser_enabled(enabled); "
        "_debug_set_autodiff_subgraph_inlining(enabled); _get_tracing_state()": lambda: None,
        "_jit_set_profiling_mode(enabled); _jit_set_profiling_executor(enabled); _get_graph_executor_optimize()": lambda: (
            True
        ),
        "_jit_can_fuse_on_cpu(); _jit_can_fuse_on_gpu(); _jit_set_nvfuser_guard_mode(enabled); "
        "_get_cublas_allow_tf32(); _get_nnpack_enabled()": lambda: False,
        "_get_privateuse1_backend_name()": lambda: "privateuseone",
        "_get_accelerator(check=None)": lambda: device("cpu"),
    },
)


class _DisableTorchDispatch:
    """As long as it lives, or to the end of its block, no ``__torch_dispatch__`` is asked."""

    def __init__(self):
        self._lives = True
        _DISPATCH.off += 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._end()

    def __del__(self):
        self._end()

    def _end(self):
        if self._lives:
            self._lives = False
            _DISPATCH.off -= 1


def _is_torch_function_all_disabled():
    """Whether ``__torch_function__`` is off for all classes: False."""
    return False


def _are_functorch_transforms_active():
    """Whether a transform of ``torch.func`` is at work in this thread."""
    return _functorch.maybe_current_level() is not None


def _get_cpu_capability():
    """The vector instructions in use."""
    machine = _host()
    return {64: "AVX512", 32: "AVX2"}.get(0 if machine is None else machine.vector_bytes, "DEFAULT")


def __getattr__(name):
    native = _importlib.import_module("rushlight.jit.native")  # when a program names one of its classes
    if name in native.NAMES or name in ("Future", "JITException"):
        return getattr(native, name)
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
