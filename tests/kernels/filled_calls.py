"""Calls of every family of kernels on memory that held something else before: no bit of a result may depend on it.

``python filled_calls.py SEED COUNT [FAMILY]`` makes so many calls, each three times: on scratch memory as earlier calls left
it, on memory and scratch of zeros, and of ones. The standard error names the calls that differ; ``SEED/NUMBER 1`` makes one.
"""

import random
import sys
import warnings

import numpy as np
from guarded_calls import LowThresholds, leave

_ZEROS, _ONES = 0x00, 0xFF  # of a byte: the second makes NaNs of floating-point numbers, -1 of integers


def main(seed, count, family=""):
    sys.meta_path.insert(0, LowThresholds())
    warnings.simplefilter("ignore")
    from guarded_families import FAMILIES
    from guarded_memory import guard

    base, _, only = seed.partition("/")
    guard(fill=_ZEROS)
    names, differing = sorted(name for name in FAMILIES if name.startswith(family)), 0
    for number in [int(only)] if only else range(count):
        name = random.Random(f"{base}/{number}").choice(names)
        found = [outcome(FAMILIES[name], name, f"{base}/{number}", fill) for fill in (None, _ZEROS, _ONES)]
        if not found[0] == found[1] == found[2]:
            differing += 1
            places = [i for i, bits in enumerate(zip(*found)) if len(set(bits)) > 1]
            print(f"{base}/{number} {name}: results {places} depend on what memory held", file=sys.stderr, flush=True)
    print(f"{count} calls, {differing} of them differ")
    leave(differing > 0)


def outcome(function, name, seed, fill):
    """The bytes of all that a call gives, gradients included, where memory and scratch were filled with a byte before."""
    import guarded_memory
    from guarded_operands import Draw

    import rushlight as rl
    from rushlight.kernels.machine import scratch

    if fill is not None:
        guarded_memory.refill(fill)
        for array in scratch._kept.__dict__.values():
            array.view(np.uint8)[...] = fill
    rng = random.Random(seed)
    draw = Draw(rng, guarded_memory.AFTER)
    rl.manual_seed(0)
    try:
        function(draw)
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:  # what PyTorch refuses, too
        return [type(error).__name__]
    found = [*draw.results, *(leaf.grad for leaf in leaves(draw.results) if leaf.grad is not None)]
    written = [memory.tobytes() for memory, _, mask in draw.buffers if mask is not None]
    return [contents(tensor) for tensor in found] + written


def contents(tensor):
    return np.ascontiguousarray(tensor.detach().resolve_conj().resolve_neg()._array).tobytes()


def leaves(results):
    """The tensors that results were made of and that gather gradients, in the order in which they are met."""
    found, seen, waiting = {}, set(), [result.grad_fn for result in results if result.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        waiting += [following for following, _ in node.next_functions if following is not None]
    return found.values()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
