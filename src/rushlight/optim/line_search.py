"""Line search for the strong Wolfe conditions: bracket, then zoom, both with cubic interpolation."""

from __future__ import annotations

from collections import namedtuple

Point = namedtuple("Point", ("length", "loss", "grad", "slope"))  # loss, gradient and slope at a length along the line

DECREASE, CURVATURE, SMALLEST = 1e-4, 0.9, 1e-9


def cubic_minimum(a, b, bounds=None):
    """The length within ``bounds`` (by default between the points) where the cubic through both points is smallest.

    Nocedal and Wright, Numerical Optimization, 2nd edition, equation 3.59. The middle of the bounds where it has none.
    """
    low, high = bounds or sorted((a.length, b.length))
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = first**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square**0.5
    if a.length > b.length:
        a, b = b, a
    best = b.length - (b.length - a.length) * ((b.slope + root - first) / (b.slope - a.slope + 2 * root))
    return min(max(best, low), high)


def strong_wolfe(at, start, largest, most):
    """Find a step length with enough decrease and a slope flat enough.

    Args:
        at: ``at(length)`` evaluates the function there: a Point.
        start: the Point at length 0, except that its ``length`` is the first one to try.
        largest: the largest entry of the direction; the zoom ends when no parameter moves by more than 1e-9.
        most: how often the length may be changed.

    Returns:
        the Point found and the number of evaluations. Algorithms 3.5 and 3.6 of Nocedal and Wright.
    """
    origin = start._replace(length=0)
    points, done, count = _bracket(at, origin, start.length, most)
    if done:
        return points[0], count
    # Points stay in their places; `low` is the place of the better one.
    iterations, low, stalled = count - 1, 0 if points[0].loss <= points[1].loss else 1, False
    while not done and iterations < most and not abs(points[1].length - points[0].length) * largest < SMALLEST:
        length, stalled = _zoom_length(points, stalled)
        new = at(length)
        count += 1
        iterations += 1
        high = 1 - low
        if not _decreased(origin, new) or new.loss >= points[low].loss:
            points[high] = new
            low = 0 if points[0].loss <= points[1].loss else 1
            continue
        if _is_flat(origin, new):
            done = True
        elif new.slope * (points[high].length - points[low].length) >= 0:
            points[high] = points[low]
        points[low] = new
    return points[low], count


def _decreased(origin, point):
    return not point.loss > origin.loss + DECREASE * point.length * origin.slope


def _is_flat(origin, point):
    return abs(point.slope) <= -CURVATURE * origin.slope


def _bracket(at, origin, length, most):
    """Lengthen the step until two points enclose an acceptable one, or one is acceptable itself."""
    previous, new, count = origin, at(length), 1
    for iteration in range(most):
        if not _decreased(origin, new) or (iteration > 1 and new.loss >= previous.loss):
            return [previous, new], False, count
        if _is_flat(origin, new):
            return [new], True, count
        if new.slope >= 0:
            return [previous, new], False, count
        bounds = (new.length + 0.01 * (new.length - previous.length), new.length * 10)
        length = cubic_minimum(previous, new, bounds)
        previous, new = new, at(length)
        count += 1
    return [origin, new], False, count


def _zoom_length(points, stalled):
    """The next length inside the bracket; twice in a row near one end, it keeps a tenth away from it."""
    low, high = sorted(point.length for point in points)
    length = cubic_minimum(*points)
    margin = 0.1 * (high - low)
    if min(high - length, length - low) >= margin:
        return length, False
    if not (stalled or length >= high or length <= low):
        return length, True
    return (high - margin if abs(length - high) < abs(length - low) else low + margin), False
