"""What normalisation does with each row, channel or group, forward and backward: operations for ``row_programs.py``.

Weights and biases belong to the elements of a row (``per`` "element": layer norm), to a whole row or column ("row": batch
norm) or to the stretches of a row ("segment": the channels of a group in group norm).
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import computed_in, pointer
from .reduce_programs import chunked
from .reductions import CorrectedMoments, Moments
from .row_programs import RowOperation
from .spans import ColumnSpan, RowSpan


def squared(x):
    return x * x


class _Affine(RowOperation):
    """An operation with the parameters of an affine map: ``affine`` maps their names to scalar types."""

    def __init__(self, source, affine, per):
        self.scalar, self.source, self.affine, self.per = computed_in(source), source, affine, per

    def parameters(self):
        return [(name, pointer(scalar)) for name, scalar in self.affine.items()]

    def group_sizes(self):
        return [("groups", "i64"), ("group_channels", "i64")] if self.per == "segment" else []

    def of_row(self, span, name):
        """The parameter of the span's row for each lane, or None where it has none."""
        if name not in self.affine or self.per != "row":
            return None
        return span.spread(span.own(self.given[name]))

    def of_elements(self, span, name, index, mask):
        """The parameter of the elements at hand, or None where there is none."""
        if name not in self.affine or self.per == "row":
            return None
        if self.per == "element":
            return span.load(span.builder.offset(self.given[name], span.first), index, mask)
        channel = span.place % self.given["groups"] * self.given["group_channels"] + span.segment
        value = span.builder.load(self.given[name], channel)
        return span.spread(span.builder.convert(value, self.scalar))


class Normalise(_Affine):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` from x (array 0) into array 1.

    ``statistics``: whether mean and variance are the row's own, else they are the running averages; ``running``: the scalar
    type of running averages, which are updated with own statistics; None where there are none.
    """

    settled = 2
    centred = True

    def __init__(self, source, affine, per, statistics=True, running=None):
        super().__init__(source, affine, per)
        self.arrays, self.statistics = (source, source), statistics
        self.updates = statistics and running is not None
        # Layer norm's rows are short, and its results as exact as the mean; batch norm keeps what it finds.
        self.moments = (Moments if per == "element" else CorrectedMoments)("var", self.scalar)
        self.states = len(self.moments.states) if statistics else 0
        place = pointer(self.scalar)
        self.extras = [*self.parameters(), ("mean", place), ("scale", place), ("eps", self.scalar)]
        if running is not None:
            self.extras += [("running_mean", pointer(running)), ("running_var", pointer(running))]
        if self.updates:
            self.extras += [("momentum", self.scalar), ("unbiased", self.scalar)]
        self.extras += self.group_sizes()

    def part(self, span):
        return self.moments.part(span) if self.statistics else []

    def combined(self, span):
        return self.moments.combined(span) if self.statistics else []

    def settle(self, span, states):
        builder, given = span.builder, self.given
        if self.statistics:
            count, mean, *_, squares = states
            variance = squares / count
        else:
            mean, variance = span.own(given["running_mean"]), span.own(given["running_var"])
        eps = builder.value(given["eps"], mean.type)
        scale = 1.0 / builder.unary("sqrt", variance + eps)
        span.store_own(mean, given["mean"])
        span.store_own(scale, given["scale"])
        if self.updates:
            momentum = builder.value(given["momentum"], mean.type)
            unbiased = builder.value(given["unbiased"], mean.type)
            for name, value in (("running_mean", mean), ("running_var", variance * unbiased)):
                before = span.own(given[name])
                span.store_own(before + momentum * (value - before), given[name])
        return [mean, scale]

    def write(self, span, settled):
        *mean, scale = (span.spread(v) for v in settled)
        weight, bias = (self.of_row(span, name) for name in ("weight", "bias"))
        factor = scale if weight is None else scale * weight

        def body(pointers, index, mask):
            found = span.load(pointers[0], index, mask)
            found = (found - mean[0] if self.centred else found) * factor
            own_weight, own_bias = (self.of_elements(span, name, index, mask) for name in ("weight", "bias"))
            shift = bias if own_bias is None else own_bias
            if own_weight is not None:
                found = found * own_weight if shift is None else span.builder.fma(found, own_weight, shift)
            elif shift is not None:
                found = found + shift
            span.store(found, pointers[1], index, mask)

        span.each(body)


class RootNormalise(Normalise):
    """``x / sqrt(mean of squares + eps) * weight``: a row of ``count`` elements is not moved to mean 0."""

    states = settled = 1
    centred = False

    def __init__(self, source, affine):
        _Affine.__init__(self, source, affine, "element")
        self.arrays = (source, source)
        self.extras = [
            *self.parameters(),
            ("scale", pointer(self.scalar)),
            ("eps", self.scalar),
            ("count", self.scalar),
        ]

    def part(self, span):
        return span.sums(lambda pointers, index, mask: [squared(span.load(pointers[0], index, mask))])

    def combined(self, span):
        return RowOperation.combined(self, span)

    def settle(self, span, states):
        builder = span.builder
        eps, count = (builder.value(self.given[name], states[0].type) for name in ("eps", "count"))
        scale = 1.0 / builder.unary("sqrt", states[0] / count + eps)
        span.store_own(scale, self.given["scale"])
        return [scale]


class NormGradient(_Affine):
    """From the gradient (array 0) and the input (array 1) of Normalise the gradient of its input (array 2).

    Where weight and bias belong to rows, their gradients are found on the way, and stored. ``through``: whether the
    gradient flows through mean and deviation too, which it does not where they were given.
    """

    states = settled = 2
    centred = True

    def __init__(self, source, affine, per, through=True):
        super().__init__(source, affine, per)
        self.arrays, self.through = (source,) * 3, through
        place = pointer(self.scalar)
        self.extras = [*self.parameters(), ("mean", place), ("scale", place), ("count", self.scalar)]
        if per == "row":
            self.extras += [("d_weight", pointer(source)), ("d_bias", pointer(source))]
        self.extras += self.group_sizes()

    def _flow(self, span, pointers, index, mask):
        """The gradient of the normalised elements, and their distance from the mean."""
        flow = span.load(pointers[0], index, mask)
        weight = self.of_elements(span, "weight", index, mask)
        return flow if weight is None else flow * weight

    def part(self, span):
        mean = span.spread(span.own(self.given["mean"]))

        def terms(pointers, index, mask):
            flow = self._flow(span, pointers, index, mask)
            return [flow, flow * (span.load(pointers[1], index, mask) - mean)]

        return span.sums(terms, 2)

    def settle(self, span, states):
        builder = span.builder
        flow, moved = states
        scale = span.own(self.given["scale"])
        if self.per == "row":
            span.store_own(moved * scale, self.given["d_weight"])
            span.store_own(flow, self.given["d_bias"])
        if not self.through:
            return [builder.constant(0, flow.type)] * 2
        count = builder.value(self.given["count"], flow.type)
        return [flow / count, moved * squared(scale) / count]

    def write(self, span, settled):
        shift, slope = (span.spread(v) for v in settled)
        mean, factor = (span.spread(span.own(self.given[name])) for name in ("mean", "scale"))
        weight = self.of_row(span, "weight")
        if weight is not None:
            factor = factor * weight

        def body(pointers, index, mask):
            found = self._flow(span, pointers, index, mask)
            if self.through:
                found = found - shift - (span.load(pointers[1], index, mask) - mean) * slope
            span.store(found * factor, pointers[2], index, mask)

        span.each(body)


class RootNormGradient(NormGradient):
    """The same for RootNormalise."""

    states = settled = 1
    centred = False

    def __init__(self, source, affine):
        _Affine.__init__(self, source, affine, "element")
        self.arrays = (source,) * 3
        self.extras = [*self.parameters(), ("scale", pointer(self.scalar)), ("count", self.scalar)]

    def part(self, span):
        def terms(pointers, index, mask):
            return [self._flow(span, pointers, index, mask) * span.load(pointers[1], index, mask)]

        return span.sums(terms)

    def settle(self, span, states):
        scale = span.own(self.given["scale"])
        return [states[0] * squared(scale) / span.builder.value(self.given["count"], scale.type)]

    def write(self, span, settled):
        slope, factor = span.spread(settled[0]), span.spread(span.own(self.given["scale"]))

        def body(pointers, index, mask):
            found = self._flow(span, pointers, index, mask) - span.load(pointers[1], index, mask) * slope
            span.store(found * factor, pointers[2], index, mask)

        span.each(body)


class ChannelSums(RowOperation):
    """The gradients of group norm's weight and bias: rows are channels, stretches samples; arrays: gradient, input."""

    states = 2

    def __init__(self, source):
        self.scalar, self.arrays = computed_in(source), (source, source)
        place = pointer(self.scalar)
        self.extras = [("mean", place), ("scale", place), ("d_weight", pointer(source)), ("d_bias", pointer(source)),
                       ("groups", "i64"), ("group_channels", "i64")]  # fmt: skip

    def part(self, span):
        builder, given = span.builder, self.given

        def terms(pointers, index, mask):
            group = span.segment * given["groups"] + span.place // given["group_channels"]
            mean, scale = (span.spread(builder.load(given[name], group)) for name in ("mean", "scale"))
            flow = span.load(pointers[0], index, mask)
            return [flow, flow * ((span.load(pointers[1], index, mask) - mean) * scale)]

        return span.sums(terms, 2)

    def settle(self, span, states):
        span.store_own(states[0], self.given["d_bias"])
        span.store_own(states[1], self.given["d_weight"])
        return []


def build_row_gradients(name, operation, lanes, single):
    """The Program of layer norm's gradients: NormGradient for the rows of each chunk, then, while they are in the cache,
    the chunk's sums over its rows for weight and bias; and at last the sums of those. Without a mean there is no bias."""
    source, scalar = pointer(operation.source), pointer(operation.scalar)
    sizes, parameters = ("rows", "length", "chunk", "chunks", "blocks"), ("weight", "bias")[: 1 + operation.centred]
    names = [("grad", source), ("x", source), ("out", source), *operation.extras]
    names += [(f"d_{each}", source) for each in parameters] + [(f"work_{each}", scalar) for each in parameters]
    builder = Builder(name, names + [(size, "i64") for size in sizes])
    given = {value.name: value for value in builder.parameters}
    operation.given = {extra: given[extra] for extra, _ in operation.extras}
    rows, length, chunk, chunks, blocks = (given[size] for size in sizes)
    results, works = ([given[kind + each] for each in parameters] for kind in ("d_", "work_"))

    def columns(block, pointers, count, finish):
        """Run ``finish`` on the span of a block of columns of ``count`` rows."""
        start = block * lanes
        left = length - start
        rest = builder.first_lanes(left, lanes)

        def run(mask):
            pointed = [builder.offset(p, start) for p in pointers]
            finish(ColumnSpan(builder, pointed, count, length, lanes, operation.scalar, mask, start))
            return []

        builder.choose(left >= lanes, lambda: run(None), lambda: run(rest))

    def write_rows(first, count):
        with builder.loop(first, first + count) as loop:
            pointers = [builder.offset(given[array], loop.index * length) for array in ("grad", "x", "out")]
            span = RowSpan(builder, pointers, length, lanes, operation.scalar, single=single, place=loop.index)
            operation.write(span, operation.settle(span, operation.part(span)))

    def sum_rows(span, first, number):
        def terms(pointers, index, mask):
            def own(array):
                return span.builder.splat(builder.load(given[array], first + index), lanes)

            flow, moved = span.load(pointers[0], index, mask), span.load(pointers[1], index, mask)
            moved = (moved - own("mean") if operation.centred else moved) * own("scale")
            return [flow * moved, flow][: len(parameters)]

        for value, work in zip(span.sums(terms, len(parameters)), works):
            span.store_own(value, builder.offset(work, number * length))

    with builder.parallel(chunks) as number:
        first = number * chunk
        count = builder.minimum(chunk, rows - first)
        write_rows(first, count)
        pointers = [builder.offset(given[array], first * length) for array in ("grad", "x")]
        with builder.loop(0, blocks) as loop:
            columns(loop.index, pointers, count, lambda span: sum_rows(span, first, number))

    def sum_chunks(span):
        sums = span.sums(lambda pointers, index, mask: [span.load(p, index, mask) for p in pointers], len(parameters))
        for value, target in zip(sums, results):
            span.store_own(value, target)

    chunked(builder, blocks, 1, lambda block: columns(block, works, chunks, sum_chunks))
    return Program(name, [builder.function])
