"""Views by keys of ints, slices, ``...`` and None: shapes, strides and elements against PyTorch."""

import itertools
import math

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

PARTS = (None, 0, slice(None), slice(1, None), slice(0, 1), slice(0, 2), Ellipsis, slice(None, None, 2))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 4), (3, 1), (4,)])
def test_views_of_every_key_have_pytorch_strides(shape, turned):
    count = math.prod(shape)
    ours, theirs = rl.arange(count).reshape(shape), torch.arange(count).reshape(shape)
    if turned:
        ours, theirs = ours.transpose(0, -1), theirs.transpose(0, -1)
    for key in itertools.chain.from_iterable(itertools.product(PARTS, repeat=length) for length in (1, 2, 3)):
        if len([part for part in key if part is not None and part is not Ellipsis]) > len(shape) or key.count(...) > 1:
            continue
        expected, found = theirs[key], ours[key]
        assert tuple(found.shape) == tuple(expected.shape), key
        if expected.numel():
            assert (found.stride(), found.storage_offset()) == (expected.stride(), expected.storage_offset()), key
            assert found.tolist() == expected.tolist(), key
