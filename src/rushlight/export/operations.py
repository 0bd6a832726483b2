"""Operations of the table as the steps of an exported graph call them: by name, with the values of all arguments.

``torch.export.operations.relu`` is the operation ``relu``, ``add_`` the form of ``add`` that writes into its first argument.
Other functions that a graph calls are `sym_size` and Python's arithmetic on sizes.
"""

from __future__ import annotations

import functools as _functools
import operator as _operator
from typing import Any as _Any

import numpy as _np

from ..base.errors import hinted as _hinted
from ..ops import table as _table
from ..tensor import Tensor as _Tensor
from ..tensor.compute import schema_of as _schema_of
from ..tensor.dispatch import run as _run
from ..tensor.writes import run_inplace as _run_inplace


class Operation:
    """An operation of the table, or its in-place form, as the target of a step: called with the values of all its arguments.

    >>> import rushlight as torch
    >>> torch.export.operations.add(torch.ones(2), 3, 1)
    tensor([4., 4.])
    """

    def __init__(self, name: str):
        self.__name__ = self.__qualname__ = name
        self.__module__ = __name__
        self.op = _table.TABLE[name if name in _table.TABLE else name[:-1]]
        self.schema = _schema_of(self.op)
        self.writes = name != self.op.name or self.op.kind == _table.INPLACE

    def __call__(self, *values: _Any) -> _Any:
        given = [self._plain(argument, value) for argument, value in zip(self.schema.arguments, values)]
        if self.writes:
            return _run_inplace(self.op, self.schema, given, self.__name__)
        if self.op.kind == _table.CREATE:
            names = [argument.name for argument in self.schema.arguments]
            return getattr(_table.functions, self.__name__)(**dict(zip(names, given)))
        return _run(self.op, self.schema, given)

    @staticmethod
    def _plain(argument: _Any, value: _Any) -> _Any:
        """A value as the operation takes it: a list of tensors, positions as arrays, or the value itself."""
        if argument.is_list:
            return [*value]
        if argument.type == "positions":
            return [_np.asarray(each._array) if isinstance(each, _Tensor) else each for each in value]
        return value

    def __repr__(self) -> str:
        return f"<operation {self.__name__}>"

    def __reduce__(self) -> tuple[_Any, ...]:
        return operation, (self.__name__,)


@_functools.cache
def operation(name: str) -> Operation:
    """The operation of the table, or the in-place form of one, that has this name.

    Raises:
        AttributeError: There is none.
    """
    if name not in _table.TABLE and not (name.endswith("_") and name[:-1] in _table.TABLE):
        raise AttributeError(_hinted(f"the op table has no operation '{name}'", "the file was made by another version"))
    return Operation(name)


def __getattr__(name: str) -> Operation:
    if name.startswith("__"):
        raise AttributeError(name)
    return operation(name)


def sym_size(input: _Tensor, dim: int) -> int:
    """The size of a dimension, as an int."""
    return input.shape[dim]


# What a graph calls besides operations of the table, by the names in files.
FUNCTIONS = {"sym_size": sym_size, "getitem": _operator.getitem, "add": _operator.add, "mul": _operator.mul}
FUNCTIONS |= {"floordiv": _operator.floordiv}
