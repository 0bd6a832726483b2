"""Kernels of negative log-likelihoods: of rows of classes, and of images with a class for each place."""

from __future__ import annotations

import math

import numpy as np

from ...ops.loss_classes import check_classes
from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import I64, NUMPY, computed_in, pointer, scalar_of, vector
from ..machine.host import host
from ..planning.layout import is_plain
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from .reduce_programs import ceiling
from .spans import RowSpan

_PIECE = 2048  # places whose losses are added up on their own
_THREADED_FROM = 8192  # places; a gradient's elements
_FLOATS = frozenset(("f32", "f64"))
_INT64 = np.dtype(np.int64)

_calls = Plans()


class _Places:
    """Places in samples of ``length`` each: class ``t`` of place ``i`` is element ``i * step + t * class_step``.

    Of rows of classes all are one sample, whose places lie ``classes`` apart; of images, each is one. Samples are cut into
    pieces for the threads.
    """

    def __init__(self, name, source, weighted, lanes, further):
        self.scalar, self.lanes = computed_in(source), lanes
        weight = [("weight", pointer(source))] if weighted else []
        sizes = ("samples", "sample_step", "length", "step", "class_step", "classes", "ignored")
        parameters = [("target", "i64*"), *weight, *further, *((size, "i64") for size in sizes)]
        self.builder = Builder(name, parameters)
        self.given = {value.name: value for value in self.builder.parameters}

    def pieces(self, body):
        """``body(number, sample, first, count)`` for each piece of ``count`` places from ``first`` on."""
        builder, given = self.builder, self.given
        each = (given["length"] + (_PIECE - 1)) // _PIECE
        with builder.parallel(given["samples"] * each) as number:
            first = number % each * _PIECE
            body(number, number // each, first, builder.minimum(given["length"] - first, _PIECE))

    def classes(self, place, index, mask):
        """(the elements' indices from the sample's first place, weights, which count, which are no classes) of lanes.

        ``place`` is the number of the piece's first place among all, ``index`` counts from there.
        """
        builder, given = self.builder, self.given
        wide = vector("i64", self.lanes)
        target = builder.load(given["target"], place + index, self.lanes, mask)
        inside = (target >= builder.constant(0, wide)) & (target < builder.value(given["classes"], wide))
        counts = target.differs(builder.value(given["ignored"], wide))
        if mask is not None:
            counts = counts & mask
        valid = counts & inside
        safe = builder.select(valid, target, builder.constant(0, wide))
        weight = builder.constant(1, vector(self.scalar, self.lanes))
        if "weight" in given:
            weight = builder.convert(builder.gather(given["weight"], safe, valid), self.scalar)
        elements = (builder.iota(wide) + builder.value(index, I64)) * given["step"] + safe * given["class_step"]
        return elements, weight, valid, counts & ~inside


def build_forward(source, weighted, reduction, lanes):
    """The Program of the losses and their sum or mean, of the total weight, of how many classes are ``wrong``."""
    scalar, losses = computed_in(source), pointer(source)
    works = [(f"work_{name}", pointer(scalar)) for name in ("loss", "weight", "wrong")]
    places = _Places("nll_loss", source, weighted, lanes, [("x", losses), ("loss", losses), ("total", losses), *works])
    builder, given = places.builder, places.given

    def piece(number, sample, first, count):
        start = builder.offset(given["x"], sample * given["sample_step"] + first * given["step"])
        place = sample * given["length"] + first
        span = RowSpan(builder, [given["target"]], count, lanes, scalar)
        zero, one = builder.constant(0, span.type), builder.constant(1, span.type)

        def terms(pointers, index, mask):
            elements, weight, valid, wrong = places.classes(place, index, mask)
            picked = builder.convert(builder.gather(start, elements, valid), scalar)
            loss = builder.select(valid, -(picked * weight), zero)
            if reduction == "none":
                builder.store(builder.convert(loss, source), given["loss"], place + index, mask)
            return [loss, builder.select(valid, weight, zero), builder.select(wrong, one, zero)]

        for value, (name, _) in zip(span.sums(terms, 3), works):
            builder.store(value, given[name], number)

    places.pieces(piece)
    count = given["samples"] * ((given["length"] + (_PIECE - 1)) // _PIECE)
    with builder.parallel(1):
        span = RowSpan(builder, [given[name] for name, _ in works], count, lanes, scalar)
        loss, total, wrong = span.sums(lambda pointers, index, mask: [span.load(p, index, mask) for p in pointers], 3)
        builder.store(wrong, given["work_wrong"])
        if reduction != "none":
            builder.store(builder.convert(loss / total if reduction == "mean" else loss, source), given["loss"])
            builder.store(builder.convert(total, source), given["total"])
    return Program("nll_loss", [builder.function])


def build_gradient(source, weighted, reduction, lanes):
    """The Program of the gradient: a piece's elements are filled with zeros, then the targets' are written."""
    elements = pointer(source)
    further = [("grad", elements), ("total", elements), ("out", elements), ("strips", "i64"), ("strip_step", "i64")]
    places = _Places("nll_loss_gradient", source, weighted, lanes, further)
    builder, given, scalar = places.builder, places.given, computed_in(source)

    def piece(number, sample, first, count):
        start = builder.offset(given["out"], sample * given["sample_step"] + first * given["step"])
        place = sample * given["length"] + first
        with builder.loop(0, given["strips"]) as strip:
            builder.clear(builder.offset(start, strip.index * given["strip_step"]), count * given["step"], lanes)

        def write(index, mask, _):
            found, weight, valid, _ = places.classes(place, index, mask)
            if reduction == "none":
                flow = builder.convert(builder.load(given["grad"], place + index, lanes, mask), scalar)
            else:
                flow = builder.convert(builder.load(given["grad"]), scalar)
                if reduction == "mean":
                    flow = flow / builder.convert(builder.load(given["total"]), scalar)
                flow = builder.splat(flow, lanes)
            builder.scatter(builder.convert(-(flow * weight), source), start, found, valid)

        builder.for_lanes(0, count, lanes, write)

    places.pieces(piece)
    return Program("nll_loss_gradient", [builder.function])


def _prepared(build, shape, dtype, target, weight, reduction):
    """(kernel's call, sizes, pieces), or False where there is no program."""
    source = scalar_of(dtype)
    if source not in _FLOATS or len(shape) < 2 or target.dtype != _INT64 or not (dtype.isnative and math.prod(shape)):
        return False
    if weight is not None and weight.dtype != dtype:
        return False
    samples, classes, length = shape[0], shape[1], math.prod(shape[2:])
    if target.shape != (samples, *shape[2:]):
        return False
    if length == 1:
        sizes = (1, 0, samples, classes, 1, classes)
    else:
        sizes = (samples, classes * length, length, 1, length, classes)
    options = (source, weight is not None, reduction, host().vector_bytes // NUMPY[source].itemsize)
    kernel = compiled((build.__name__ + " of nll_loss", *options), lambda: build(*options))
    work = target.size if build is build_forward else math.prod(shape)
    run = kernel.threaded if work >= _THREADED_FROM else kernel.alone
    return run, sizes, sizes[0] * ceiling(sizes[2], _PIECE)


def _call_for(build, shape, dtype, target, weight, reduction):
    key = (build, shape, dtype, target.dtype, target.shape, weight is not None and weight.dtype, reduction)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _prepared(build, shape, dtype, target, weight, reduction)
    if found is False or not (is_plain(target) and (weight is None or is_plain(weight))):
        return False
    return found


@kernel_for("nll_loss_parts")
def nll_loss(self, target, weight, reduction, ignore_index):
    found = _call_for(build_forward, self.shape, self.dtype, target, weight, reduction)
    if found is False or not is_plain(self):
        return NotImplemented
    run, sizes, pieces = found
    loss = np.empty(target.shape if reduction == "none" else (), self.dtype)
    total = np.zeros((), self.dtype)
    works = np.empty((3, pieces), self.dtype)
    affine = () if weight is None else (weight,)
    run(target, *affine, self, loss, total, *works, *sizes, ignore_index)
    if works[2, 0]:
        check_classes(target, sizes[-1], ignore_index)
    return loss, total


@kernel_for("nll_loss_gradient")
def nll_loss_gradient(grad, target, weight, reduction, ignore_index, total, shape):
    found = _call_for(build_gradient, tuple(shape), grad.dtype, target, weight, reduction)
    if found is False or not is_plain(grad) or total.dtype != grad.dtype:
        return NotImplemented
    run, sizes, _ = found
    out = np.empty(shape, grad.dtype)
    strips = (1, 0) if len(shape) == 2 or math.prod(shape[2:]) == 1 else (sizes[5], sizes[4])
    affine = () if weight is None else (weight,)
    run(target, *affine, grad, total, out, *strips, *sizes, ignore_index)
    return out
