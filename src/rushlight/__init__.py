"""Rushlight: PyTorch's interface in pure Python. ``import rushlight as torch``."""

import importlib as _importlib

from .base.collecting import uncollected as _uncollected

with _uncollected():
    from . import tensor as _tensor

from .base.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .base.dtypes import (
    PACKED as _PACKED,
    DType as dtype,
    bfloat16,
    bool_ as bool,
    complex32,
    complex64,
    complex128,
    finfo,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .base.size import Size
from .tensor import Tensor, TYPED as _TYPED, creation as _creation
from .tensor.creation import as_tensor, asarray, from_numpy, frombuffer, tensor
from .tensor.conversion import from_dlpack
from .tensor.base import method as _method
from .tensor.names import (
    NAMESPACES as _NAMESPACES,
    function_at as _function_at,
    names_at as _names_at,
    public_names as _public,
)
from .tensor.printing import set_printoptions
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from . import autograd
from .autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from math import e, inf, nan, pi

__version__ = "0.1.0"

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
chalf, cfloat, cdouble = complex32, complex64, complex128
newaxis = None

from .base.settings import get_float32_matmul_precision, set_float32_matmul_precision

globals().update(_NAMESPACES["torch"])
globals().update(_TYPED)
globals().update(_PACKED, bit=_PACKED["uint1"])

# Rooms and modules that are imported when first used: `import rushlight` stays fast.
_MODULES = frozenset(
    ("__config__", "__future__", "accelerator", "amp", "backends", "cli", "compat", "compiler", "cpu", "cuda", "distributed", "distributions", "draw", "export", "func", "futures", "fx", "hub", "jit", "multiprocessing", "fft", "kernels", "library", "linalg", "masked", "mps", "mtia", "nested", "nn", "onnx", "optim", "overrides", "profiler", "quasirandom", "return_types", "serialization",
     "signal", "sparse", "special", "storage", "testing", "torch_version", "types", "utils", "version", "vision", "xpu")
)  # fmt: skip
_LAZY_NAMES = {
    "compile": "compiler.compiling", "save": "serialization", "load": "serialization", "vmap": "func.vmap", "explain": "autograd.explanation", "find_nonfinite": "tensor.nonfinite",
    "autocast": "amp", "GradScaler": "amp", "DisableTorchFunctionSubclass": "tensor.overrides", "_assert": "fx._symbolic_trace", "AcceleratorError": "base.errors", "OutOfMemoryError": "base.errors",
    "PyTorchFileReader": "compat.records", "StorageBase": "tensor.storage", "Stream": "base.streams", "Event": "base.streams", "get_device_module": "accelerator", "to_dlpack": "utils.dlpack", "lobpcg": "_lobpcg",
    **dict.fromkeys(
        ("sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
         "sparse_bsc_tensor", "smm", "spmm", "dsmm", "hspmm", "sspaddmm", "crow_indices_copy", "col_indices_copy", "ccol_indices_copy",
         "row_indices_copy", "values_copy", "indices_copy"),
        "sparse",
    ),
    **dict.fromkeys(("_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned"), "nested.strided_creation"),
    **dict.fromkeys(("ScriptModule", "ScriptFunction", "CompilationUnit"), "jit._script"),
    **dict.fromkeys(
        ("Future", "JITException", "Graph", "Node", "Value", "Block", "Type", "TensorType", "DeviceObjType", "ScriptObject", "ScriptMethod"),
        "jit.native",
    ),
    **dict.fromkeys(
        ("_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented", "_check_with", "_check_tensor_all",
         "_check_tensor_all_with", "_check_is_size", "_assert_async", "_shape_as_tensor", "detach", "SymInt", "SymFloat",
         "SymBool", "sym_int", "sym_float", "sym_not", "sym_ite", "sym_max", "sym_min", "sym_sum", "sym_sqrt"),
        "compat.checks",
    ),
    **dict.fromkeys(
        ("affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "convolution", "embedding_bag",
         "norm_except_dim", "native_dropout", "dropout_", "feature_dropout_", "alpha_dropout_", "feature_alpha_dropout_",
         "detach_", "as_strided_", "get_device", "segment_reduce", "cond", "while_loop", "set_anomaly_enabled",
         "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "_softmax_backward_data", "_log_softmax_backward_data"),
        "compat.native",
    ),
    **dict.fromkeys(
        ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype", "is_autocast_cache_enabled",
         "set_autocast_cache_enabled", "clear_autocast_cache", "autocast_increment_nesting", "autocast_decrement_nesting",
         "is_autocast_cpu_enabled", "set_autocast_cpu_enabled", "get_autocast_cpu_dtype", "set_autocast_cpu_dtype",
         "get_autocast_gpu_dtype", "set_autocast_gpu_dtype"),
        "amp.state",
    ),
}  # fmt: skip


# What older programs ask: found, and not listed.
_FLAGS = frozenset(
    (
        "has_cuda",
        "has_cudnn",
        "has_lapack",
        "has_mkl",
        "has_mkldnn",
        "has_mps",
        "has_openmp",
        "has_spectral",
        "set_vital",
    )
)


@_method
def draw(self, *args, **options):
    """The graph that this tensor was computed by, as a drawing: ``draw.graph(self, ...)``, whose arguments it takes."""
    return _importlib.import_module(".draw", __name__).graph(self, *args, **options)


del draw  # the name is the room's


def __getattr__(name):
    function = _function_at("torch", name)
    if function is not None:
        globals()[name] = function
        return function
    if name in _MODULES:
        return _importlib.import_module("." + name, __name__)
    if name in _LAZY_NAMES:
        found = getattr(_importlib.import_module("." + _LAZY_NAMES[name], __name__), name)
        globals()[name] = found
        return found
    if name in _FLAGS:
        return getattr(_importlib.import_module(".compat.flags", __name__), name)
    if name.startswith("_foreach_"):
        found = _importlib.import_module(".tensor.foreach", __name__).foreach_function(name)
        if found is not None:
            globals()[name] = found
            return found
    if name == "__all__":
        return _public(__dir__())
    if not name.startswith("__") and name in _importlib.import_module(".compat.inside", __name__).names():
        return _importlib.import_module(f".compat.inside.{name}", __name__)
    raise AttributeError(
        f"module '{__name__}' has no attribute '{name}'\nhint: Rushlight {__version__} does not have torch.{name}"
    )


def __dir__():
    return sorted({*globals(), *_MODULES, *_LAZY_NAMES, *_names_at("torch")})
