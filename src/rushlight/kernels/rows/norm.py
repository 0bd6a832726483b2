"""Kernels of layer, root mean square, group and batch norms, and of their gradients."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..compiler.kernel import compiled
from ..language.value_types import NUMPY, computed_in, scalar_of
from ..machine.host import host
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from .norm_programs import ChannelSums, Normalise, NormGradient, RootNormalise, RootNormGradient, build_row_gradients
from .reduce import is_plain
from .reduce_programs import PART, ceiling
from .row_programs import build, column_plan, row_plan

_THREADED_FROM = 16384  # elements
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))

_calls = Plans()


class _Call:
    """A kernel for one operation, shape and dtype: what is passed besides the arrays."""

    def __init__(self, name, operation, plan, size, lanes, options=()):
        source = operation.arrays[0]
        key = (name, source, plan.kind, *options)
        kernel = compiled(key, lambda: build(name, operation, plan.kind, lanes))
        self.run = kernel.threaded if size >= _THREADED_FROM else kernel.alone
        self.sizes = plan.sizes
        self.kind = NUMPY[operation.scalar]  # of statistics
        works = zip(plan.works, (operation.states, operation.settled))
        self.works = [(n, self.kind) for n, count in works for _ in range(count)] if plan.kind[2] else []

    def __call__(self, *arguments):
        self.run(*arguments, *[np.empty(n, kind) for n, kind in self.works], *self.sizes)


def _affine(**parameters):
    """The scalar types of those parameters of an affine map that are there."""
    return {name: scalar_of(value.dtype) for name, value in parameters.items() if value is not None}


def _fits(array, *parameters):
    """Whether the array and the parameters are of types that the kernels know, and there is something to do."""
    scalars = [scalar_of(v.dtype) for v in (array, *parameters) if v is not None]
    return array.size > 0 and all(s in _FLOATS for s in scalars) and array.dtype.isnative


def _lanes(array):
    return host().vector_bytes // NUMPY[computed_in(scalar_of(array.dtype))].itemsize


def _prepared(make, input, options, *parameters, beside=()):
    """``make(input, *options, *parameters)``, remembered; None where there is no kernel for such arrays.

    Arrays ``beside`` must only lie in memory as kernels want them.
    """
    key = (make, input.shape, input.dtype, options, *[None if p is None else p.dtype for p in parameters])
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _fits(input, *parameters) and make(input, *options, *parameters)
    if found is False:
        return None
    for array in (input, *parameters, *beside):
        if array is not None and not is_plain(array):
            return None
    return found


def _apart(grad, input, of_rows, statistics, weight=None, length=0):
    """Whether arrays of a gradient do not fit together: what backward saved may have got other memory through ``.data``."""
    return (
        grad.dtype != input.dtype
        or grad.shape != input.shape
        or any(array.size != of_rows for array in statistics)
        or (weight is not None and weight.size != length)
    )


def _given(*parameters):
    return [parameter for parameter in parameters if parameter is not None]


# ---------------------------------------------------------------- layer norm


def _layer_call(input, normalized_shape, weight, bias):
    length = math.prod(normalized_shape)
    lanes = _lanes(input)
    affine = _affine(weight=weight, bias=bias)
    operation = Normalise(scalar_of(input.dtype), affine, "element")
    plan = row_plan(input.size // length, 1, length, lanes)
    call = _Call("layer_norm", operation, plan, input.size, lanes, tuple(affine.items()))
    lead = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    return call, lead


@kernel_for("layer_norm_parts")
def layer_norm(input, normalized_shape, weight, bias, eps):
    found = _prepared(_layer_call, input, (normalized_shape,), weight, bias)
    if found is None:
        return NotImplemented
    call, lead = found
    out = np.empty(input.shape, input.dtype)
    mean, scale = np.empty(lead, call.kind), np.empty(lead, call.kind)
    call(input, out, *_given(weight, bias), mean, scale, eps)
    return out, mean, scale


def _row_gradients_call(name, make, input, normalized_shape, weight):
    length = math.prod(normalized_shape)
    rows = input.size // length
    machine = _lanes(input)
    multiple = 1 if length <= machine else 2 if length <= 2 * machine else 4
    lanes, single = machine * multiple, length <= 4 * machine
    affine = _affine(weight=weight)
    operation = make(scalar_of(input.dtype), affine)
    key = (name, operation.source, multiple, single, *affine.items())
    kernel = compiled(key, lambda: build_row_gradients(name, operation, lanes, single))
    # Few chunks mean few sums over the rows of chunks, many mean work for many threads.
    chunk = max(ceiling(PART, length), ceiling(rows, 256))
    chunks = ceiling(rows, chunk)
    run = kernel.threaded if input.size >= _THREADED_FROM else kernel.alone
    return run, NUMPY[operation.scalar], chunks * length, (length, rows, length, chunk, chunks, ceiling(length, lanes))


def _layer_gradients_call(*arguments):
    return _row_gradients_call("layer_norm_gradients", partial(NormGradient, per="element"), *arguments)


@kernel_for("layer_norm_gradients")
def layer_norm_gradients(grad, input, normalized_shape, weight, bias, eps, mean, scale):
    found = _prepared(_layer_gradients_call, input, (normalized_shape,), weight, beside=(grad, mean, scale))
    length = math.prod(normalized_shape)
    if found is None or _apart(grad, input, input.size // length, (mean, scale), weight, length):
        return NotImplemented
    run, kind, work, (count, *sizes) = found
    out = np.empty(input.shape, input.dtype)
    d_weight, d_bias = np.empty(normalized_shape, input.dtype), np.empty(normalized_shape, input.dtype)
    works = np.empty(work, kind), np.empty(work, kind)
    run(grad, input, out, *_given(weight), mean, scale, count, d_weight, d_bias, *works, *sizes)
    return out, d_weight, d_bias


# ---------------------------------------------------------------- root mean square norm


def _root_call(input, normalized_shape, weight):
    length = math.prod(normalized_shape)
    lanes, affine = _lanes(input), _affine(weight=weight)
    plan = row_plan(input.size // length, 1, length, lanes)
    operation = RootNormalise(scalar_of(input.dtype), affine)
    call = _Call("rms_norm", operation, plan, input.size, lanes, tuple(affine.items()))
    return call, input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape), length


@kernel_for("rms_norm_parts")
def rms_norm(input, normalized_shape, weight, eps):
    found = _prepared(_root_call, input, (normalized_shape,), weight)
    if found is None:
        return NotImplemented
    call, lead, count = found
    out, scale = np.empty(input.shape, input.dtype), np.empty(lead, call.kind)
    call(input, out, *_given(weight), scale, eps, count)
    return out, scale


def _root_gradients_call(*arguments):
    return _row_gradients_call("rms_norm_gradients", RootNormGradient, *arguments)


@kernel_for("rms_norm_gradients")
def rms_norm_gradients(grad, input, normalized_shape, weight, eps, scale):
    found = _prepared(_root_gradients_call, input, (normalized_shape,), weight, beside=(grad, scale))
    length = math.prod(normalized_shape)
    if found is None or _apart(grad, input, input.size // length, (scale,), weight, length):
        return NotImplemented
    run, kind, work, (count, *sizes) = found
    out, d_weight = np.empty(input.shape, input.dtype), np.empty(normalized_shape, input.dtype)
    run(grad, input, out, *_given(weight), scale, count, d_weight, np.empty(work, kind), *sizes)
    return out, d_weight


# ---------------------------------------------------------------- batch norm


def _channel_plan(array, lanes):
    """The RowPlan of the channels of (samples, channels, ...)."""
    samples, channels = array.shape[:2]
    length = math.prod(array.shape[2:])
    if length == 1:
        return column_plan(1, samples, channels, lanes)
    return row_plan(channels, samples, length, lanes, (length, channels * length))


def _batch_call(input, training, weight, bias, running_mean, running_var):
    if input.ndim < 2:
        return False
    lanes = _lanes(input)
    affine, running = _affine(weight=weight, bias=bias), _affine(mean=running_mean, var=running_var)
    kind = running.get("mean")
    if kind != running.get("var"):
        return False
    operation = Normalise(scalar_of(input.dtype), affine, "row", training, kind)
    options = (*affine.items(), training, kind)
    call = _Call("batch_norm", operation, _channel_plan(input, lanes), input.size, lanes, options)
    return call, input.size // input.shape[1]


@kernel_for("batch_norm_parts")
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    found = _prepared(_batch_call, input, (training,), weight, bias, running_mean, running_var)
    if found is None:
        return NotImplemented
    call, count = found
    out = np.empty(input.shape, input.dtype)
    mean, scale = np.empty(input.shape[1], call.kind), np.empty(input.shape[1], call.kind)
    further = _given(running_mean, running_var)
    if training and further:
        further += [momentum, count / max(count - 1, 1)]
    call(input, out, *_given(weight, bias), mean, scale, eps, *further)
    return out, mean, scale


def _batch_gradients_call(input, training, weight):
    if input.ndim < 2:
        return False
    lanes = _lanes(input)
    affine = _affine(weight=weight)
    operation = NormGradient(scalar_of(input.dtype), affine, "row", training)
    options = (*affine.items(), training)
    call = _Call("batch_norm_gradients", operation, _channel_plan(input, lanes), input.size, lanes, options)
    return call, input.size // input.shape[1]


@kernel_for("batch_norm_gradients")
def batch_norm_gradients(grad, input, weight, training, eps, mean, scale):
    found = _prepared(_batch_gradients_call, input, (training,), weight, beside=(grad, mean, scale))
    if found is None or _apart(grad, input, input.shape[1], (mean, scale), weight, input.shape[1]):
        return NotImplemented
    call, count = found
    if mean.dtype != call.kind or scale.dtype != call.kind:
        return NotImplemented
    out = np.empty(input.shape, input.dtype)
    d_weight, d_bias = np.empty(input.shape[1], input.dtype), np.empty(input.shape[1], input.dtype)
    call(grad, input, out, *_given(weight), mean, scale, count, d_weight, d_bias)
    return out, d_weight, d_bias


# ---------------------------------------------------------------- group norm


def _group_plan(array, groups, lanes):
    samples, channels = array.shape[:2]
    length = math.prod(array.shape[2:])
    return row_plan(samples * groups, channels // groups, length, lanes)


def _group_call(input, groups, weight, bias):
    lanes = _lanes(input)
    affine = _affine(weight=weight, bias=bias)
    operation = Normalise(scalar_of(input.dtype), affine, "segment")
    plan = _group_plan(input, groups, lanes)
    return _Call("group_norm", operation, plan, input.size, lanes, tuple(affine.items()))


@kernel_for("group_norm_parts")
def group_norm(input, weight, bias, num_groups, eps):
    call = _prepared(_group_call, input, (num_groups,), weight, bias)
    if call is None:
        return NotImplemented
    out, groups = np.empty(input.shape, input.dtype), (input.shape[0], num_groups)
    mean, scale = np.empty(groups, call.kind), np.empty(groups, call.kind)
    call(input, out, *_given(weight, bias), mean, scale, eps, num_groups, input.shape[1] // num_groups)
    return out, mean, scale


def _group_gradients_call(input, groups, weight):
    lanes, source = _lanes(input), scalar_of(input.dtype)
    affine = _affine(weight=weight)
    operation, plan = NormGradient(source, affine, "segment"), _group_plan(input, groups, lanes)
    flow = _Call("group_norm_gradients", operation, plan, input.size, lanes, tuple(affine.items()))
    samples, channels = input.shape[:2]
    length = math.prod(input.shape[2:])
    plan = row_plan(channels, samples, length, lanes, (length, channels * length))
    sums = _Call("group_norm_channels", ChannelSums(source), plan, input.size, lanes)
    return flow, sums, input.size // (samples * groups)


@kernel_for("group_norm_gradients")
def group_norm_gradients(grad, input, weight, num_groups, eps, mean, scale):
    found = _prepared(_group_gradients_call, input, (num_groups,), weight, beside=(grad, mean, scale))
    groups = input.shape[0] * num_groups
    if found is None or _apart(grad, input, groups, (mean, scale), weight, input.shape[1]):
        return NotImplemented
    flow, sums, count = found
    out, channels = np.empty(input.shape, input.dtype), input.shape[1]
    d_weight, d_bias = np.empty(channels, input.dtype), np.empty(channels, input.dtype)
    sizes = num_groups, channels // num_groups
    flow(grad, input, out, *_given(weight), mean, scale, count, *sizes)
    sums(grad, input, mean, scale, d_weight, d_bias, *sizes)
    return out, d_weight, d_bias
