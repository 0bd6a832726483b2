"""Size arguments of layers: an int or a tuple, one entry a spatial dimension."""

from collections.abc import Iterable
from itertools import repeat


def _ntuple(n, name="parse"):
    """A function that repeats a single value ``n`` times and makes a tuple of an iterable.

    >>> _ntuple(2)(3), _ntuple(2)([3, 4])
    ((3, 3), (3, 4))
    """

    def parse(value):
        return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(sizes, times):
    """Sizes from the last to the first, each ``times`` times: the order in which ``F.pad`` reads them.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(size for size in reversed(sizes) for _ in range(times))


def _list_with_default(sizes, defaults):
    """``sizes`` with every None replaced by the entry that stands at its place, from the back, in ``defaults``."""
    if isinstance(sizes, int):
        return sizes
    if len(defaults) <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [default if size is None else size for size, default in zip(sizes, defaults[-len(sizes) :])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take ``prefix`` off the names in ``state_dict`` and in its metadata that begin with it, in place.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['bias', 'weight']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key == prefix.rstrip("."):
                metadata[""] = metadata.pop(key)
            elif key.startswith(prefix):
                metadata[key[len(prefix) :]] = metadata.pop(key)
