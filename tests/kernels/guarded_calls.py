"""Calls of every family of kernels on random operands in guarded memory: a program of its own, since a fault ends it.

``python guarded_calls.py SEED COUNT SIDE [FAMILY]`` makes so many calls; the standard error says which call it was, and how
it was made, where one reads or writes beside its operands. One call again: ``python guarded_calls.py SEED/NUMBER 1 SIDE``.
"""

import faulthandler
import os
import random
import sys
import traceback
import warnings
from importlib.machinery import PathFinder

_SMALLEST = 4  # elements from which on kernels are asked here, so that small operands reach them


class LowThresholds:
    """An importer of the modules with the thresholds, which lowers them."""

    NAMES = "rushlight.kernels.elementwise", "rushlight.kernels.routing"

    def find_spec(self, name, path, target=None):
        if name not in self.NAMES:
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def lowered(module):
            load(module)
            if name == "rushlight.kernels.routing":
                module.ELEMENTS.update((operation, min(n, _SMALLEST)) for operation, n in module.ELEMENTS.items())
            else:
                module.elementwise_elements = lambda op: _SMALLEST
                module.HALVES = _SMALLEST

        spec.loader.exec_module = lowered
        return spec


def main(seed, count, side, family=None):
    sys.meta_path.insert(0, LowThresholds())
    warnings.simplefilter("ignore")
    faulthandler.enable()
    from guarded_families import FAMILIES
    from guarded_memory import guard
    from guarded_operands import Draw

    import rushlight as rl

    base, _, only = seed.partition("/")
    damages = guard(side)
    names = sorted(name for name in FAMILIES if family is None or name.startswith(family))
    refused = 0
    for number in [int(only)] if only else range(count):
        rng = random.Random(f"{base}/{number}")
        name = rng.choice(names)
        print(f"\r{base}/{number} {side} {name}      ", end="", file=sys.stderr, flush=True)
        draw = Draw(rng, side)
        rl.manual_seed(number)
        try:
            FAMILIES[name](draw)
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:  # what PyTorch refuses, too
            refused += 1
            if "-v" in sys.argv:
                print(f" refused: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        except Exception:
            traceback.print_exc()
            leave(1)
        found = (
            "the call wrote to an operand, beside its elements or where it may only read" if draw.changed() else None
        )
        del draw
        found = "something was written just beside an array" if damages() else found
        if found:
            print(f": {found}", file=sys.stderr)
            leave(1)
    print(f"{count} calls, {refused} of them refused")
    leave(0)


def leave(status):
    """End at once: guarded arrays cannot be freed any more when Python puts itself away."""
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main(
        *[word for word in sys.argv[1:] if word != "-v"][:1], int(sys.argv[2]), *[w for w in sys.argv[3:] if w != "-v"]
    )
