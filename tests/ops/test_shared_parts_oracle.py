"""Operations whose results share memory with a tensor without being views, or keep the gaps of one: unsafe_split, *_scatter."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

CUTS = ("unsafe_split(4)", "unsafe_chunk(2)", "unsafe_split_with_sizes([2, 4])")


@pytest.mark.parametrize("cut", CUTS)
def test_parts_share_memory_and_count_their_own_writes(cut):
    found = []
    for module in (torch, rushlight):
        x = module.arange(6.0).requires_grad_()
        whole = x * 1
        parts = eval(f"whole.{cut}")
        parts[0].mul_(3)
        flags = [(p._is_view(), p._version, p.storage_offset(), p.data_ptr() - whole.data_ptr()) for p in parts]
        (parts[0].sum() + 2 * parts[1].sum()).backward()
        found.append((flags, whole._version, whole.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


SCATTERS = (
    "slice_scatter(x, t.zeros(3, 2), 1, 0, 4, 2)",
    "select_scatter(x, t.zeros(3), 1, 2)",
    "diagonal_scatter(x, t.zeros(3))",
    "as_strided_scatter(x, t.zeros(2, 2), (2, 2), (4, 2), 2)",
)


@pytest.mark.parametrize("code", SCATTERS)
def test_scattered_copies_keep_gaps_and_offset(code):
    found = []
    for module in (torch, rushlight):
        for x in (module.arange(40.0).reshape(4, 10)[1:, ::2], module.arange(15.0).reshape(5, 3).t()):
            result = eval(f"t.{code}", {"t": module, "x": x})
            found.append((result.stride(), result.storage_offset(), result.untyped_storage().nbytes(), result.tolist()))
    assert found[:2] == found[2:]


def test_windows_that_overlap_are_refused():
    for module in (torch, rushlight):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            module.as_strided_scatter(module.zeros(10), module.ones(2, 3), (2, 3), (0, 1))


def test_variances_are_broadcast_along_one_dimension():
    for shape in ((3, 1), (1, 4)):
        x, y, var = torch.rand(3, 4), torch.rand(3, 4), torch.rand(shape) + 0.1
        expected = torch.nn.functional.gaussian_nll_loss(x, y, var)
        ours = rushlight.nn.functional.gaussian_nll_loss(*(rushlight.from_numpy(v.numpy()) for v in (x, y, var)))
        assert abs(ours.item() - expected.item()) < 1e-6
    with pytest.raises(ValueError, match="var is of incorrect size"):
        rushlight.nn.functional.gaussian_nll_loss(rushlight.rand(3, 4), rushlight.rand(3, 4), rushlight.rand(1, 1))
