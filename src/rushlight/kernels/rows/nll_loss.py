"""Kernels of negative log-likelihoods: of rows of classes, and of images with a class for each place."""

from __future__ import annotations

import math

import numpy as np

from ...ops.loss_classes import check_classes
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import I64, computed_in, pointer, vector
from ..planning.layout import Layout, lanes_for
from ..planning.plan import Check, Launch, Passed, Plan
from ..planning.runner import plan_for
from .reduce_programs import ceiling
from .spans import RowSpan

_PIECE = 2048  # places whose losses are added up on their own
_NANOSECONDS = 0.6  # for a place; a gradient's element
_FLOATS = frozenset(("f32", "f64"))
_INT64 = np.dtype(np.int64)


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


def _sizes(shape, x, target, weight):
    """The sizes of scores or their gradient, of a shape and of the dtype of ``x``; None where there is no program."""
    if x.scalar not in _FLOATS or len(shape) < 2 or not math.prod(shape):
        return None
    samples, classes, length = shape[0], shape[1], math.prod(shape[2:])
    if target != Layout((samples, *shape[2:]), _INT64) or weight not in (None, Layout((classes,), x.dtype)):
        return None
    if length == 1:
        return (1, 0, samples, classes, 1, classes)
    return (samples, classes * length, length, 1, length, classes)


def _launch(name, build, x, weight, reduction, arguments, elements):
    form = x.scalar, weight is not None, reduction, lanes_for(x.scalar)
    return Launch(build, form, arguments, elements * _NANOSECONDS, name)


@plan_for("nll_loss_parts")
def nll_loss(self: Layout, target: Layout, weight: Layout | None, reduction, ignore_index: Passed):
    sizes = _sizes(self.shape, self, target, weight)
    if sizes is None or not self.is_plain:
        return None
    number = Layout((), self.dtype)
    pieces = sizes[0] * ceiling(sizes[2], _PIECE)
    works = [(f"work_{name}", pieces, self.dtype) for name in ("loss", "weight", "wrong")]
    affine = () if weight is None else ("weight",)
    arguments = "target", *affine, "self", "loss", "total", *[name for name, _, _ in works], *sizes, ignore_index
    launch = _launch("nll_loss", build_forward, self, weight, reduction, arguments, target.size)
    check = Check("work_wrong", check_classes, ("target", sizes[-1], ignore_index))
    results = {"loss": target._replace(dtype=self.dtype) if reduction == "none" else number, "total": number}
    return Plan([launch], results, works, zeroed=("total",), check=check)


@plan_for("nll_loss_gradient")
def nll_loss_gradient(
    grad: Layout, target: Layout, weight: Layout | None, reduction, ignore_index: Passed, total: Layout, shape
):
    sizes = _sizes(shape, grad, target, weight)
    if sizes is None or not grad.is_plain or grad.size not in (1, target.size) or total != Layout((), grad.dtype):
        return None
    strips = (1, 0) if math.prod(shape[2:]) == 1 else (sizes[5], sizes[4])
    affine = () if weight is None else ("weight",)
    arguments = "target", *affine, "grad", "total", "out", *strips, *sizes, ignore_index
    launch = _launch("nll_loss_gradient", build_gradient, grad, weight, reduction, arguments, math.prod(shape))
    return Plan([launch], {"out": Layout(shape, grad.dtype)})
