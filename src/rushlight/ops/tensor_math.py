"""The functions that an element formula may use, on Tensors: what ``m`` is where a formula is recorded."""

from .table import functions

# Where a formula's name of a function is not the table's.
_NAMES = {"power": "pow", "arctan2": "atan2"}


class _TensorMath:
    """The table's functions under the names that formulas use; plain numbers become tensors where none is given."""

    def where_any(self, condition, value, otherwise):
        return functions.where(condition, value(), otherwise)

    def __getattr__(self, name):
        function = getattr(functions, _NAMES.get(name, name))
        setattr(self, name, function)
        return function


tensor_math = _TensorMath()
