"""Convolution, pooling, norm and padding layers by their definitions, without PyTorch."""

import pytest

import rushlight as rl
from rushlight import nn


def test_convolution_is_a_sum_over_the_window():
    layer = nn.Conv2d(2, 3, (2, 3), stride=(1, 2), padding=(1, 0))
    x = rl.randn(1, 2, 4, 7)
    padded = nn.functional.pad(x, (0, 0, 1, 1))
    expected = (padded[0, :, 2:4, 2:5] * layer.weight[1]).sum() + layer.bias[1]
    assert rl.allclose(layer(x)[0, 1, 2, 1], expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_same_padding_keeps_the_size(mode):
    layer = nn.Conv2d(2, 3, (3, 5), padding="same", dilation=(2, 1), padding_mode=mode)
    assert layer(rl.randn(1, 2, 8, 9)).shape == (1, 3, 8, 9)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transpose_undoes_the_shape_of_a_convolution(dims):
    convolution = getattr(nn, f"Conv{dims}d")(2, 3, 3, stride=2, padding=1)
    transpose = getattr(nn, f"ConvTranspose{dims}d")(3, 2, 3, stride=2, padding=1)
    x = rl.randn(1, 2, *(6, 7, 8)[:dims])
    assert transpose(convolution(x), output_size=x.shape).shape == x.shape


def test_transposed_convolution_is_the_gradient_of_a_convolution():
    convolution = nn.Conv2d(2, 3, 3, stride=2, bias=False)
    transpose = nn.ConvTranspose2d(3, 2, 3, stride=2, bias=False)
    transpose.load_state_dict(convolution.state_dict())
    x = rl.randn(1, 2, 7, 7, requires_grad=True)
    output = convolution(x)
    upstream = rl.randn(*output.shape)
    output.backward(upstream)
    assert rl.allclose(x.grad, transpose(upstream), atol=1e-5)


def test_output_size_out_of_reach_is_refused():
    layer = nn.ConvTranspose2d(3, 4, 3, stride=2)
    with pytest.raises(ValueError, match=r"requested an output size of \(13, 12\), but valid sizes range from"):
        layer(rl.randn(1, 3, 5, 5), output_size=(13, 12))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lazy_convolution_takes_its_channels_from_the_input(dims):
    layer = getattr(nn, f"LazyConv{dims}d")(4, 3, groups=2)
    layer(rl.randn(1, 6, *[5] * dims))
    assert type(layer) is getattr(nn, f"Conv{dims}d")
    assert layer.weight.shape == (4, 3, *[3] * dims)
    transpose = getattr(nn, f"LazyConvTranspose{dims}d")(4, 3, bias=False)
    transpose(rl.randn(1, 6, *[5] * dims))
    assert transpose.weight.shape == (6, 4, *[3] * dims)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        getattr(nn, f"LazyConv{dims}d")(4, 3, groups=2)(rl.randn(1, 5, *[5] * dims))


def test_max_unpool_puts_values_back():
    x = rl.randn(2, 3, 6, 8)
    values, places = nn.MaxPool2d(2, return_indices=True)(x)
    restored = nn.MaxUnpool2d(2)(values, places)
    assert restored.shape == x.shape
    assert rl.equal(restored[restored != 0].sort()[0], values.flatten().sort()[0])


def test_batch_norm_counts_and_averages_batches():
    layer = nn.BatchNorm1d(3, momentum=None)
    batches = [rl.randn(8, 3) for _ in range(3)]
    for batch in batches:
        layer(batch)
    assert layer.num_batches_tracked.item() == 3
    assert rl.allclose(layer.running_mean, rl.stack([b.mean(0) for b in batches]).mean(0), atol=1e-6)
    layer.eval()
    x = rl.randn(4, 3)
    expected = (x - layer.running_mean) / (layer.running_var + layer.eps).sqrt()
    assert rl.allclose(layer(x), expected, atol=1e-5)
    layer.reset_running_stats()
    assert layer.num_batches_tracked.item() == 0 and layer.running_var.eq(1).all()


def test_batch_norm_reads_checkpoints_without_a_count():
    layer = nn.BatchNorm2d(2)
    state = {name: value for name, value in layer.state_dict().items() if name != "num_batches_tracked"}
    assert not nn.BatchNorm2d(2).load_state_dict(state).missing_keys


@pytest.mark.parametrize(
    ("layer", "dims"),
    [
        (lambda: nn.LayerNorm((3, 4)), (1, 2)),
        (lambda: nn.InstanceNorm1d(3), (2,)),
        (lambda: nn.GroupNorm(1, 3), (1, 2)),
    ],
)
def test_norms_leave_mean_zero_and_variance_one(layer, dims):
    output = layer()(5 * rl.randn(2, 3, 4) + 7)
    assert rl.allclose(output.mean(dims), rl.zeros(()), atol=1e-5)
    assert rl.allclose(output.var(dims, unbiased=False), rl.ones(()), atol=1e-4)


def test_lazy_norms_take_their_features_from_the_input():
    layer = nn.LazyBatchNorm2d()
    layer(rl.randn(2, 3, 4, 4))
    assert type(layer) is nn.BatchNorm2d and layer.running_var.shape == (3,)
    layer = nn.LazyInstanceNorm1d()
    layer(rl.randn(2, 5, 4))
    assert type(layer) is nn.InstanceNorm1d and layer.weight.shape == (5,)


def test_circular_padding_wraps():
    padded = nn.CircularPad2d((1, 0, 0, 1))(rl.arange(4.0).view(1, 2, 2))
    assert padded.tolist() == [[[1, 0, 1], [3, 2, 3], [1, 0, 1]]]


def test_unfold_and_fold_count_each_pixel_once_per_block():
    x = rl.ones(1, 2, 4, 5)
    folded = nn.Fold((4, 5), (2, 2))(nn.Unfold((2, 2))(x))
    assert folded[0, 0].tolist() == [[1, 2, 2, 2, 1], [2, 4, 4, 4, 2], [2, 4, 4, 4, 2], [1, 2, 2, 2, 1]]


def test_pixel_shuffle_and_unshuffle_are_inverse():
    x = rl.randn(2, 8, 3, 4)
    assert rl.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
