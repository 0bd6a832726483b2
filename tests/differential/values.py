"""Special values through every operation, with both libraries: python tests/differential/values.py --help."""

import argparse
import random
import sys
import time
import warnings
from collections import Counter

import numpy as np
from values_calls import (
    DTYPES,
    LAYOUTS,
    Unusable,
    converted,
    enlarged,
    function_of,
    label,
    mapped,
    operations,
    sample,
)
from values_compare import BY_ELEMENT, difference, leaves_of
from values_exceptions import can_grow, excused, unsteady

# Where the order of a sum decides between the largest number and infinity, the largest numbers are left out.
MODEST = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0]
PLANS = {
    "strewn": MODEST,
    "zeros": [0.0, -0.0, 1.0, -1.0],
    "infinities": [np.inf, -np.inf, 1.0, -2.0],
    "nans": [np.nan, -np.nan, 1.0, 2.0, 2.0, -1.0],
    "equal": [1.0],
    "ordinary": [],
}
EXTREME = [*MODEST, "largest", "-largest", "smallest", "-smallest", "normal", "epsilon"]


def special(name, dtype):
    """A special value of a dtype."""
    if not isinstance(name, str):
        return name
    limits = {  # largest, smallest above 0, smallest with all digits, distance of 1 to the next
        "float16": (65504.0, 2.0**-24, 2.0**-14, 2.0**-10),
        "bfloat16": (3.3895313892515355e38, 2.0**-133, 2.0**-126, 2.0**-7),
        "float64": (1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 2.0**-52),
    }.get(dtype, (3.4028234663852886e38, 2.0**-149, 2.0**-126, 2.0**-23))
    number = limits[("largest", "smallest", "normal", "epsilon").index(name.strip("-"))]
    return -number if name[0] == "-" else number


def _integers(array, choose):
    """Integers with the largest and smallest of their dtype among them."""
    info = np.iinfo(array.dtype)
    picks = np.array([0, 1, 2, 3, info.max, info.min, info.max - 1], array.dtype)
    return picks[np.array([choose.randrange(len(picks)) for _ in range(array.size)], int)].reshape(array.shape)


def fill(array, names, share, choose):
    """Write special values into a share of an array's elements (one at least); of a complex array into either part."""
    if not names or not array.numbers.size:
        return
    values = np.array([special(name, array.dtype) for name in names])
    numbers = array.numbers = np.ascontiguousarray(array.numbers)
    flat = numbers.reshape(-1)
    flat = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    draw = np.random.default_rng(choose.randrange(1 << 30))
    chosen = draw.random(flat.size) < share
    chosen[draw.integers(flat.size)] = True
    with np.errstate(all="ignore"):
        flat[chosen] = values[draw.integers(len(values), size=int(chosen.sum()))].astype(flat.dtype)


def prepare(call, choose, gradients):
    """Give a call's tensors special values, layouts, and the wish for gradients."""
    kind = type(call.info).__name__
    by_element = kind in BY_ELEMENT
    plan = choose.choice([*PLANS, "strewn", *(["extreme"] * 3 if by_element else [])])
    names = EXTREME if plan == "extreme" else PLANS[plan]
    share = choose.choice([1.0, 0.5, 0.1, 0.0])
    for array in call.arrays:
        if array.is_floating:
            if choose.random() < 0.8:
                fill(array, names, share, choose)
        elif kind in (*BY_ELEMENT, "ReductionOpInfo") and array.dtype in DTYPES[5:10] and choose.random() < 0.5:
            array.numbers = _integers(array.numbers, choose)
        array.layout = choose.choice(LAYOUTS)
        array.requires_grad = array.requires_grad and gradients and choose.random() < 0.8
    if kind == "BinaryUfuncInfo" and call.dtype in DTYPES[:4]:
        call.arguments = mapped(
            call.arguments, lambda leaf: special(choose.choice(EXTREME), "float32") if type(leaf) is float else leaf
        )


def _weighted(module, results):
    """A scalar whose gradients give every element of the results a weight of its own, none of them 0."""
    total = 0
    for number, result in enumerate(results):
        weights = (
            module.from_numpy(1.5 + np.cos(np.arange(result.numel()) + number)).reshape(result.shape).to(result.dtype)
        )
        product = result * weights
        total = total + (product.real if product.is_complex() else product).sum()
    return total


def outcome(torch, module, call, second):
    """What a library makes of a call: ("error", text) or its results, then the first and second gradients."""
    tensors = []

    def made(leaf):
        tensors.append(converted(torch, module, leaf))
        return tensors[-1]

    module.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments, options = mapped(call.arguments, made), mapped(call.options, made)
        leaves = [t for t in tensors if isinstance(t, module.Tensor) and t.requires_grad]
        try:
            results = leaves_of(function_of(call.info, torch, module)(*arguments, **options), module)
        except (RuntimeError, TypeError, ValueError, IndexError, AssertionError, AttributeError) as error:
            if isinstance(error, AttributeError) and module is not torch:
                raise
            return ["error", type(error).__name__, str(error).splitlines()[0] if str(error) else ""]
        found = [("result", results)]
        for order in ("gradient", "second gradient")[: 1 + second]:
            tracked = [t for t in results if isinstance(t, module.Tensor) and t.requires_grad]
            if not tracked or not leaves:
                break
            create = second and order == "gradient"
            try:
                results = module.autograd.grad(
                    _weighted(module, tracked), leaves, create_graph=create, allow_unused=True
                )
            except (RuntimeError, NotImplementedError) as error:
                found.append((order, f"{type(error).__name__}: {str(error).splitlines()[0]}"))
                break
            found.append((order, results))
    return found


def check(torch, module, call, second=False):
    """(what differs, where) of a call, or None."""
    theirs = outcome(torch, torch, call, second)
    try:
        ours = outcome(torch, module, call, second)
    except Unusable:
        return None
    if theirs[0] == "error" or ours[0] == "error":
        return None if theirs[0] == ours[0] else ("error", f"PyTorch: {_short(theirs)}\n     ours: {_short(ours)}")
    for (order, expected), (_, found) in zip(theirs, ours):
        if isinstance(expected, str) or isinstance(found, str):
            same = isinstance(expected, str)  # PyTorch lacks some second derivatives
            return None if same else (order, f"ours: {found}")
        what = difference(torch, module, call, expected, found, order)
        if what:
            return order, what
    return None


def _short(found):
    return ": ".join(found[1:]) if found[0] == "error" else "no error"


def trial(torch, module, info, dtype, seed, most, known=False):
    """One call of an operation in a dtype, tried: (call, outcome of `check`), or None where there is none to try; ``known``: differences
    that are known, too."""
    choose = random.Random(f"{label(info)}|{dtype}|{seed}")
    call = sample(torch, info, dtype, choose, most)
    if call is None:
        return None
    if choose.random() < 0.4 and can_grow(call):
        call = enlarged(call, choose.choice((3, 8, 40))) or call
    prepare(call, choose, gradients=choose.random() < 0.6)
    if unsteady(call):
        return None
    try:
        found = check(torch, module, call, second=choose.random() < 0.3)
    except AttributeError as error:
        found = ("missing", str(error))
    return call, None if found and not known and excused(call, *found) else found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="", help="only operations whose name holds this, several separated by commas")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--seeds", default="0:3", help="first and last but one")
    parser.add_argument("--most", type=int, default=40, help="sample calls to choose from")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--known", action="store_true", help="show differences that are known, too")
    options = parser.parse_args()
    import torch

    import rushlight

    torch.set_num_threads(1)
    first, last = map(int, options.seeds.split(":"))
    shard, shards = map(int, options.shard.split("/"))
    wanted = options.ops.split(",")
    chosen = [i for i in operations() if any(w[1:] == i.name if w.startswith("=") else w in i.name for w in wanted)]
    shown, tried, start = Counter(), 0, time.time()
    for seed in range(first, last):
        for info in chosen[shard::shards]:
            for dtype in options.dtypes.split(","):
                if getattr(torch, dtype) not in info.dtypes:
                    continue
                found = trial(torch, rushlight, info, dtype, seed, options.most, options.known)
                tried += found is not None
                if found is None or found[1] is None:
                    continue
                call, (order, what) = found
                shown[label(info), order] += 1
                if shown[label(info), order] <= 3:
                    print(f"--- {order} of {call} (seed {seed})\n{what}", flush=True)
    print(f"{tried} calls, {sum(shown.values())} differ, {time.time() - start:.0f} s")
    for (name, order), count in shown.most_common():
        print(f"{count:6} {name}: {order}")
    return bool(shown)


if __name__ == "__main__":
    sys.exit(main())
