"""Kernels of cross entropy from scores and class numbers: the loss of all rows in one pass, the gradient in another."""

from __future__ import annotations

import numpy as np

from ...ops.loss_classes import check_classes
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, computed_in, pointer
from ..planning.layout import FLOATS, Layout, lanes_for
from ..planning.plan import Check, Launch, Passed, Plan
from ..planning.runner import plan_for
from .reduce_programs import PART, ceiling
from .spans import RowSpan, add_each

_NANOSECONDS = 0.3  # for an element
_CHAIN = 8  # rows' losses that are added up in a row: short chains of additions round less
_INT64 = np.dtype(np.int64)
_LONGEST = 2**31  # classes are counted in 32 bits


class _Rows:
    """What forward and gradient share: rows of scores, each with its class, in chunks."""

    def __init__(self, name, source, weight, lanes, single, further):
        self.scalar, self.lanes, self.single = computed_in(source), lanes, single
        parameters = [("logs", pointer(source)), ("target", "i64*")]
        if weight is not None:
            parameters.append(("weight", pointer(weight)))
        parameters += further
        parameters += [("rows", "i64"), ("length", "i64"), ("chunk", "i64"), ("ignored", "i64")]
        parameters += [("picked", self.scalar), ("others", self.scalar)]
        self.builder = Builder(name, parameters)
        self.given = {v.name: v for v in self.builder.parameters}

    def span(self, row, *names):
        """The span of a row of the arrays called ``names``."""
        start = row * self.given["length"]
        pointers = [self.builder.offset(self.given[name], start) for name in names]
        return RowSpan(
            self.builder, pointers, self.given["length"], self.lanes, self.scalar, single=self.single, place=row
        )

    def load(self, name, index=0):
        """A number of an array, in the type of computation."""
        return self.builder.convert(self.builder.load(self.given[name], index), self.scalar)

    def target(self, row):
        """(class, or 0 where it is none, whether there is one, whether it is neither a class nor to be ignored)."""
        builder, length = self.builder, self.given["length"]
        target = builder.load(self.given["target"], row)
        ignored = target.equals(self.given["ignored"])
        inside = (target >= 0) & (target < length)
        zero = builder.constant(0, target.type)
        return builder.select(inside, target, zero), ~ignored, ~(ignored | inside)

    def weight(self, place):
        if "weight" not in self.given:
            return self.builder.constant(1, self.scalar)
        return self.load("weight", place)

    def chunks(self, body):
        """``body(number, first, end)`` for each chunk of rows."""
        builder, given = self.builder, self.given
        with builder.parallel((given["rows"] + given["chunk"] - 1) // given["chunk"]) as number:
            first = number * given["chunk"]
            body(number, first, builder.minimum(first + given["chunk"], given["rows"]))


def build_forward(source, weight, reduction, smoothed, lanes, single, keep):
    """The Program of the losses: reduced to one ("mean", "sum") or each on its own ("none"), with the total weight.

    ``logs`` gets the logarithms of the probabilities of ``x``, the scores, if asked to ``keep`` them, and ``wrong`` how many
    classes are out of range. The loss is that of the logarithms as they are kept, rounded.
    """
    scalar = computed_in(source)
    works = [] if reduction == "none" else [("work_loss", pointer(scalar)), ("work_weight", pointer(scalar))]
    results = [
        ("x", pointer(source)),
        ("loss", pointer(source)),
        ("total", pointer(source)),
        ("wrong", "i64*"),
        ("work_wrong", "i64*"),
    ]
    program = _Rows("cross_entropy", source, weight, lanes, single, [*results, *works])
    builder, given = program.builder, program.given

    def row_loss(row):
        """(loss, weight, whether the class is wrong) of a row."""
        span = program.span(row, "x", *["logs"] * keep)
        highest = span.largest()
        top = span.spread(highest)

        def terms(pointers, index, mask):
            power = builder.math("exp", span.load(pointers[0], index, mask) - top)
            return [span.only(mask, power, builder.constant(0, power.type))]

        total = span.math("log", span.sums(terms)[0])
        logarithm = span.spread(total)

        def store_logs(pointers, index, mask):
            span.store(span.load(pointers[0], index, mask) - top - logarithm, pointers[1], index, mask)

        place, counts, wrong = program.target(row)
        if keep:
            span.each(store_logs)
            log = builder.convert(builder.load(span.pointers[1], place), scalar)
        else:
            log = builder.convert(builder.load(span.pointers[0], place), scalar) - highest - total
        loss = -given["picked"] * log
        if smoothed:
            kept = program.span(row, "logs")
            (rest,) = kept.sums(lambda pointers, index, mask: [kept.load(pointers[0], index, mask)])
            loss = loss - given["others"] * rest
        each, zero = program.weight(place), builder.constant(0, scalar)
        return builder.select(counts, loss * each, zero), builder.select(counts, each, zero), wrong

    def chunk(number, first, end):
        zeros = [*[builder.constant(0, scalar)] * 2, builder.constant(0)]
        with builder.loop(first, end, _CHAIN, zeros) as block:
            with builder.loop(block.index, builder.minimum(end, block.index + _CHAIN), 1, zeros) as loop:
                loss, each, wrong = row_loss(loop.index)
                if reduction == "none":
                    builder.store(builder.convert(loss, source), given["loss"], loop.index)
                loop.carry = add_each(loop.carry, (loss, each, builder.convert(wrong, "i64")))
            block.carry = add_each(block.carry, loop.results)
        for (name, _), value in zip(works, block.results):
            builder.store(value, given[name], number)
        builder.store(block.results[2], given["work_wrong"], number)

    program.chunks(chunk)
    count = (given["rows"] + given["chunk"] - 1) // given["chunk"]
    with builder.parallel(1):
        with builder.loop(0, count, 1, [builder.constant(0)]) as loop:
            loop.carry = [loop.carry[0] + builder.load(given["work_wrong"], loop.index)]
        builder.store(loop.results[0], given["wrong"])
        if works:
            span = RowSpan(builder, [given[name] for name, _ in works], count, lanes, scalar)
            loss, total = span.sums(lambda pointers, index, mask: [span.load(p, index, mask) for p in pointers], 2)
            result = loss / total if reduction == "mean" else loss
            for value, name in ((result, "loss"), (total, "total")):
                builder.store(builder.convert(value, source), given[name])
    return Program("cross_entropy", [builder.function])


def build_gradient(source, weight, reduction, smoothed, lanes, single):
    """The Program of the gradient of the scores, from that of the loss and the logarithms of the probabilities."""
    further = [("grad", pointer(source)), ("total", pointer(source)), ("out", pointer(source))]
    program = _Rows("cross_entropy_gradient", source, weight, lanes, single, further)
    builder, given = program.builder, program.given

    def row_gradient(row):
        span = program.span(row, "logs", "out")
        place, counts, _ = program.target(row)
        flow = program.load("grad", row if reduction == "none" else 0)
        if reduction == "mean":
            flow = flow / program.load("total")
        flow = span.spread(flow * program.weight(place))
        wanted = builder.splat(builder.convert(place, "i32"), lanes)
        counted = builder.splat(builder.convert(counts, "i32"), lanes).differs(0)
        picked, others = (span.spread(given[name]) for name in ("picked", "others"))

        def body(pointers, index, mask):
            share = builder.math("exp", span.load(pointers[0], index, mask))
            hit = span.positions(index).equals(wanted)
            if smoothed:
                share = share - others
            found = builder.select(hit, share - picked, share) * flow
            span.store(builder.select(counted, found, builder.constant(0, found.type)), pointers[1], index, mask)

        span.each(body)

    def chunk(number, first, end):
        with builder.loop(first, end) as loop:
            row_gradient(loop.index)

    program.chunks(chunk)
    return Program("cross_entropy_gradient", [builder.function])


def _form(x, target, weight):
    """(scalar types of scores and weight, lanes, whether a row is a single span, sizes), or None where there is no program."""
    if x.scalar not in FLOATS or x.ndim != 2 or not x.size or target != Layout(x.shape[:1], _INT64) or not x.is_plain:
        return None
    rows, length = x.shape
    if length >= _LONGEST or (
        weight is not None and (weight.scalar not in FLOATS or weight != Layout((length,), weight.dtype))
    ):
        return None
    machine = lanes_for(x.scalar)
    multiple = 1 if length <= machine else 2 if length <= 2 * machine else 4
    chunk = max(1, min(64, PART // length))
    kinds = x.scalar, None if weight is None else weight.scalar
    return kinds, (machine * multiple, length <= 4 * machine), (rows, length, chunk)


def _launch(name, build, form, arguments, sizes, ignored, smoothing):
    rows, length, _ = sizes
    given = (*arguments, *sizes, ignored, 1.0 - smoothing, smoothing / length)
    return Launch(build, form, given, rows * length * _NANOSECONDS, name)


@plan_for("cross_entropy_parts")
def cross_entropy(
    self: Layout, target: Layout, weight: Layout | None, reduction, ignore_index: Passed, label_smoothing, keep
):
    found = _form(self, target, weight)
    if found is None:
        return None
    kinds, width, sizes = found
    rows, length, chunk = sizes
    chunks = ceiling(rows, chunk)
    number = Layout((), self.dtype)
    results = {"loss": Layout((rows,), self.dtype) if reduction == "none" else number, "total": number}
    results["logs"] = self if keep else Layout((0, 0), self.dtype)
    scratch = [("wrong", 1, _INT64), ("work_wrong", chunks, _INT64)]
    if reduction != "none":
        scratch += [(f"work_{name}", chunks, NUMPY[computed_in(self.scalar)]) for name in ("loss", "weight")]
    affine = () if weight is None else ("weight",)
    arguments = "logs", "target", *affine, "self", "loss", "total", *[name for name, _, _ in scratch]
    form = (*kinds, reduction, label_smoothing > 0, *width, keep)
    launch = _launch("cross_entropy", build_forward, form, arguments, sizes, ignore_index, label_smoothing)
    check = Check("wrong", check_classes, ("target", length, ignore_index))
    return Plan([launch], results, scratch, zeroed=("total",) if reduction == "none" else (), check=check)


@plan_for("cross_entropy_gradient")
def cross_entropy_gradient(
    logs: Layout, grad: Layout, target: Layout, weight: Layout | None, reduction, ignore_index: Passed, label_smoothing,
    total: Layout, overwrite,
):  # fmt: skip
    found = _form(logs, target, weight)
    if found is None or grad.size not in (1, target.size) or any(each.dtype != logs.dtype for each in (grad, total)):
        return None  # what backward saved may have got other memory through .data
    if not (grad.is_plain and total.is_plain):
        return None
    kinds, width, sizes = found
    affine = () if weight is None else ("weight",)
    arguments = "logs", "target", *affine, "grad", "total", "logs" if overwrite else "out"
    form = (*kinds, reduction, label_smoothing > 0, *width)
    launch = _launch("cross_entropy_gradient", build_gradient, form, arguments, sizes, ignore_index, label_smoothing)
    return Plan([launch], {} if overwrite else {"out": logs}, in_place=("logs",) if overwrite else ())
