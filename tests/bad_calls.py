"""Calls with something wrong, made from good ones, and how often both libraries refuse them in the same words.

A meter: ``python tests/bad_calls.py [REGEX of names] [calls for each operation]`` prints the table and every difference. Each
operation runs in a process of its own, since PyTorch does not survive some calls.
"""

import collections
import os
import pickle
import random
import re
import sys

from opinfo_calls import Skip, known_operations, outcome, rushlight, sampled_calls, torch

_DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
)


def changes(call):
    """The call with one argument changed, in every way that is known here."""
    for where, value in (*enumerate(call.args), *call.kwargs.items()):
        for wrong in _wrong_values(value):
            yield call.changed(where, wrong)
    if "dim" not in call.kwargs:
        for dim in (7, -8):
            yield call.changed("dim", dim)


def _wrong_values(value):
    if isinstance(value, torch.Tensor):
        return _wrong_tensors(value) if value.numel() <= 5000 else ()
    if isinstance(value, bool):
        return ()
    if isinstance(value, int):
        return (-1, -100, 100, 0, -3)
    if isinstance(value, float):
        return (-1.0, 2.0, -5.5)
    if isinstance(value, str):
        return ("nonsense",)
    if not isinstance(value, (tuple, list)) or not value:
        return ()
    if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        sizes, first = tuple(value), value[0]
        many = [(n,) * len(sizes) for n in (-1, 0, first, 50, -50)]
        return ((*sizes, 1), sizes[:-1], (first, *sizes), *many)
    if all(isinstance(item, torch.Tensor) for item in value):
        last = value[-1]
        return ([], [*value[:-1], last.long()], [*value[:-1], last.to(torch.complex64)])
    return ()


def _wrong_tensors(tensor):
    shape = list(tensor.shape)
    yield from (tensor.new_zeros(()), tensor.new_zeros((0,)), tensor[None].clone(), tensor[None, None, None].clone())
    if shape:
        yield tensor.new_zeros(shape[1:])
    for dim in sorted({0, len(shape) // 2, len(shape) - 1}) if shape else ():
        for length in (shape[dim] + 2, 0, 1):
            yield tensor.new_ones([*shape[:dim], length, *shape[dim + 1 :]])
    yield from (tensor.to(dtype) for dtype in _DTYPES if dtype != tensor.dtype)
    if tensor.dtype in (torch.int64, torch.int32):
        yield from (tensor - 100, tensor + 100)


def is_about_kinds(expected):
    """Whether an error is about the kinds of arguments: those are tested elsewhere."""
    kind, line = expected
    return (kind == "TypeError" and "must be" in line) or any(
        words in line for words in ("invalid combination", "unexpected keyword", "multiple values", "not callable")
    )


def verdict(expected, found):
    """How two outcomes compare."""
    if expected == found:
        return "both take it" if expected[0] == "fine" else "same"
    if "fine" in (expected[0], found[0]):
        return "refused here alone" if expected[0] == "fine" else "taken here alone"
    return "other line" if expected[0] == found[0] else "other type"


def compare(entry, limit):
    """``(counts, differences)`` of up to ``limit`` wrong calls of an entry."""
    counts, differences = collections.Counter(), []
    for dtype in (torch.float32, torch.int64):
        if dtype == torch.int64 and torch.float32 in entry.supported_dtypes("cpu"):
            continue
        calls = [wrong for call in sampled_calls(entry, dtype, 5) for wrong in changes(call)]
        random.Random(1).shuffle(calls)
        for call in calls[:limit]:
            try:
                expected, found = outcome(call, torch), outcome(call, rushlight)
            except Skip:
                continue
            if is_about_kinds(expected):
                continue
            counts[verdict(expected, found)] += 1
            if expected != found:
                differences.append((repr(call)[:200], expected, found))
    return counts, differences


def in_own_process(function, *args):
    """What a function gives, run in a fork of this process; None where that died."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "wb") as file:
            file.write(pickle.dumps(function(*args)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def main(names=".", limit="60"):
    total, seen = collections.Counter(), set()
    for entry in known_operations():
        if re.search(names, entry.name) and entry.name not in seen:
            seen.add(entry.name)
            found = in_own_process(compare, entry, int(limit))
            if found is None:
                print("PyTorch died:", entry.name)
                continue
            total.update(found[0])
            for call, expected, given in found[1]:
                print(call, "\n  PyTorch:  ", expected, "\n  Rushlight:", given)
    print(dict(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
