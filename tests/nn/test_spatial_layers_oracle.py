"""Convolution, pooling, norm, padding and resampling layers against PyTorch: values, gradients, printing, errors."""

import pytest
from layer_pairs import check_layers, check_source, draw

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")

LENGTHS = (6, 7, 5)


def layers(name, *args, **kwargs):
    return [getattr(library.nn, name)(*args, **kwargs).double() for library in (rl, torch)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2, "bias": False}, {"padding": "valid"},
        {"padding": "same", "dilation": 2}, {"padding": "same", "padding_mode": "replicate"},
        {"padding": 1, "padding_mode": "reflect"}, {"padding": 2, "padding_mode": "circular"},
    ],
)  # fmt: skip
def test_convolution(dims, options):
    for shape in ((2, 4, *LENGTHS[:dims]), (4, *LENGTHS[:dims])):
        check_layers(*layers(f"Conv{dims}d", 4, 6, 3, **options), [draw(*shape)], training=(True,))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"stride": 3, "padding": 1, "output_padding": 2}, {"dilation": 2, "groups": 2}]
)
def test_transposed_convolution(dims, options):
    ours, theirs = layers(f"ConvTranspose{dims}d", 4, 6, 3, **options)
    check_layers(ours, theirs, [draw(2, 4, *(3, 4, 2)[:dims])], training=(True,))


@pytest.mark.parametrize(
    ("name", "arguments", "shape"),
    [
        ("BatchNorm1d", (3,), (5, 3)),
        ("BatchNorm1d", (3, 1e-3, None), (5, 3, 4)),
        ("BatchNorm2d", (3, 1e-5, 0.3, False), (2, 3, 4, 5)),
        ("BatchNorm2d", (3, 1e-5, 0.3, True, False), (2, 3, 4, 5)),
        ("BatchNorm3d", (3,), (2, 3, 2, 3, 2)),
        ("InstanceNorm1d", (3, 1e-5, 0.1, True, True), (2, 3, 4)),
        ("InstanceNorm2d", (3,), (2, 3, 4, 5)),
        ("InstanceNorm2d", (3, 1e-5, 0.1, True), (3, 4, 5)),
        ("InstanceNorm3d", (3,), (2, 3, 2, 3, 2)),
        ("LayerNorm", ((3, 4),), (5, 3, 4)),
        ("LayerNorm", (4, 1e-3, True, False), (5, 3, 4)),
        ("GroupNorm", (2, 6), (3, 6, 4)),
        ("RMSNorm", (4,), (3, 4)),
        ("RMSNorm", ((3, 4), 1e-3, False), (2, 3, 4)),
        ("LocalResponseNorm", (3, 0.5), (2, 5, 4)),
        ("MaxPool1d", (3, 2, 1), (2, 3, 8)),
        ("MaxPool2d", (3, 2, 1, 2), (2, 3, 8, 9)),
        ("MaxPool3d", (2,), (2, 3, 4, 5, 6)),
        ("AvgPool1d", (3, 2, 1), (2, 3, 8)),
        ("AvgPool2d", (3, 2, 1, True, False), (2, 3, 8, 9)),
        ("AvgPool3d", (2, 1, 0, False, True, 3), (2, 3, 4, 5, 6)),
        ("LPPool1d", (2, 3), (2, 3, 8)),
        ("LPPool2d", (3, 2), (2, 3, 8, 9)),
        ("LPPool3d", (2, 2), (2, 3, 4, 5, 6)),
        ("AdaptiveAvgPool1d", (5,), (2, 3, 8)),
        ("AdaptiveAvgPool2d", ((None, 3),), (2, 3, 8, 9)),
        ("AdaptiveAvgPool3d", (2,), (2, 3, 4, 5, 6)),
        ("AdaptiveMaxPool1d", (5,), (2, 3, 8)),
        ("AdaptiveMaxPool2d", ((4, None), True), (2, 3, 8, 9)),
        ("AdaptiveMaxPool3d", (2,), (2, 3, 4, 5, 6)),
        ("FractionalMaxPool2d", (2, (3, 4)), (2, 3, 8, 9)),
        ("FractionalMaxPool3d", (2, None, 0.5), (2, 3, 6, 6, 6)),
        ("ReflectionPad1d", ((1, 2),), (2, 3, 5)),
        ("ReflectionPad2d", (2,), (2, 3, 5, 4)),
        ("ReflectionPad3d", (1,), (1, 2, 3, 4, 5)),
        ("ReplicationPad1d", (2,), (3, 5)),
        ("ReplicationPad2d", ((1, 2, 3, 0),), (2, 3, 5, 4)),
        ("ReplicationPad3d", (1,), (1, 2, 3, 4, 5)),
        ("CircularPad1d", (2,), (3, 5)),
        ("CircularPad2d", ((1, 2, 3, 0),), (2, 3, 5, 4)),
        ("CircularPad3d", (1,), (1, 2, 3, 4, 5)),
        ("ConstantPad1d", ((1, -1), 2.5), (3, 5)),
        ("ConstantPad3d", (1, -1.0), (1, 2, 3, 4, 5)),
        ("ZeroPad2d", ((1, 2, 0, 1),), (3, 5, 4)),
        ("Upsample", (None, 2), (2, 3, 5)),
        ("Upsample", (None, (1.5, 2), "bilinear"), (2, 3, 5, 4)),
        ("Upsample", (7, None, "bicubic", True), (2, 3, 5, 4)),
        ("UpsamplingNearest2d", (None, 2), (2, 3, 5, 4)),
        ("UpsamplingBilinear2d", ((7, 9),), (2, 3, 5, 4)),
        ("PixelShuffle", (2,), (2, 8, 3, 4)),
        ("PixelUnshuffle", (2,), (2, 2, 4, 6)),
        ("ChannelShuffle", (3,), (2, 6, 4)),
        ("Unfold", ((2, 3), 1, 1, 2), (2, 3, 5, 6)),
        ("Fold", ((4, 5), (2, 2)), (2, 12, 12)),
    ],
)
def test_layer(name, arguments, shape):
    check_layers(*layers(name, *arguments), [draw(*shape)])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling(dims):
    ours, theirs = layers(f"MaxPool{dims}d", 2, return_indices=True)

    def pool_and_back(library, layer, x):
        return getattr(library.nn, f"MaxUnpool{dims}d")(2)(*layer(x), output_size=x.shape)

    check_layers(ours, theirs, [draw(2, 3, *(6, 7, 5)[:dims])], pool_and_back, training=(True,))


@pytest.mark.parametrize(
    ("name", "arguments", "shape"),
    [("LazyConv2d", (4, 3), (2, 3, 5, 5)), ("LazyConvTranspose1d", (4, 3), (2, 3, 5)), ("LazyBatchNorm1d", (), (4, 3)),
     ("LazyInstanceNorm2d", (), (2, 3, 4, 4))],
)  # fmt: skip
def test_lazy_layers(name, arguments, shape):
    make = f"nn.{name}{arguments}" if len(arguments) != 1 else f"nn.{name}({arguments[0]})"
    check_source(make, torch)
    check_source(f"(lambda layer: (layer(R{shape}), repr(layer), *layer.state_dict().values()))({make})", torch)
    check_source(f"{make}(R{shape})", torch)


CALLS = """
nn.Conv2d(3,4,3,padding='same',bias=False)
nn.Conv2d(4,4,3,2,1,2,2,padding_mode='reflect')
nn.Conv1d(2,4,(3,))
nn.Conv3d(2,4,[1,2,3],stride=2)
nn.ConvTranspose2d(3,4,3,2,1,1,1)
nn.Conv2d(3,4,3,groups=0)
nn.Conv2d(3,4,3,groups=2)
nn.Conv2d(4,3,3,groups=2)
nn.Conv2d(3,4,3,padding='same',stride=2)
nn.Conv2d(3,-1,3)
nn.Conv2d(3,4,3)(R(3,5))
nn.Conv2d(3,4,3)(R(1,2,5,5))
nn.Conv1d(3,4,3)(R(1,3,2))
nn.ConvTranspose2d(3,4,3,padding_mode='reflect')
nn.ConvTranspose2d(3,4,3,stride=2)(R(1,3,5,5),output_size=(13,12))
nn.ConvTranspose2d(3,4,3,stride=2)(R(1,3,5,5),output_size=(1,4,12))
nn.ConvTranspose2d(3,4,3,stride=2)(R(3,5,5),output_size=(4,12,12))
nn.ConvTranspose1d(3,4,3,stride=2)(R(1,3,5),output_size=[13])
nn.ConvTranspose1d(3,4,3,groups=2)
nn.LazyConv2d(4,3)(R(3,5))
nn.LazyConv2d(4,3,groups=2)(R(1,3,5,5))
nn.BatchNorm2d(3)
nn.BatchNorm2d(3,affine=False,track_running_stats=False)
nn.BatchNorm2d(3,bias=False)
nn.BatchNorm1d(3)(R(3))
nn.BatchNorm2d(3)(R(2,3,4))
nn.BatchNorm3d(3)(R(2,3,4))
nn.BatchNorm1d(3)(R(1,3))
nn.BatchNorm1d(3)(R(2,4))
nn.LazyBatchNorm1d()(R(2,3,4,5))
nn.InstanceNorm2d(3)
nn.InstanceNorm1d(3)(R(3))
nn.InstanceNorm1d(3)(R(2,4,5))
nn.InstanceNorm1d(3,affine=True)(R(2,4,5))
nn.InstanceNorm2d(3)(R(4,4,5))
nn.InstanceNorm1d(3)(R(2,3,1))
nn.GroupNorm(2,4)
nn.GroupNorm(3,4)
nn.GroupNorm(0,4)
nn.LayerNorm([3,4],bias=False)
nn.LayerNorm(3,elementwise_affine=False)
nn.LayerNorm(3)(R(2,4))
nn.RMSNorm(3)
nn.LocalResponseNorm(2)
nn.LocalResponseNorm(2)(R(3,4))
nn.CrossMapLRN2d(3)
nn.CrossMapLRN2d(3,0.5)(R(2,6,4,3))
nn.CrossMapLRN2d(4,0.5,k=2.)(R(2,6,4,3))
nn.CrossMapLRN2d(3)(R(2,3,4))
nn.MaxPool2d((2,3),ceil_mode=True)
nn.MaxPool2d(2,padding=2)(R(1,1,4,4))
nn.MaxUnpool2d(2)
nn.AvgPool1d(3)
nn.AvgPool2d(2)
nn.AvgPool2d(2,divisor_override=0)(R(1,1,4,4))
nn.LPPool2d(2,3)
nn.AdaptiveAvgPool2d((3,None))
nn.AdaptiveMaxPool1d(3)
nn.FractionalMaxPool2d(3,output_size=3)
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2,output_size=3,output_ratio=.5)
nn.FractionalMaxPool3d(2,output_ratio=1.5)
nn.FractionalMaxPool2d(2,output_ratio=0.5)(R(1,1,6,6))
nn.ReflectionPad1d(2)
nn.ReflectionPad1d(2)(R(1,2))
nn.ConstantPad2d(3,2.)
nn.ZeroPad2d(3)
nn.CircularPad3d(1)
nn.CircularPad1d(2)(R(2))
nn.CircularPad1d(5)(R(2,3))
nn.Upsample(scale_factor=(2,3),mode='bilinear')
nn.Upsample()(R(1,1,2))
nn.Upsample(2,scale_factor=2)(R(1,1,2))
nn.UpsamplingNearest2d(2)
nn.PixelShuffle(2)
nn.PixelShuffle(2)(R(3,2,2))
nn.PixelUnshuffle(2)(R(1,3,4))
nn.Fold((3,4),2)
nn.Fold((4,4),2)(R(1,3,4))
nn.Unfold(2)
nn.ChannelShuffle(2)
nn.ChannelShuffle(2)(R(1,3,3))
"""


@pytest.mark.parametrize("source", CALLS.strip().splitlines())
def test_construction_and_errors(source):
    check_source(source, torch)
