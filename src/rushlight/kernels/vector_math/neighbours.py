"""nextafter: the numbers of a format stand in the order of their bits."""

from __future__ import annotations

from .formats import bits, format_of, with_sign


def nextafter(builder, x, y):
    form = format_of(x)
    grows = (x < y) ^ (x < 0.0)  # away from zero
    neighbour = bits(builder, x) + builder.select(grows, builder.constant(1, bits(builder, x).type), -1)
    smallest = builder.constant(2.0 ** (1 - form.bias - form.mantissa), x.type)
    found = builder.bitcast(neighbour, x.type.scalar)
    found = builder.select(x.equals(0), with_sign(builder, smallest, y), found)
    found = builder.select(x.equals(y), y, found)
    return builder.select(x.differs(x) | y.differs(y), x + y, found)
