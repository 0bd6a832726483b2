"""How ONNX says the operations of the table: one table, a file for each family."""

from . import creation, elementwise, indexing, losses, norms, products, recurrent, reductions, shapes, windows
from .registry import TRANSLATIONS

__all__ = ["TRANSLATIONS"]
