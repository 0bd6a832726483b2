"""Loop programs of random numbers: the Mersenne Twister's words, and what PyTorch makes of them, bit for bit."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program

BLOCK = 624  # words of the twister's state
_MIDDLE = 397
CHUNK = 8192  # words of a chunk

# Single-precision polynomials of Cephes: of log(1 + x) / x**3, sin(x) / x**3 and cos(x) / x**4, highest power first.
_LOG = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2_LOW, _LN2_HIGH = -2.12194440e-4, 0.693359375  # ln 2 = high + low
_EIGHTHS_OF_TURN = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)  # minus one, in three parts
_TURN_STEP = 6.2831854820251465 * 2.0**-24  # 2 pi rounded to float32
_STEP = 2.0**-24
_SQRT_HALF_BITS = 0x3F3504F3


def twister(lanes):
    """``(key, words, blocks)``: the next blocks of words; ``key`` is the state, which goes on with them."""
    builder = Builder("entry", [("key", "u32*"), ("words", "u32*"), ("blocks", "i64")])
    key, words, blocks = builder.parameters

    def twisted(index, other, lanes, mask):
        here, following = builder.load(key, index, lanes, mask), builder.load(key, index + 1, lanes, mask)
        joined = (here & 0x80000000) | (following & 0x7FFFFFFF)
        odd = (0 - (following & 1)) & 0x9908B0DF
        return (joined >> 1) ^ odd ^ builder.load(key, other, lanes, mask)

    def renewed(shift):
        def body(index, mask, _):
            builder.store(twisted(index, index + shift, lanes, mask), key, index, mask)

        return body

    with builder.parallel(1), builder.loop(0, blocks) as block:
        builder.for_lanes(0, BLOCK - _MIDDLE, lanes, renewed(_MIDDLE))
        builder.for_lanes(BLOCK - _MIDDLE, BLOCK - 1, lanes, renewed(_MIDDLE - BLOCK))
        last, first = builder.load(key, BLOCK - 1), builder.load(key, 0)
        joined = ((last & 0x80000000) | (first & 0x7FFFFFFF)) >> 1
        odd = (0 - (first & 1)) & 0x9908B0DF
        builder.store(joined ^ odd ^ builder.load(key, _MIDDLE - 1), key, BLOCK - 1)
        out = builder.offset(words, block.index * BLOCK)
        with builder.loop(0, BLOCK, lanes) as loop:
            word = builder.load(key, loop.index, lanes)
            word = word ^ (word >> 11)
            word = word ^ ((word << 7) & 0x9D2C5680)
            word = word ^ ((word << 15) & 0xEFC60000)
            builder.store(word ^ (word >> 18), out, loop.index)
    return Program("random_words", [builder.function])


def _in_chunks(builder, count, size, body):
    """``body(first, end)`` for chunks of ``size`` elements, handed out to the threads."""
    with builder.parallel((count + (size - 1)) // size) as chunk:
        first = chunk * size
        body(first, builder.minimum(first + size, count))


def _unit(builder, words):
    """24 bits of words as float32 integers."""
    return builder.convert(builder.bitcast(words & 0xFFFFFF, "i32"), "f32")


def floats(lanes):
    """``(words, out, count, span, low, high)``: float32 numbers ``u * span + low``, and ``low`` instead of ``high``."""
    numbers = [("count", "i64"), ("span", "f32"), ("low", "f32"), ("high", "f32")]
    builder = Builder("entry", [("words", "u32*"), ("out", "f32*"), *numbers])
    words, out, count, span, low, high = builder.parameters

    def body(index, mask, _):
        unit = _unit(builder, builder.load(words, index, lanes, mask)) * _STEP
        number = builder.fma(unit, span, low)
        builder.store(builder.select(number.equals(high), low, number), out, index, mask)

    _in_chunks(builder, count, CHUNK, lambda first, end: builder.for_lanes(first, end, lanes, body))
    return Program("random_floats", [builder.function])


def _bits53(builder, words, index, lanes, mask):
    """The low 53 bits of pairs of words, the first of a pair on top, as i64."""
    pairs = builder.load(words, index, lanes, mask, align=4)
    swapped = (pairs << 32) | (pairs >> 32)
    return builder.bitcast(swapped & ((1 << 53) - 1), "i64")


def doubles(lanes):
    """``(words, out, count)``: float64 numbers in [0, 1) of 53 bits, of two words each."""
    builder = Builder("entry", [("words", "u64*"), ("out", "f64*"), ("count", "i64")])
    words, out, count = builder.parameters

    def body(index, mask, _):
        number = builder.convert(_bits53(builder, words, index, lanes, mask), "f64")
        builder.store(number * 2.0**-53, out, index, mask)

    _in_chunks(builder, count, CHUNK, lambda first, end: builder.for_lanes(first, end, lanes, body))
    return Program("random_doubles", [builder.function])


def below(lanes):
    """``(words, out, count, threshold)``: whether 53 bits of two words each are less than the threshold."""
    builder = Builder("entry", [("words", "u64*"), ("out", "bool*"), ("count", "i64"), ("threshold", "i64")])
    words, out, count, threshold = builder.parameters

    def body(index, mask, _):
        builder.store(_bits53(builder, words, index, lanes, mask) < threshold, out, index, mask)

    _in_chunks(builder, count, CHUNK, lambda first, end: builder.for_lanes(first, end, lanes, body))
    return Program("random_below", [builder.function])


def _remainder(builder, words, span, inverse):
    """``words % span`` as float64, by a quotient that is off by one at most; all steps are exact."""
    number = builder.convert(words, "f64")
    quotient = builder.unary("trunc", number * inverse)
    rest = builder.fma(-quotient, span, number)
    rest = builder.select(rest < 0.0, rest + span, rest)
    return builder.select(rest >= span, rest - span, rest)


def remainders(lanes):
    """``(words, out, count, span, inverse, base)``: int64 numbers ``word % span + base``; ``inverse`` is 1 / span."""
    numbers = [("count", "i64"), ("span", "f64"), ("inverse", "f64"), ("base", "i64")]
    builder = Builder("entry", [("words", "u32*"), ("out", "i64*"), *numbers])
    words, out, count, span, inverse, base = builder.parameters

    def body(index, mask, _):
        rest = _remainder(builder, builder.load(words, index, lanes, mask), span, inverse)
        builder.store(builder.convert(rest, "i64") + base, out, index, mask)

    _in_chunks(builder, count, CHUNK, lambda first, end: builder.for_lanes(first, end, lanes, body))
    return Program("random_remainders", [builder.function])


def shuffle(lanes):
    """``(words, targets, order, n)``: the numbers 0 to n - 1, of which step k exchanges k and ``k + words[k] % (n - k)``.

    ``targets`` is workspace for n numbers. There are n - 1 words.
    """
    builder = Builder("entry", [("words", "u32*"), ("targets", "i64*"), ("order", "i64*"), ("n", "i64")])
    words, targets, order, n = builder.parameters

    def prepare(index, mask, _):
        place = builder.splat(index, lanes) + builder.iota(f"i64x{lanes}")
        builder.store(place, order, index, mask)
        span = builder.convert(n - place, "f64")
        span = builder.maximum(span, 1.0)
        drawn = builder.load(words, index, lanes, mask)
        rest = _remainder(builder, drawn, span, 1.0 / span)
        builder.store(builder.convert(rest, "i64") + place, targets, index, mask)

    _in_chunks(builder, n - 1, CHUNK, lambda first, end: builder.for_lanes(first, end, lanes, prepare))
    with builder.parallel(1):
        builder.store(n - 1, order, n - 1)
        with builder.loop(0, n - 1) as step:
            other = builder.load(targets, step.index)
            number = builder.load(order, other)
            builder.store(builder.load(order, step.index), order, other)
            builder.store(number, order, step.index)
    return Program("random_shuffle", [builder.function])


# ---------------------------------------------------------------- normal numbers


def _polynomial(builder, x, coefficients):
    total = builder.value(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        total = builder.fma(total, x, coefficient)
    return total


def _radius(builder, words):
    """sqrt(-2 log(1 - u)) for the 24-bit fraction u of words."""
    rest = builder.fma(_unit(builder, words), -_STEP, 1.0)
    bits = builder.bitcast(rest, "i32") - _SQRT_HALF_BITS
    exponent = builder.convert(bits >> 23, "f32")
    x = builder.bitcast((bits & 0x7FFFFF) + _SQRT_HALF_BITS, "f32") - 1.0  # rest = 2**exponent * (1 + x)
    square = x * x
    y = _polynomial(builder, x, _LOG) * x
    y = builder.fma(y, square, exponent * _LN2_LOW) - square * 0.5
    log = builder.fma(exponent, _LN2_HIGH, x + y)
    return builder.unary("sqrt", log * -2.0)


def _cosine_and_sine(builder, words):
    """Of 2 pi u for the 24-bit fraction u of words."""
    fraction = builder.bitcast(words & 0xFFFFFF, "i32")
    quarters = fraction + (1 << 21)  # bits 22 and 23 number the nearest quarter turn
    eighths = builder.convert((quarters >> 22) << 1, "f32")
    x = builder.convert(fraction, "f32") * _TURN_STEP
    for part in _EIGHTHS_OF_TURN:
        x = builder.fma(eighths, part, x)
    z = x * x
    cosine = builder.fma(_polynomial(builder, z, _COSINE) * z, z, z * -0.5) + 1.0
    sine = builder.fma(_polynomial(builder, z, _SINE) * z, x, x)
    swapped = (quarters & (1 << 22)).differs(0)
    sign = 1 << 31

    def turned(value, by):
        bits = builder.bitcast(value, "u32") ^ ((builder.bitcast(by, "u32") << 8) & sign)
        return builder.bitcast(bits, "f32")

    first, second = builder.select(swapped, sine, cosine), builder.select(swapped, cosine, sine)
    return turned(first, quarters + (1 << 22)), turned(second, quarters)


def _pairs(builder, radii, angles, mean, std):
    """Two vectors of normal numbers."""
    radius = _radius(builder, radii)
    return [builder.fma(part * radius, std, mean) for part in _cosine_and_sine(builder, angles)]


def normals(lanes):
    """``(words, out, groups, mean, std)``: float32 normal numbers; of 16 words 8 are for radii and 8 for angles."""
    parameters = [("words", "u32*"), ("out", "f32*"), ("groups", "i64"), ("mean", "f32"), ("std", "f32")]
    builder = Builder("entry", parameters)
    words, out, groups, mean, std = builder.parameters

    def single(first, end):
        with builder.loop(first, end) as group:
            for start in range(0, 8, lanes):
                place = group.index * 16 + start
                drawn = (builder.load(words, place + half, lanes) for half in (0, 8))
                for half, numbers in zip((0, 8), _pairs(builder, *drawn, mean, std)):
                    builder.store(numbers, out, place + half)

    def double(first, end):
        with builder.loop(first, end, 2) as group:
            place = group.index * 16
            mask = builder.first_lanes((end - group.index - 1) * 16, 16)
            pair = builder.load(words, place, 16), builder.load(words, place + 16, 16, mask)
            low, high = [*range(8), *range(16, 24)], [*range(8, 16), *range(24, 32)]
            drawn = builder.shuffle(*pair, low), builder.shuffle(*pair, high)
            cosines, sines = _pairs(builder, *drawn, mean, std)
            builder.store(builder.shuffle(cosines, sines, low), out, place)
            builder.store(builder.shuffle(cosines, sines, high), out, place + 16, mask)

    _in_chunks(builder, groups, CHUNK // 16, double if lanes == 16 else single)
    return Program("random_normals", [builder.function])
