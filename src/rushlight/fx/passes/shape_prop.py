"""Running a graph to note the shape and dtype of every result."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.device import channels_last, channels_last_3d, contiguous_format
from ...base.trees import tree_map
from ...tensor import Tensor
from ..interpreter import Interpreter


class TensorMetadata(NamedTuple):
    """What is known of a result: ``shape``, ``dtype``, ``requires_grad``, ``stride``, ``memory_format`` (or None), ``is_quantized``."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(tensor, include_contiguity=True):
    formats = (
        contiguous_format,
        *((channels_last,) if tensor.ndim == 4 else ()),
        *((channels_last_3d,) if tensor.ndim == 5 else ()),
    )
    found = next((each for each in formats if include_contiguity and tensor.is_contiguous(memory_format=each)), None)
    return TensorMetadata(tensor.shape, tensor.dtype, tensor.requires_grad, tensor.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and puts ``meta["tensor_meta"]`` and ``meta["type"]`` on each of its nodes.

    >>> import rushlight as torch
    >>> from rushlight import fx
    >>> from rushlight.fx.passes.shape_prop import ShapeProp
    >>> traced = fx.symbolic_trace(torch.nn.Linear(3, 5))
    >>> _ = ShapeProp(traced).propagate(torch.zeros(2, 3))
    >>> [(node.name, tuple(node.meta["tensor_meta"].shape)) for node in traced.graph.nodes][-1]
    ('output', (2, 5))
    """

    def run_node(self, n):
        found = super().run_node(n)
        told = tree_map(lambda leaf: _extract_tensor_metadata(leaf) if isinstance(leaf, Tensor) else None, found)
        if told is not None:
            n.meta["tensor_meta"] = told
        n.meta["type"] = type(found)
        return found

    def propagate(self, *args):
        """Run the graph with these arguments, and give its result."""
        return self.run(*args)
