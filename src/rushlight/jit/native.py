"""Classes of TorchScript in PyTorch's native part, of which nothing is made here: annotations and ``isinstance`` tests name them."""

from ..base.errors import hinted as _hinted
from ..futures import Future as Future
from . import Error as JITException  # noqa: F401  # under this name there

_NAMES = """Graph Node Value Block Type AnyType TensorType ListType DictType TupleType OptionalType UnionType NumberType IntType FloatType
ComplexType BoolType StringType NoneType DeviceObjType StreamObjType ClassType InterfaceType FutureType EnumType FunctionSchema
Argument ScriptObject ScriptMethod ScriptClass ScriptDict ScriptList"""
NAMES = frozenset(_NAMES.split())


def _class(name):
    def __new__(cls, *args, **kwargs):
        raise TypeError(_hinted(f"torch._C.{name}: No constructor defined!", "there is no TorchScript here"))

    return type(
        name, (), {"__new__": __new__, "__module__": "torch._C", "__doc__": f"``torch._C.{name}``: none is made here."}
    )


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _class(name)
    return globals()[name]
