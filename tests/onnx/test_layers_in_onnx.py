"""Every layer that ONNX can say, with a batch of another size: ONNX Runtime gives the layer's numbers."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.export import Dim
from rushlight.nn import functional as F  # noqa: F401  (calls name it)

pytest.importorskip("onnx.checker")
pytest.importorskip("onnxruntime")

TOKENS = torch.tensor([[1, 2, 0], [3, 1, 2]])
CLASSES = torch.tensor([[1, 2, 0, 3, 5, 4], [3, 1, 2, 0, 5, 5]])


def rows(*shape):
    return torch.randn(2, *shape)


def of_dims(dims):
    """``{text: (layer, its inputs)}`` of the layers that there are for 1, 2 and 3 dimensions."""
    x = rows(4, *(6,) * dims) if dims < 3 else rows(4, 4, 4, 4)
    texts = [
        "Conv{}d(4, 6, 3, 2, 1)",
        "Conv{}d(4, 4, 3, padding='same', groups=2, bias=False, padding_mode='circular')",
        "ConvTranspose{}d(4, 4, 3, 2, 1, output_padding=1)",
        "BatchNorm{}d(4)",
        "BatchNorm{}d(4, affine=False)",
        "BatchNorm{}d(4, track_running_stats=False)",
        "InstanceNorm{}d(4, affine=True)",
        "InstanceNorm{}d(4, track_running_stats=True)",
        "MaxPool{}d(3, 2, 1)",
        "MaxPool{}d(3, 2, 1, ceil_mode=True)",
        "MaxPool{}d(2, return_indices=True)",
        "AvgPool{}d(3, 2, 1)",
        "AvgPool{}d(3, 2, 1, ceil_mode=True, count_include_pad=False)",
        "LPPool{}d(2, 2)",
        "AdaptiveAvgPool{}d(1)",
        "AdaptiveAvgPool{}d(3)",
        "AdaptiveMaxPool{}d(3, return_indices=True)",
        "ConstantPad{}d(1, 2.5)",
        "ReflectionPad{}d(1)",
        "ReplicationPad{}d(1)",
        "CircularPad{}d(1)",
    ]
    return {text.format(dims): (x,) for text in texts}


X, IMAGES, VOLUMES = rows(4, 6), rows(4, 6, 6), rows(4, 4, 4, 4)
ACTIVATIONS = (
    "ELU(0.5)", "Hardshrink()", "Hardsigmoid()", "Hardtanh()", "Hardswish()", "LeakyReLU()", "LogSigmoid()", "PReLU(4)", "ReLU6()",
    "RReLU()", "SELU()", "CELU(0.7)", "GELU()", "GELU('tanh')", "Sigmoid()", "SiLU()", "Mish()", "Softplus(2, 1)", "Softshrink()",
    "Softsign()", "Tanhshrink()", "Softmin(1)", "LogSoftmax(1)", "GLU(1)", "Threshold(0.1, 20)", "Dropout()",
)  # fmt: skip
LAYERS = dict.fromkeys(ACTIVATIONS, (X,))
LAYERS |= {
    "Softmax2d()": (IMAGES,),
    "AvgPool2d(3, 2, divisor_override=5)": (IMAGES,),
    "MaxUnpool2d(2)": nn.MaxPool2d(2, return_indices=True)(IMAGES),
    "LayerNorm(6)": (X,),
    "LayerNorm((6, 6), elementwise_affine=False)": (IMAGES,),
    "GroupNorm(2, 4)": (IMAGES,),
    "RMSNorm(6)": (X,),
    "LocalResponseNorm(2)": (IMAGES,),
    "Linear(6, 3, bias=False)": (X,),
    "Bilinear(6, 6, 3)": (X, X),
    "Embedding(6, 3, padding_idx=0)": (TOKENS,),
    "EmbeddingBag(6, 3)": (TOKENS,),
    "EmbeddingBag(6, 3, mode='max')": (TOKENS,),
    "EmbeddingBag(6, 3, padding_idx=-5)": (TOKENS,),
    "AdaptiveLogSoftmaxWithLoss(6, 9, [2, 5], div_value=2.0)": (rows(6), torch.tensor([1, 7])),
    "Flatten()": (IMAGES,),
    "Unflatten(1, (2, 2))": (IMAGES,),
    "PixelShuffle(2)": (IMAGES,),
    "PixelUnshuffle(2)": (IMAGES,),
    "ChannelShuffle(2)": (IMAGES,),
    "Fold((6, 6), 2, stride=2)": (rows(12, 9),),
    "Unfold(2, dilation=2, padding=1)": (IMAGES,),
    "Upsample(scale_factor=2)": (IMAGES,),
    "Upsample(scale_factor=0.6, mode='bilinear')": (IMAGES,),
    "Upsample(size=(9, 7), mode='bilinear', align_corners=True)": (IMAGES,),
    "Upsample(scale_factor=2, mode='bicubic')": (IMAGES,),
    "Upsample(scale_factor=2, mode='linear')": (X,),
    "Upsample(scale_factor=2, mode='trilinear')": (VOLUMES,),
    "Upsample(scale_factor=1.7, mode='nearest-exact')": (IMAGES,),
    "LSTMCell(6, 3)": (rows(6),),
    "GRUCell(6, 3)": (rows(6),),
    "RNNCell(6, 3)": (rows(6),),
    "LSTM(6, 3, 2, batch_first=True, bidirectional=True)": (X,),
    "LSTM(6, 3, proj_size=2, batch_first=True)": (X,),
    "GRU(6, 3, batch_first=True, bias=False)": (X,),
    "RNN(6, 3, batch_first=True, nonlinearity='relu')": (X,),
    "MultiheadAttention(6, 2, batch_first=True)": (X, X, X),
    "MultiheadAttention(6, 2, batch_first=True, kdim=4, vdim=4, add_bias_kv=True, add_zero_attn=True)": (X, rows(5, 4), rows(5, 4)),
    "TransformerEncoderLayer(6, 2, 8, activation='gelu', norm_first=True, batch_first=True)": (X,),
    "TransformerDecoderLayer(6, 2, 8, batch_first=True)": (X, X),
    "CosineSimilarity()": (X, X + 1),
    "PairwiseDistance()": (X, X + 1),
}  # fmt: skip
LOSSES = {
    "L1Loss()": (X, X * 2),
    "MSELoss(reduction='sum')": (X, X * 2),
    "SmoothL1Loss()": (X, X * 2),
    "HuberLoss(delta=0.3)": (X, X * 2),
    "CrossEntropyLoss(label_smoothing=0.1)": (rows(6), torch.tensor([1, 5])),
    "CrossEntropyLoss(weight=torch.arange(6.0))": (rows(6, 6), CLASSES),
    "NLLLoss(ignore_index=1)": (rows(6, 6).log_softmax(1), CLASSES),
    "BCELoss()": (X.sigmoid(), rows(4, 6).sigmoid()),
    "BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))": (X, X.sigmoid()),
    "KLDivLoss(reduction='batchmean')": (X.log_softmax(1), X.softmax(1)),
    "PoissonNLLLoss(full=True)": (X, X.exp()),
    "GaussianNLLLoss()": (X, X * 2, X.exp()),
    "HingeEmbeddingLoss()": (X, X.sign()),
    "CosineEmbeddingLoss()": (rows(6), rows(6), torch.tensor([1, -1])),
    "MarginRankingLoss(0.1)": (rows(6), rows(6), rows(6).sign()),
    "TripletMarginLoss()": (rows(6), rows(6), rows(6)),
    "SoftMarginLoss()": (X, X.sign()),
    "MultiMarginLoss(p=2, weight=torch.arange(6.0))": (rows(6), torch.tensor([1, 2])),
    "MultiLabelSoftMarginLoss()": (rows(6), rows(6).sigmoid()),
    "MultiLabelMarginLoss(reduction='none')": (rows(6), torch.tensor([[1, 0, -1, 2, 3, 4], [0, -1, 2, 2, 1, 0]])),
}  # fmt: skip
SWEEP = of_dims(1) | of_dims(3) | LOSSES


def check(text, inputs):
    """Export a layer with a batch of 2 whose size may change, and run it with 2 and with 3 rows."""
    layer = eval(f"nn.{text}", {"nn": nn, "torch": torch}).eval()
    batch = Dim("batch")
    program = torch.onnx.export(layer, inputs, dynamic_shapes=tuple({0: batch} for _ in inputs), verbose=False)
    longer = tuple(torch.cat([each, each[:1]]) for each in inputs)
    for given in (inputs, longer):
        expected = torch.utils._pytree.tree_leaves(layer(*given))
        for one, other in zip(program(*given), expected, strict=True):
            torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", [*LAYERS, *of_dims(2)])
def test_layers(text):
    check(text, LAYERS.get(text) or of_dims(2)[text])


@pytest.mark.slow
@pytest.mark.parametrize("text", SWEEP)
def test_losses_and_layers_of_other_dimensions(text):
    check(text, SWEEP[text])


MASK, PADDING = torch.ones(4, 4).triu(1) > 0, torch.tensor([[False, False, False, True], [False] * 4])
HEADS = rows(4, 4, 6)
CALLS = {
    "m(x, x, x, key_padding_mask=p)[0]": (nn.MultiheadAttention(6, 2, batch_first=True), (X, PADDING)),
    "m(x, x, x, attn_mask=MASK, key_padding_mask=p)": (nn.MultiheadAttention(6, 2, batch_first=True), (X, PADDING)),
    "m(x, x, x, attn_mask=MASK, need_weights=False, is_causal=True)[0] + p[..., None]": (
        nn.MultiheadAttention(6, 2, batch_first=True), (X, PADDING)),
    "m(x, MASK, p)": (nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), (X, PADDING)),
    "m(x, None, p)": (nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), 2), (X, PADDING)),
    "m(x, x, MASK, None, p, p)": (nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, batch_first=True), 1), (X, PADDING)),
    "F.scaled_dot_product_attention(x, y, y, enable_gqa=True, is_causal=True)": (None, (HEADS, HEADS[:, 1:3])),
    "F.scaled_dot_product_attention(x, x, x, y)": (None, (HEADS, MASK.expand(2, 1, 4, 4))),  # the last query looks nowhere
    "F.interpolate(x, (3, 4), mode='bilinear', antialias=True)": (None, (IMAGES,)),
    "F.nll_loss(x[0], MASK[0, 0].long())": (None, (X.log_softmax(2).transpose(0, 1)[0],)),
    "torch.zeros(2, 5, 6).index_add(1, y[0], x, alpha=2)": (None, (X, torch.tensor([[0, 2, 2, 4]] * 2))),
    "x.scatter_reduce(1, y, x, 'amax')": (None, (X, torch.randint(0, 4, (2, 4, 6)))),
    "torch.diag_embed(x, -1, 0, 2)": (None, (X,)),
    "torch.linalg.det(x @ x.mT)": (None, (X,)),
    "(x.isnan(), x.isposinf(), x.isneginf(), x.isfinite(), x.nan_to_num(2), x.floor(), x.ceil())": (None, (TOKENS,)),
    "(x.isnan(), x.isposinf(), x.isneginf(), x.isfinite(), x.nan_to_num(2))": (
        None, (torch.tensor([float("nan"), float("inf"), -float("inf"), 0.5]),)),
    "torch.heaviside(x, y)": (None, (X, X[:1] + 1)),
    "F.linear(x[0, 0], y) + F.linear(x[0, 0], y, y[:, 0])": (None, (X, rows(6))),
    "F.normalize(x.sum(), 1.5, 0) + F.multi_margin_loss(x.sum(), y)": (None, (X, torch.tensor(0))),
    "(F.pdist(x), F.pdist(x, 0.5), F.pdist(x, float('inf')))": (None, (rows(6).repeat(2, 1) * X[:, 0].repeat(2, 1),)),
    "torch.isin(x, y)": (None, (TOKENS, torch.tensor([[1], [3]]))),
    "torch.isin(x, 2, invert=True)": (None, (TOKENS,)),
    "torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True)": (None, (X,)),
}  # fmt: skip


ROWS, OFFSETS = torch.tensor([1, 2, 0, 3, 2, 2, 1]), torch.tensor([0, 3, 3, 5])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"padding_idx": 2, "include_last_offset": True}])
def test_bags_by_offsets(mode, options):
    """Bags without rows, or whose only row does not count, are among them; both numbers may change."""
    layer = nn.EmbeddingBag(6, 3, mode=mode, **options).eval()
    program = torch.onnx.export(
        layer, (ROWS, OFFSETS), dynamic_shapes=({0: Dim("rows")}, {0: Dim("bags")}), verbose=False
    )
    for given in ((ROWS, OFFSETS), (torch.tensor([2, 5, 2, 1, 0]), torch.tensor([0, 1, 3]))):
        torch.testing.assert_close(program(*given)[0], layer(*given).detach(), rtol=1e-5, atol=1e-5)


class Calling(nn.Module):
    def __init__(self, text, module):
        super().__init__()
        self.code, self.m = compile(text, text, "eval"), module

    def forward(self, x, y=None):
        return eval(self.code, globals() | {"m": self.m, "x": x, "y": y, "p": y})


@pytest.mark.parametrize("text", CALLS)
def test_masks_and_functions(text):
    module, inputs = CALLS[text]
    model = Calling(text, module).eval()
    program = torch.onnx.export(model, inputs, verbose=False)
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    for one, other in zip(program(*inputs), expected, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-5)


REFUSED = {
    "FractionalMaxPool2d(2, 3)": ((IMAGES,), "fractional_max_pool"),
    "Embedding(6, 3, max_norm=1.0)": ((TOKENS,), "unique"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_onnx_cannot_say_is_refused_by_name(text):
    inputs, operation = REFUSED[text]
    said = f"^Exporting the operator 'aten::{operation}' to ONNX opset version 20 is not supported\nhint: "
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=said):
        torch.onnx.export(eval(f"nn.{text}").eval(), inputs, verbose=False)
