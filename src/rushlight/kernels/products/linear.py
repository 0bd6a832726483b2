"""Linear layers: a product with a bias, and its gradients: two products, one of which may add up the bias's gradient."""

from __future__ import annotations

import numpy as np

from ...ops.matmul import linear_gradients as by_numpy
from ...ops.table import TABLE
from ..elementwise import calls as elementwise
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from ..rows import reduce
from . import matmul

# Multiplications below which a layer is left to NumPy: 256 take 1.0 us against 1.7, 1,024 with all gradients 2.6 against 5.
# Programs are made for exact shapes, which the smallest networks shall not wait for.
_LEAST = 1 << 8

_layers = Plans()  # layouts -> what runs the product, or NotImplemented
_ways = Plans()  # layouts and what is needed -> _Way


@kernel_for("linear_rows")
def linear_rows(input, weight, bias):
    key = (input.shape, input.strides, weight.shape, weight.strides, input.dtype, weight.dtype)
    if bias is not None:
        key += (bias.shape, bias.strides, bias.dtype)
    layer = _layers.get(key)
    if layer is None:
        layer = _layers[key] = _layer(input, weight, bias)
    if layer is NotImplemented:
        return layer
    out = np.empty(layer.shape, input.dtype)
    layer.run(input, weight.T, out, bias)
    return out


def _layer(input, weight, bias):
    if input.ndim != 2 or weight.ndim != 2 or input.size * weight.shape[0] < _LEAST:
        return NotImplemented
    if bias is not None and not (
        bias.shape == weight.shape[:1] and bias.dtype == input.dtype and bias.flags.c_contiguous
    ):
        return NotImplemented
    return matmul.plain(input, weight.T, bias)


class _Way:
    """How the gradients are computed for certain layouts: products ready to run, or NotImplemented.

    ``gates`` and ``sums``: whether the product for the input applies the gate, that for the weight adds up the bias's.
    """

    __slots__ = ("for_input", "for_weight", "gates", "sums")

    def __init__(self, grad, input, weight, needs, gate):
        self.for_input = self.for_weight = NotImplemented
        self.gates = self.sums = False
        fits = grad.ndim == 2 and (input is None or (input.ndim == 2 and len(input) == len(grad)))
        fits = fits and (weight is None or (weight.ndim == 2 and len(weight) == grad.shape[1]))
        fits = fits and (input is None or weight is None or input.shape[1] == weight.shape[1])
        if not fits:  # what backward saved may have got other memory through .data
            return
        if grad.size * (input if weight is None else weight).shape[1] < _LEAST:
            return
        if needs[0]:
            if gate:
                self.for_input = matmul.gated(grad, weight, input)
                self.gates = self.for_input is not NotImplemented
            if not self.gates:
                self.for_input = matmul.plain(grad, weight)
        if needs[1]:
            if needs[2]:
                self.for_weight = matmul.summing_rows(grad.T, input)
                self.sums = self.for_weight is not NotImplemented
            if not self.sums:
                self.for_weight = matmul.plain(grad.T, input)


@kernel_for("linear_gradients")
def linear_gradients(grad, input, weight, needs, gate):
    key = (
        *(grad.shape, grad.strides, grad.dtype, needs, gate),
        *((None, None, None) if input is None else (input.shape, input.strides, input.dtype)),
        *((None, None, None) if weight is None else (weight.shape, weight.strides, weight.dtype)),
    )
    way = _ways.get(key)
    if way is None:
        way = _ways[key] = _Way(grad, input, weight, needs, gate)
    for_input, for_weight = way.for_input, way.for_weight
    if (needs[0] and for_input is NotImplemented) or (needs[1] and for_weight is NotImplemented):
        copy = matmul.laid(grad)  # that of a sum is one number, repeated
        return NotImplemented if copy is grad else linear_gradients(copy, input, weight, needs, gate)
    of_input = of_weight = of_bias = None
    if needs[0]:
        of_input = np.empty(for_input.shape, grad.dtype)
        for_input.run(grad, weight, of_input, None, input if way.gates else None)
        if gate and not way.gates:
            _close(of_input, input)
    if needs[1]:
        of_weight = np.empty(for_weight.shape, grad.dtype)
        if way.sums:
            of_bias = np.empty(grad.shape[1], grad.dtype)
            for_weight.run(grad.T, input, of_weight, row_sums=of_bias)
        else:
            for_weight.run(grad.T, input, of_weight)
    if needs[2] and of_bias is None:
        total = reduce.sum(grad, (0,), False, None)
        of_bias = by_numpy(grad, None, None, (False, False, True), False)[2] if total is NotImplemented else total
    return of_input, of_weight, of_bias, gate


def _close(array, gate):
    """Let ``array`` be 0 where ``gate`` is 0 or less."""
    if elementwise.run(TABLE["threshold_backward"], [array, gate], (0,), out=array) is NotImplemented:
        with np.errstate(all="ignore"):
            np.copyto(array, 0, where=gate <= 0)
