"""Operations that ``torch.ops.aten`` alone has, against PyTorch's."""

import pytest

import rushlight
from rushlight.compat.inside import ops as our_ops

torch = pytest.importorskip("torch")

IMAGE = "torch.randn(2, 3, 6, 6)"
CONVOLUTION = "torch.randn(1, 2, 4, 4), torch.randn(1, 3, 6, 6), torch.randn(2, 3, 3, 3)"
PLAIN = "[1, 1], [0, 0], [1, 1], False, [0, 0], 1"
CALLS = (
    f"""
aten._to_copy(torch.ones(2), dtype=torch.float64)
aten.alias.default(torch.arange(3))
aten.slice.Tensor(torch.arange(10), 0, 2, 8, 2)
aten.slice.Tensor(torch.ones(2, 5), -1, 1)
aten._unsafe_view(torch.arange(6), [2, 3])
aten._reshape_alias(torch.arange(6), [2, 3], [3, 1])
aten._local_scalar_dense(torch.tensor(3.0))
aten.lift_fresh(torch.ones(2))
aten.sym_size.int(torch.ones(2, 3), 1)
aten.sym_stride.int(torch.ones(2, 3), 0)
aten.sym_numel(torch.ones(2, 3))
aten.is_non_overlapping_and_dense(torch.ones(2, 3).t())
aten.is_non_overlapping_and_dense(torch.ones(2, 4)[:, ::2])
aten.is_non_overlapping_and_dense(torch.ones(1, 4)[:, :1])
aten.select_backward(torch.ones(3), [2, 3], 0, 1)
aten.slice_backward(torch.ones(2), [6], 0, 1, 5, 2)
aten.copy(torch.ones(2, 2), torch.ones(2).double())
aten._is_all_true(torch.tensor([True, False]))
aten._is_any_true(torch.tensor([True, False]))
aten._assert_scalar(0, "none")
aten._softmax(torch.randn(3), 0, False)
aten._log_softmax(torch.randn(3), 0, False)
aten._fft_c2c(torch.randn(4) + 0j, [0], 0, True)
aten._fft_c2c(torch.randn(4) + 0j, [0], 1, True)
aten._fft_c2c(torch.randn(4) + 0j, [0], 2, True)
aten._fft_c2c(torch.randn(4) + 0j, [0], 0, False)
aten._fft_c2c(torch.randn(4) + 0j, [0], 2, False)
aten.upsample_bilinear2d({IMAGE}, [4, 5], True)
aten.upsample_bilinear2d.vec({IMAGE}, None, False, [2.0, 2.0])
aten._upsample_bilinear2d_aa({IMAGE}, [4, 5], False)
aten.upsample_nearest2d({IMAGE}, [4, 5])
aten.reflection_pad2d({IMAGE}, [1, 2, 1, 0])
aten.replication_pad2d({IMAGE}, [1, 2, 1, 0])
aten._convolution({IMAGE}, torch.randn(2, 3, 3, 3), None, {PLAIN}, False, False, False, True)
aten.convolution_backward({CONVOLUTION}, [2], {PLAIN}, [True, True, True])
aten.convolution_backward({CONVOLUTION}, [2], {PLAIN}, [False, True, True])
aten.convolution_backward({CONVOLUTION}, None, {PLAIN}, [True, True, False])
aten.mse_loss_backward(torch.tensor(1.0), torch.randn(3), torch.randn(3), 1)
aten.mse_loss_backward(torch.ones(3), torch.randn(3), torch.randn(3), 0)
aten.max_pool2d_with_indices_backward(torch.ones(1, 1, 2, 2), {IMAGE}[:1, :1, :4, :4], [2, 2], [2, 2], [0, 0], [1, 1], False, \
torch.tensor([[[[5, 7], [13, 15]]]]))
aten.detach(torch.ones(2))
aten.size(torch.ones(3))
""".replace("\\\n", "")
    .strip()
    .split("\n")
)


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    return value.numpy() if hasattr(value, "numpy") else value


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    results = []
    for library, aten in ((torch, torch.ops.aten), (rushlight, our_ops.aten)):
        library.manual_seed(0)
        try:
            results.append(plain(eval(call, {"torch": library, "aten": aten})))
        except RuntimeError as error:
            results.append(str(error).split("\n")[0])
    theirs, ours = results
    if not isinstance(theirs, list):
        theirs, ours = [theirs], [ours]
    assert len(theirs) == len(ours)
    for one, other in zip(theirs, ours):
        assert type(one) is type(other)
        assert (
            one == pytest.approx(other, rel=1e-4, abs=1e-5) if not isinstance(one, (str, type(None))) else one == other
        )


def test_names_that_programs_register_something_for():
    name = our_ops.aten._sparse_mm_reduce_impl.default
    assert str(name) == "aten._sparse_mm_reduce_impl.default"
    with pytest.raises(NotImplementedError, match="_sparse_mm_reduce_impl is not implemented"):
        name(rushlight.ones(1))
    with pytest.raises(AttributeError, match="has no attribute 'no_such_thing'"):
        our_ops.aten.no_such_thing()
