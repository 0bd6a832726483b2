"""What stands in the stubs beside what is written from the table: imports, properties, operators, the names of the face."""

from rushlight.base.dtypes import PACKED

FUNCTIONS_HEAD = """\
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str, type as _type
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NoReturn as _NoReturn, TypeAlias as _TypeAlias, TypeVar as _TypeVar, overload as _overload

from numpy import ndarray as _ndarray

from rushlight import return_types as _return_types
from rushlight.autograd.explanation import Explanation as _Explanation
from rushlight.autograd.hooks import RemovableHandle as _RemovableHandle
from rushlight.base.device import device as _device, layout as _layout, memory_format as _memory_format
from rushlight.base.dtypes import DType as _dtype
from rushlight.base.size import Size as _Size
from rushlight.random import Generator as _Generator
from rushlight.tensor.base import Tensor

_ints: _TypeAlias = _Sequence[_int]
_Tensors: _TypeAlias = _Sequence[Tensor]
_Number: _TypeAlias = _int | _float | _complex
_Operand: _TypeAlias = Tensor | _Number
_Device: _TypeAlias = _device | _str | _int | None
_T = _TypeVar("_T", bound=Tensor)
_F = _TypeVar("_F", bound=_Callable[..., _Any])
"""

TENSOR_HEAD = '''
from collections.abc import Iterator as _Iterator
from types import EllipsisType as _EllipsisType

from rushlight.autograd.node import Node as _Node
from rushlight.storage import TypedStorage as _TypedStorage, UntypedStorage as _UntypedStorage

_Function = _TypeVar("_Function", bound=_Callable[..., _Any])
_Index: _TypeAlias = _int | slice | _EllipsisType | Tensor | _ndarray[_Any, _Any] | _Sequence[_Any] | None

class Tensor:
    """An n-dimensional array that remembers how it was computed."""

    _array: _Any
    _edge: _Any
    _grad: Tensor | None
    _base: Tensor | None
    _version_counter: _Any
    _accumulator: _Any
    _hooks: _Any
    _post_accumulate_hooks: _Any
    _grad_dtype: _Any
    _names: _Any
    _tangent: _Any
    _tangent_base: _Any
    grad: Tensor | None
    grad_dtype: _dtype | None
    data: Tensor
    requires_grad: _bool
    names: _Any
    is_cpu: _bool
    is_cuda: _bool
    is_meta: _bool
    is_mkldnn: _bool
    is_mps: _bool
    is_nested: _bool
    is_quantized: _bool
    is_sparse: _bool
    is_sparse_csr: _bool
    is_xpu: _bool
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: _Operand) -> None: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: _Operand) -> None: ...
    @property
    def _version(self) -> _int: ...
    @property
    def device(self) -> _device: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def layout(self) -> _layout: ...
    @property
    def shape(self) -> _Size: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def output_nr(self) -> _int: ...
    @property
    def grad_fn(self) -> _Node | None: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def retains_grad(self) -> _bool: ...
    def __init__(self, *args: _Any, device: _Device = None) -> None: ...
'''

_UNARY = "abs neg pos invert"
_BINARY = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor lshift rlshift rshift rrshift"
_INPLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"
_COMPARED = "eq ne lt le gt ge"
_PYTHON = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "complex": "complex",
    "index": "int",
    "len": "int",
    "hash": "int",
    "repr": "str",
}


def _operators():
    for name in _UNARY.split():
        yield f"    def __{name}__(self) -> Tensor: ..."
    for name in (_BINARY + " " + _INPLACE).split():
        yield f"    def __{name}__(self, other: _Operand) -> Tensor: ..."
    for name in ("matmul", "rmatmul", "imatmul"):
        yield f"    def __{name}__(self, other: Tensor) -> Tensor: ..."
    for name in _COMPARED.split():
        note = "  # type: ignore[override]" * (name in ("eq", "ne"))
        yield f"    def __{name}__(self, other: _Operand) -> Tensor: ...{note}"
    for name, kind in _PYTHON.items():
        yield f"    def __{name}__(self) -> _{kind}: ..."


METHODS_OF_ITS_OWN = (
    "\n".join(_operators()).replace("    def __imatmul__(self, other: Tensor) -> Tensor: ...\n", "")
    + """
    def __getitem__(self, index: _Index) -> Tensor: ...
    def __setitem__(self, index: _Index, value: _Operand) -> None: ...
    def __iter__(self) -> _Iterator[Tensor]: ...
    def __reversed__(self) -> Tensor: ...
    def __contains__(self, element: _Any) -> _bool: ...
    def __format__(self, spec: _str) -> _str: ...
    def __array__(self, dtype: _Any = None) -> _ndarray[_Any, _Any]: ...
    def __dlpack__(self, *, stream: _Any = None, max_version: _Any = None, dl_device: _Any = None, copy: _bool | None = None) -> _Any: ...
    def __dlpack_device__(self) -> tuple[_Any, _int]: ...
    def __deepcopy__(self: _T, memo: _Any) -> _T: ...
    @classmethod
    def __torch_function__(cls, function: _Any, types: _Any, args: _Any = (), kwargs: _Any = None) -> _Any: ...
    def item(self) -> _int | _float | _bool: ...
    def numpy(self, *, force: _bool = False) -> _ndarray[_Any, _Any]: ...
    @_overload
    def size(self, dim: None = None) -> _Size: ...
    @_overload
    def size(self, dim: _int) -> _int: ...
    @_overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @_overload
    def stride(self, dim: _int) -> _int: ...
    @_overload
    def to(self, dtype: _dtype, non_blocking: _bool = False, copy: _bool = False, *, memory_format: _memory_format | None = None) -> Tensor: ...
    @_overload
    def to(self, device: _Device = None, dtype: _dtype | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: _memory_format | None = None) -> Tensor: ...
    @_overload
    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *, memory_format: _memory_format | None = None) -> Tensor: ...
    @_overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> _str: ...
    @_overload
    def type(self, dtype: _dtype | _str | _type, non_blocking: _bool = False) -> Tensor: ...
    def new(self, *args: _Any, **kwargs: _Any) -> Tensor: ...
    def requires_grad_(self: _T, requires_grad: _bool = True) -> _T: ...
    def detach_(self: _T) -> _T: ...
    def resize_(self, *sizes: _int, memory_format: _memory_format | None = None) -> Tensor: ...
    def tolist(self) -> list[_Any]: ...
    def map_(self, tensor: Tensor, callable: _Callable[[_Any, _Any], _Any]) -> Tensor: ...
    def map2_(self, x: Tensor, y: Tensor, callable: _Callable[[_Any, _Any, _Any], _Any]) -> Tensor: ...
    def apply_(self, callable: _Callable[[_Any], _Any]) -> Tensor: ...
    def atleast_1d(self) -> Tensor: ...
    def atleast_2d(self) -> Tensor: ...
    def atleast_3d(self) -> Tensor: ...
    def storage(self) -> _TypedStorage: ...
    def untyped_storage(self) -> _UntypedStorage: ...
    def _alias(self) -> Tensor: ...
    def _become(self, view: Tensor) -> None: ...
    def _is_tracked(self) -> _bool: ...
    def _is_view(self) -> _bool: ...
"""
)

TENSOR_TAIL = """\
quiet: _Any

def quietly(function: _Function) -> _Function: ...
def new_tensor() -> Tensor: ...
def wrap(array: _Any) -> Tensor: ...
@_overload
def method(function: _Function) -> _Function: ...
@_overload
def method(function: None = None, *, name: _str | None = None) -> _Callable[[_Function], _Function]: ...
"""

_ROOMS = """\
accelerator amp autograd backends cli compat compiler cpu cuda distributed distributions draw export fft func futures fx hub jit kernels library linalg masked mps mtia multiprocessing nn onnx
optim overrides profiler quasirandom random return_types serialization signal sparse special storage testing torch_version types utils version vision xpu
"""
_DTYPES = (
    "bfloat16 complex32 complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float16 float32 float64 "
    f"int8 int16 int32 int64 uint8 uint16 uint32 uint64 {' '.join(PACKED)} bit"
)
_TYPED = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
_OTHER_DTYPES = "half float double short int long chalf cfloat cdouble"

FACE = "\n".join(
    [
        *(f"from rushlight import {room} as {room}" for room in _ROOMS.split()),
        "from rushlight.amp import GradScaler as GradScaler",
        "from rushlight.amp.autocast_mode import autocast as autocast",
        "from rushlight.autograd.modes import (",
        "    enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad, set_grad_enabled as set_grad_enabled,",
        "    is_grad_enabled as is_grad_enabled, is_inference_mode_enabled as is_inference_mode_enabled,",
        ")",
        "from rushlight.base.device import (",
        "    channels_last as channels_last, channels_last_3d as channels_last_3d, contiguous_format as contiguous_format, device as device,",
        "    jagged as jagged, layout as layout, memory_format as memory_format, preserve_format as preserve_format, sparse_coo as sparse_coo,",
        "    sparse_csr as sparse_csr, sparse_csc as sparse_csc, sparse_bsr as sparse_bsr, sparse_bsc as sparse_bsc, strided as strided,",
        ")",
        "from rushlight.base.dtypes import finfo as finfo, iinfo as iinfo",
        "from rushlight.base.errors import AcceleratorError as AcceleratorError, OutOfMemoryError as OutOfMemoryError",
        "from rushlight.base.size import Size as Size",
        "from rushlight.base.streams import Event as Event, Stream as Stream",
        "from rushlight.compat.checks import SymBool as SymBool, SymFloat as SymFloat, SymInt as SymInt",
        "from rushlight.compat.records import PyTorchFileReader as PyTorchFileReader",
        "from rushlight.jit._script import CompilationUnit as CompilationUnit, ScriptFunction as ScriptFunction, ScriptModule as ScriptModule",
        "from rushlight.jit import Error as JITException",
        "from rushlight.futures import Future as Future",
        "from rushlight.jit.native import Block as Block, DeviceObjType as DeviceObjType, Graph as Graph, Node as Node, ScriptMethod as ScriptMethod, ScriptObject as ScriptObject",
        "from rushlight.jit.native import TensorType as TensorType, Type as Type, Value as Value",
        "from rushlight.random import Generator as Generator, default_generator as default_generator",
        "from rushlight.storage import TypedStorage as TypedStorage, UntypedStorage as UntypedStorage",
        "from rushlight.tensor.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass",
        "from rushlight.tensor.nonfinite import find_nonfinite as find_nonfinite",
        "",
        "__version__: _str",
        "e: _float",
        "inf: _float",
        "nan: _float",
        "pi: _float",
        "newaxis: None",
        "dtype = _dtype",
        "bool: _dtype",
        *(f"{name}: _dtype" for name in (_DTYPES + " " + _OTHER_DTYPES).split()),
        *(f"class {kind}Tensor(Tensor): ..." for kind in _TYPED.split()),
    ]
)
