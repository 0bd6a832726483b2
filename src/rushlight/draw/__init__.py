"""Pictures without other programs: the computation graph of a tensor, and curves, as SVG, HTML, DOT or text."""

from .curve import Curve, Series
from .drawing import Drawing, backward, graph
from .trace import trace
