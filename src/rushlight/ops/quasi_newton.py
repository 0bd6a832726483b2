"""The direction of L-BFGS on arrays: both loops of its recursion in one call."""

from __future__ import annotations

import numpy as np

from .matmul import product
from .table import inplace_op


@inplace_op(writes=("direction",))
def two_loop_recursion_(direction, changes, steps, inverses, shares, scale):
    """Multiply a direction by the approximate inverse Hessian, in place (Nocedal and Wright, algorithm 7.4).

    Args:
        direction: one vector: minus the gradient before, the direction to go after.
        changes, steps: vectors, how gradient and parameters changed in earlier iterations, the oldest first.
        inverses: for each of them the inverse of their product, a 0-dim array.
        shares: as many 0-dim arrays, to be written.
        scale: one 0-dim array: the inverse Hessian to begin with.
    """
    (direction,), (scale,) = direction, scale
    scratch = np.empty_like(direction)
    known = list(zip(changes, steps, inverses, shares))
    for change, step, inverse, share in reversed(known):
        share[...] = product(step, direction) * inverse
        direction -= np.multiply(change, share, out=scratch)
    direction *= scale
    for change, step, inverse, share in known:
        direction += np.multiply(step, share - product(change, direction) * inverse, out=scratch)
