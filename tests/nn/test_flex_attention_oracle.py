"""Attention by functions of positions: values, masks by blocks and what is given beside, against PyTorch."""

import warnings

import numpy as np
import pytest

import rushlight
from rushlight.nn.attention import flex_attention as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.nn.attention.flex_attention")

MASKS = {
    "causal": lambda b, h, q, kv: q >= kv,
    "window": lambda b, h, q, kv: (q >= kv) & (q - kv < 3),
    "by head": lambda b, h, q, kv: (q >= kv) | (h == 0),
    "nothing in row 0": lambda b, h, q, kv: q > kv,
}
SCORES = {
    None: None,
    "distance": lambda s, b, h, q, kv: s - (q - kv).abs() * 0.1,
    "head": lambda s, b, h, q, kv: s * (h + 1),
}


def tensors(shape, dtype="float32"):
    numbers = np.random.default_rng(0).standard_normal(shape).astype("float32")
    return [each.tensor(numbers).to(getattr(each, dtype)) for each in (torch, rushlight)]


@pytest.mark.parametrize("mask", [None, *MASKS])
@pytest.mark.parametrize("score", SCORES)
def test_values(mask, score):
    (q, q_), (k, k_), (v, v_) = tensors((2, 2, 5, 4)), tensors((2, 2, 7, 4)), tensors((2, 2, 7, 4))
    said = []
    for module, values in ((theirs, (q, k, v)), (ours, (q_, k_, v_))):
        block = mask and module.create_block_mask(MASKS[mask], 2, 2, 5, 7, device="cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said.append(module.flex_attention(*values, score_mod=SCORES[score], block_mask=block, return_lse=True))
    for expected, found in zip(*said):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("lengths", [(5, 7), (16, 16), (9, 30)])
@pytest.mark.parametrize("separate", [True, False])
def test_masks_by_blocks(mask, lengths, separate):
    options = {"device": "cpu", "BLOCK_SIZE": (4, 8), "separate_full_blocks": separate}
    expected = theirs.create_block_mask(MASKS[mask], 1, 2, *lengths, **options)
    found = ours.create_block_mask(MASKS[mask], 1, 2, *lengths, **options)
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices"):
        one, other = getattr(expected, name), getattr(found, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.tolist() == other.tolist() and str(one.dtype) == str(other.dtype), name
    assert (tuple(expected.shape), expected.sparsity()) == (found.shape, found.sparsity())
    assert expected.to_dense().tolist() == found.to_dense().tolist()
    both = [module.create_mask(MASKS[mask], 1, 2, *lengths, device="cpu").tolist() for module in (theirs, ours)]
    assert both[0] == both[1]


def test_masks_combine():
    for join in ("and_masks", "or_masks"):
        both = []
        for module in (theirs, ours):
            mask = getattr(module, join)(MASKS["window"], lambda b, h, q, kv: kv > 1)
            both.append(module.create_mask(mask, 1, 1, 6, 6, device="cpu").tolist())
        assert both[0] == both[1]


def test_fewer_heads_of_keys():
    (q, q_), (k, k_) = tensors((1, 4, 5, 4)), tensors((1, 2, 5, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.flex_attention(q, k, k, enable_gqa=True)
    np.testing.assert_allclose(
        ours.flex_attention(q_, k_, k_, enable_gqa=True).numpy(), expected.numpy(), rtol=1e-5, atol=1e-6
    )
    said = []
    for module, values in ((theirs, (q, k, k)), (ours, (q_, k_, k_))):
        with pytest.raises(ValueError) as error:
            module.flex_attention(*values)
        said.append(str(error.value).split("\n")[0])
    assert said[0] == said[1]
