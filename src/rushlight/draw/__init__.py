"""Pictures without other programs: the computation graph of a tensor, and curves, as SVG or text."""

from .curve import Curve, Series
from .drawing import Graph, graph
