"""The ONNX graph as it grows: nodes, constants, and values that know their dtype and shape."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import hinted
from ..export.names import step_name
from .errors import UnsupportedOperatorError

INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
LARGEST = (1 << 63) - 1
_FORMAT = 10  # the version of ONNX's files that PyTorch writes


@functools.cache
def onnx_package() -> Any:
    """The package onnx.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    try:
        return import_module("onnx")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(hinted(str(error), "pip install onnx; and onnxruntime, to run models")) from None


class Value:
    """A tensor of the ONNX graph.

    Attributes:
        name: its name there.
        dtype: NumPy's dtype of its elements.
        sizes: its sizes where they are known: ints, and texts for those that vary; else None.
        shape: its shape in the example, where that is known.
    """

    __slots__ = ("builder", "dtype", "name", "shape", "sizes")

    def __init__(self, builder: Builder, name: str, dtype: np.dtype[Any], shape: Any = None, sizes: Any = None):
        self.builder, self.name, self.dtype, self.shape, self.sizes = builder, name, dtype, shape, sizes

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def _with(self, op: str, other: Any, swapped: bool = False, dtype: Any = None) -> Value:
        other = self.builder.like(other, self)
        operands = (other, self) if swapped else (self, other)
        return self.builder.add(op, *operands, dtype=dtype or self.dtype)

    def __add__(self, other: Any) -> Value:
        return self._with("Add", other)

    def __radd__(self, other: Any) -> Value:
        return self._with("Add", other, True)

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._with("Sub", other, True)

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self._with("Mul", other, True)

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._with("Div", other, True)

    def __pow__(self, other: Any) -> Value:
        return self._with("Pow", other)

    def __neg__(self) -> Value:
        return self.builder.add("Neg", self)

    def __lt__(self, other: Any) -> Value:
        return self._with("Less", other, dtype=BOOL)

    def __le__(self, other: Any) -> Value:
        return self._with("LessOrEqual", other, dtype=BOOL)

    def __gt__(self, other: Any) -> Value:
        return self._with("Greater", other, dtype=BOOL)

    def __ge__(self, other: Any) -> Value:
        return self._with("GreaterOrEqual", other, dtype=BOOL)

    def __eq__(self, other: Any) -> Any:
        return self._with("Equal", other, dtype=BOOL)

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    def __and__(self, other: Any) -> Value:
        return self._with("And", other)

    def __or__(self, other: Any) -> Value:
        return self._with("Or", other)

    def __invert__(self) -> Value:
        return self.builder.add("Not", self)

    __hash__ = None  # type: ignore[assignment]


class Builder:
    """Makes the nodes of one graph.

    Args:
        opset: the version of ONNX's operations.
    """

    def __init__(self, opset: int):
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.step: Any = None  # the node of the exported program that is being translated
        self._names: set[str] = set()
        self._constants: dict[Any, Value] = {}

    # ------------------------------------------------------------ names and nodes

    def free_name(self, wanted: str) -> str:
        """A name that nobody has, like ``wanted``."""
        name, number = wanted, 0
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def add(
        self,
        op: str,
        *inputs: Any,
        dtype: Any = None,
        outputs: int = 1,
        since: int = 1,
        shape: Any = None,
        **options: Any,
    ) -> Any:
        """A node; its result, or a tuple of several.

        Args:
            op: ONNX's name.
            inputs: values, None for one that is left away.
            dtype: of the results; that of the first input by default. One for each where it is a tuple.
            outputs: how many results.
            since: the version of ONNX's operations that has it.
            options: attributes; those that are None are left away.
        """
        if since > self.opset:
            raise self.unsupported(None, since)
        given = [value for value in inputs if value is not None]
        dtypes = dtype if isinstance(dtype, tuple) else (dtype or given[0].dtype,) * outputs
        base = self.step.name if self.step is not None else op.lower()
        names = [self.free_name(f"{base}_{op.lower()}") for _ in range(outputs)]
        attributes = {name: value for name, value in options.items() if value is not None}
        wired = ["" if value is None else value.name for value in inputs]
        while wired and not wired[-1]:
            wired.pop()
        self.nodes.append(
            onnx_package().helper.make_node(op, wired, names, name=self.free_name(f"node_{names[0]}"), **attributes)
        )
        found = tuple(Value(self, name, np.dtype(kind), shape) for name, kind in zip(names, dtypes))
        return found[0] if outputs == 1 else found

    @property
    def step_name(self) -> str:
        """The name of the operation that is being translated."""
        return getattr(self.step.target, "__name__", str(self.step.target)) if self.step is not None else "?"

    def unsupported(self, why: str | None, since: int | None = None) -> UnsupportedOperatorError:
        """The error where ONNX cannot say the operation at hand, or not of these arguments, or not before a version."""
        return UnsupportedOperatorError(f"aten::{step_name(self.step_name, 0)}", self.opset, since, why)

    # ------------------------------------------------------------ constants

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """A constant; equal ones are kept once."""
        array = np.asarray(array, dtype)
        key = array.dtype.str, array.dtype.name, array.shape, array.tobytes()
        if key not in self._constants:
            name = self.free_name("const")
            self.initializers[name] = array
            self._constants[key] = Value(self, name, array.dtype, array.shape, array.shape)
        return self._constants[key]

    def like(self, value: Any, other: Value) -> Value:
        """A value, or a number as a constant of the dtype of ``other``."""
        return value if isinstance(value, Value) else self.constant(value, other.dtype)

    def cast(self, value: Value, dtype: Any) -> Value:
        """The value in a dtype."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        made = self.add("Cast", value, dtype=dtype, to=element_type(dtype))
        made.shape, made.sizes = value.shape, value.sizes
        return made

    # ------------------------------------------------------------ sizes

    def ints(self, numbers: Any) -> Value:
        """Ints, and values of sizes (shape (1,)), as one vector."""
        numbers = list(numbers)
        if not any(isinstance(number, Value) for number in numbers):
            return self.constant(numbers, INT64)
        parts = [number if isinstance(number, Value) else self.constant([number], INT64) for number in numbers]
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=0)

    def dim(self, value: Value, dim: int) -> Any:
        """The size of a dimension: an int where it is the same for all inputs, else a value of shape (1,)."""
        if value.sizes is not None and isinstance(value.sizes[dim], int):
            return value.sizes[dim]
        rank = value.rank
        return self.add("Shape", value, dtype=INT64, start=dim % rank, end=dim % rank + 1)

    def shape_of(self, value: Value) -> Value:
        """The shape as a vector."""
        return self.add("Shape", value, dtype=INT64)

    def scalar(self, number: Any) -> Value:
        """An int, or a value of shape (1,), as a tensor without dimensions."""
        if isinstance(number, Value) and number.shape == ():
            return number
        if isinstance(number, Value):
            return self.add("Squeeze", number, self.constant([0], INT64), shape=())
        return self.constant(number, INT64)

    def fixed(self, value: Value, dims: Sequence[int]) -> list[int]:
        """The sizes of dimensions that ONNX has to know beforehand.

        Raises:
            UnsupportedOperatorError: One varies.
        """
        sizes = [self.dim(value, dim) for dim in dims]
        if any(isinstance(size, Value) for size in sizes):
            raise self.unsupported(
                "its result depends on sizes that vary: leave these dimensions out of dynamic_shapes"
            )
        return sizes

    # ------------------------------------------------------------ what many translations need

    def reshape(self, value: Value, sizes: Any) -> Value:
        """The elements in another shape: ints, one -1 at most, and values of sizes."""
        return self.add("Reshape", value, self.ints(sizes))

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """The dimensions in another order."""
        order = list(order)
        shape = None if value.shape is None else tuple(value.shape[dim] for dim in order)
        return value if order == sorted(order) else self.add("Transpose", value, perm=order, shape=shape)

    def unsqueeze(self, value: Value, *dims: int) -> Value:
        """With dimensions of size 1."""
        return self.add("Unsqueeze", value, self.constant(dims, INT64))

    def squeeze(self, value: Value, *dims: int) -> Value:
        """Without dimensions of size 1."""
        return self.add("Squeeze", value, self.constant(dims, INT64))

    def slice(self, value: Value, dim: int, start: Any, end: Any, step: int = 1) -> Value:
        """A part of a dimension."""
        return self.add(
            "Slice", value, self.ints([start]), self.ints([end]), self.constant([dim], INT64), self.ints([step])
        )

    def reduce(self, op: str, value: Value, dims: Any, keepdim: bool, dtype: Any = None) -> Value:
        """``ReduceSum`` and its like, over dimensions; over all where there are none."""
        axes = self.constant(list(dims), INT64) if dims else None
        return self.add(op, value, axes, dtype=dtype, keepdims=int(keepdim))

    def filled(self, sizes: Value, number: Any, dtype: Any) -> Value:
        """A tensor of a shape, all of whose elements are one number."""
        tensor = onnx_package().numpy_helper.from_array(np.asarray([number], dtype))
        return self.add("ConstantOfShape", sizes, dtype=np.dtype(dtype), value=tensor)

    def where(self, condition: Value, value: Any, otherwise: Any) -> Value:
        """One or the other, element by element."""
        known = value if isinstance(value, Value) else otherwise
        return self.add("Where", condition, self.like(value, known), self.like(otherwise, known), dtype=known.dtype)


def element_type(dtype: Any) -> int:
    """ONNX's number of a dtype."""
    return onnx_package().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def tensor_info(name: str, dtype: Any, sizes: Any) -> Any:
    """What ONNX is told of an input or output: dtype, and sizes as ints or names."""
    shape = None if sizes is None else [None if size == "?" else size for size in sizes]
    return onnx_package().helper.make_tensor_value_info(name, element_type(dtype), shape)


def make_model(graph: Any, opset: int, producer: tuple[str, str]) -> Any:
    """The model of a graph."""
    imports = [onnx_package().helper.make_opsetid("", opset)]
    return onnx_package().helper.make_model(
        graph, opset_imports=imports, ir_version=_FORMAT, producer_name=producer[0], producer_version=producer[1]
    )
