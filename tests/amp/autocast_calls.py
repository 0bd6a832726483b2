"""Calls of functions and layers, for both modules: what they compute in under autocast is compared."""

import numpy as np


class Maker:
    """Inputs of one module: ``call(4, 4)`` gives the same numbers in either, floating ones in ``dtype``."""

    def __init__(self, module, dtype):
        self.module, self.dtype = module, getattr(module, dtype)
        self.begin()

    def begin(self):
        self.numbers = np.random.RandomState(1)
        self.module.manual_seed(0)

    def __call__(self, *shape, dtype=None):
        made = self.module.from_numpy(np.asarray(self.numbers.rand(*shape), np.float32))
        return made.to(self.dtype if dtype is None else getattr(self.module, dtype))

    def square(self):
        """A symmetric positive matrix."""
        half = self.numbers.rand(4, 4).astype(np.float32)
        return self.module.from_numpy(half @ half.T + 4 * np.eye(4, dtype=np.float32)).to(self.dtype)


def _pad(shape, amounts, mode):
    return lambda m, r: m.nn.functional.pad(r(*shape), amounts, mode)


def _loss(name, *targets, **options):
    def call(m, r):
        made = [target(m, r) if callable(target) else target for target in targets]
        return getattr(m.nn.functional, name)(r(3, 4), *made, **options)

    return call


def _like(m, r):
    return r(3, 4)


def _classes(m, r):
    return m.tensor([0, 1, 2])


def _signs(*shape):
    return lambda m, r: m.ones(*shape)


def _f(name, *shapes, **options):
    return lambda m, r: getattr(m.nn.functional, name)(*[r(*shape) for shape in shapes], **options)


def _t(name, *shapes, **options):
    return lambda m, r: getattr(m, name)(*[r(*shape) for shape in shapes], **options)


def _linalg(name, *more):
    return lambda m, r: getattr(m.linalg, name)(r.square(), *[r(*shape) for shape in more])


def _fft(name):
    return lambda m, r: getattr(m.fft, name)(r(3, 4))


def _packed(kind):
    def call(m, r):
        packed = m.nn.utils.rnn.pack_padded_sequence(r(3, 2, 4), [3, 2])
        output, state = getattr(m.nn, kind)(4, 5)(packed)
        return output[0], state

    return call


def _layer(kind, *arguments, shapes=((3, 2, 4),), **options):
    return lambda m, r: getattr(m.nn, kind)(*arguments, **options)(*[r(*shape) for shape in shapes])


def _attention(mask=None, weights=True, **options):
    def call(m, r):
        layer = m.nn.MultiheadAttention(4, 2, **options)
        x = r(3, 2, 4)
        given = None if mask is None else m.zeros(3, 3, dtype=getattr(m, mask))
        return layer(x, x, x, attn_mask=given, need_weights=weights)

    return call


HEADS = ((1, 2, 3, 4),) * 3

PRODUCTS = {
    "linear": _f("linear", (3, 4), (5, 4), (5,)), "linear of a vector": _f("linear", (4,), (5, 4), (5,)),
    "linear of three dimensions": _f("linear", (2, 3, 4), (5, 4)), "mm": _t("mm", (3, 4), (4, 2)),
    "matmul": lambda m, r: r(3, 4) @ r(4, 4), "matrix by vector": lambda m, r: r(3, 4) @ r(4),
    "vectors": lambda m, r: r(4) @ r(4), "vector by matrix": lambda m, r: r(3) @ r(3, 4),
    "batches": lambda m, r: r(2, 3, 4) @ r(2, 4, 3), "four dimensions": lambda m, r: r(5, 2, 3, 4) @ r(2, 4, 3),
    "reflected": lambda m, r: m.Tensor.__rmatmul__(r(4, 4), r(3, 4)), "mv": _t("mv", (3, 4), (4,)),
    "dot": _t("dot", (4,), (4,)), "outer": _t("outer", (3,), (4,)), "addmv": _t("addmv", (3,), (3, 4), (4,)),
    "inner": _t("inner", (3, 4), (2, 4)), "inner of vectors": _t("inner", (4,), (4,)), "kron": _t("kron", (2, 2), (2, 2)),
    "addmm": _t("addmm", (3, 2), (3, 4), (4, 2)), "addbmm": _t("addbmm", (3, 2), (5, 3, 4), (5, 4, 2)),
    "baddbmm": _t("baddbmm", (5, 3, 2), (5, 3, 4), (5, 4, 2)), "bmm": _t("bmm", (5, 3, 4), (5, 4, 2)),
    "addmm_": lambda m, r: r(3, 4).addmm_(r(3, 4), r(4, 4)), "vecdot": lambda m, r: m.linalg.vecdot(r(3, 4), r(3, 4)),
    "multi_dot": lambda m, r: m.linalg.multi_dot([r(3, 4), r(4, 2), r(2, 3)]), "matrix_power": _linalg("matrix_power"),
    "tensordot": lambda m, r: m.tensordot(r(3, 4), r(4, 2), 1), "cov": _t("cov", (3, 4)), "corrcoef": _t("corrcoef", (3, 4)),
    **{
        equation: (lambda equation, shapes: lambda m, r: m.einsum(equation, *[r(*s) for s in shapes]))(equation, shapes)
        for equation, shapes in {
            "ij,jk->ik": ((3, 4), (4, 2)), "i,i->": ((4,), (4,)), "i,j->ij": ((3,), (4,)), "ij,ij->ij": ((3, 4), (3, 4)),
            "ij->i": ((3, 4),), "ij,j->i": ((3, 4), (4,)), "ij,kl->i": ((3, 4), (3, 4)), "ij,ij->": ((3, 4), (3, 4)),
            "bij,bjk->bik": ((2, 3, 4), (2, 4, 3)), "i,i,i->": ((4,), (4,), (4,)),
        }.items()
    },
    "out= of mm": lambda m, r: m.mm(r(3, 4), r(4, 4), out=r(3, 4)),
    "out= of matmul": lambda m, r: m.matmul(r(3, 4), r(4, 4), out=r(3, 4)),
    "out= of vecdot": lambda m, r: m.linalg.vecdot(r(3, 4), r(3, 4), out=r(3)),
    "out= of prod": lambda m, r: m.prod(r(3, 4), 1, out=r(3)),
    "another dtype": lambda m, r: r(3, 4) @ r(4, 2, dtype="float32"), "float64": _t("mm", (3, 4), (4, 2), ),
    "float64 with float64": lambda m, r: r(3, 4, dtype="float64") @ r(4, 2, dtype="float64"),
    "complex": lambda m, r: m.mm(*[r(4, 4, dtype="float32").to(m.complex64)] * 2),
    "integers": lambda m, r: m.mm(*[m.ones(2, 2, dtype=m.int64)] * 2), "float64 with float32": lambda m, r: m.mm(
        r(3, 4, dtype="float64"), r(4, 2, dtype="float32")), "integers with float32": lambda m, r: m.mm(
        m.ones(2, 3, dtype=m.int64), r(3, 4, dtype="float32")),
}  # fmt: skip

CONVOLUTIONS = {
    "conv1d": _f("conv1d", (1, 2, 6), (3, 2, 3), (3,)), "conv2d": _f("conv2d", (1, 2, 6, 6), (3, 2, 3, 3), (3,)),
    "conv2d same": _f("conv2d", (1, 2, 6, 6), (3, 2, 3, 3), padding="same"), "torch.conv2d": _t("conv2d", (1, 2, 6, 6), (3, 2, 3, 3)),
    "conv3d": _f("conv3d", (1, 2, 4, 4, 4), (3, 2, 3, 3, 3)), "conv_transpose1d": _f("conv_transpose1d", (1, 2, 6), (2, 3, 3)),
    "conv_transpose2d": _f("conv_transpose2d", (1, 2, 6, 6), (2, 3, 3, 3)),
    "conv_transpose3d": _f("conv_transpose3d", (1, 2, 4, 4, 4), (2, 3, 3, 3, 3)),
    "conv_tbc": _f("conv_tbc", (5, 2, 3), (3, 3, 4), (4,)), "prelu": _f("prelu", (3, 4), (1,)),
    "another weight": lambda m, r: m.nn.functional.conv2d(r(1, 2, 6, 6), r(3, 2, 3, 3, dtype="float32"), r(3)),
    "Conv2d reflecting": _layer("Conv2d", 2, 3, 3, padding=1, padding_mode="reflect", shapes=((1, 2, 6, 6),)),
    "attention": _f("scaled_dot_product_attention", *HEADS),
    "attention with a mask": lambda m, r: m.nn.functional.scaled_dot_product_attention(
        *[r(1, 2, 3, 4) for _ in range(3)], attn_mask=m.zeros(3, 3)),
    "attention with a bool mask": lambda m, r: m.nn.functional.scaled_dot_product_attention(
        *[r(1, 2, 3, 4) for _ in range(3)], attn_mask=m.ones(3, 3, dtype=m.bool)),
    "attention of three dimensions": _f("scaled_dot_product_attention", *((2, 3, 4),) * 3),
}  # fmt: skip

IN_FLOAT32 = {
    **{name: _loss(name, _like) for name in (
        "l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "soft_margin_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "multilabel_soft_margin_loss")},
    "nll_loss": _loss("nll_loss", _classes), "cross_entropy of classes": _loss("cross_entropy", _classes, label_smoothing=0.1),
    "nll_loss of images": lambda m, r: m.nn.functional.nll_loss(r(1, 2, 6, 6), m.zeros(1, 6, 6, dtype=m.int64)),
    "multi_margin_loss": _loss("multi_margin_loss", _classes), "gaussian_nll_loss": _loss("gaussian_nll_loss", _like, _like),
    "multilabel_margin_loss": _loss("multilabel_margin_loss", lambda m, r: m.tensor([[0, -1, 1, 1]] * 3)),
    "hinge_embedding_loss": _loss("hinge_embedding_loss", _signs(3, 4)),
    "triplet_margin_loss": _loss("triplet_margin_loss", _like, _like),
    "triplet_margin_with_distance_loss": _loss("triplet_margin_with_distance_loss", _like, _like),
    "cosine_embedding_loss": _loss("cosine_embedding_loss", _like, _signs(3)),
    "margin_ranking_loss": lambda m, r: m.nn.functional.margin_ranking_loss(r(3), r(3), m.ones(3)),
    "mse_loss of two dtypes": lambda m, r: m.nn.functional.mse_loss(r(3, 4), r(3, 4, dtype="float64")),
    "torch.kl_div": _t("kl_div", (3, 4), (3, 4)), "ctc_loss": lambda m, r: m.nn.functional.ctc_loss(
        r(5, 1, 4).log_softmax(-1), m.tensor([[1, 2]]), m.tensor([5]), m.tensor([2])),
    "prod": lambda m, r: r(3, 4).prod(), "prod by rows": lambda m, r: r(3, 4).prod(1),
    "prod as bfloat16": lambda m, r: r(3, 4).prod(dtype=m.bfloat16), "prod of integers": lambda m, r: m.ones(3, dtype=m.int32).prod(),
    "avg_pool3d": _f("avg_pool3d", (1, 2, 4, 4, 4), kernel_size=2), "max_pool3d": _f("max_pool3d", (1, 2, 4, 4, 4), kernel_size=2),
    "adaptive_avg_pool3d": _f("adaptive_avg_pool3d", (1, 2, 4, 4, 4), output_size=2),
    "adaptive_max_pool3d": _f("adaptive_max_pool3d", (1, 2, 4, 4, 4), output_size=2),
    "adaptive_avg_pool2d": _f("adaptive_avg_pool2d", (1, 2, 4, 4), output_size=2),
    "fractional_max_pool2d": _f("fractional_max_pool2d", (1, 2, 6, 6), kernel_size=2, output_size=3),
    "fractional_max_pool3d": _f("fractional_max_pool3d", (1, 2, 6, 6, 6), kernel_size=2, output_size=3),
    "max_unpool1d": lambda m, r: m.nn.functional.max_unpool1d(
        *m.nn.functional.max_pool1d(r(1, 1, 4), 2, return_indices=True), 2),
    "max_unpool2d": lambda m, r: m.nn.functional.max_unpool2d(
        *m.nn.functional.max_pool2d(r(1, 1, 4, 4), 2, return_indices=True), 2),
    "grid_sample": _f("grid_sample", (1, 2, 6, 6), (1, 3, 3, 2), align_corners=False), "trace": lambda m, r: r(4, 4).trace(),
    "view_as_complex": _t("view_as_complex", (3, 2)), "polar": _t("polar", (3, 4), (3, 4)), "cdist": _t("cdist", (3, 4), (3, 4)),
    "quantile": lambda m, r: r(3, 4).quantile(0.5), "nanquantile": lambda m, r: r(3, 4).nanquantile(0.5),
    "stft": lambda m, r: m.stft(r(20), 8, return_complex=True, window=m.ones(8)),
    "mirrored": _pad((1, 2, 5), (1, 1), "reflect"), "mirrored images": _pad((1, 2, 6, 6), (1, 1, 1, 1), "reflect"),
    "mirrored volumes": _pad((1, 2, 4, 4, 4), (1,) * 6, "reflect"), "replicated": _pad((1, 2, 6, 6), (1, 1, 1, 1), "replicate"),
    "replicated volumes": _pad((1, 2, 4, 4, 4), (1,) * 6, "replicate"), "circular": _pad((1, 2, 6, 6), (1,) * 4, "circular"),
    "zeros around": _pad((1, 2, 6, 6), (1,) * 4, "constant"), "ReflectionPad2d": _layer("ReflectionPad2d", 1, shapes=((1, 2, 6, 6),)),
    **{f"fft.{name}": _fft(name) for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
        "fftshift", "hfft2")},
    **{f"linalg.{name}": _linalg(name) for name in (
        "cholesky", "cholesky_ex", "inv", "inv_ex", "svdvals", "eigvalsh", "cond", "matrix_rank", "det", "matrix_norm")},
    "linalg.solve": _linalg("solve", (4, 2)), "linalg.lstsq": lambda m, r: m.linalg.lstsq(r.square(), r(4, 2)).solution,
    "linalg.svd": lambda m, r: m.linalg.svd(r.square())[1], "linalg.qr": lambda m, r: m.linalg.qr(r.square())[1].abs(),
    "linalg.eigh": lambda m, r: m.linalg.eigh(r.square())[0], "linalg.cross": lambda m, r: m.linalg.cross(r(3, 3), r(3, 3)),
    "cholesky_inverse": _linalg("cholesky"), "pinverse": lambda m, r: m.pinverse(r.square()), "svd": lambda m, r: m.svd(r.square())[1],
    "inverse": lambda m, r: r.square().inverse(), "lu_factor": lambda m, r: m.linalg.lu_factor(r.square()),
}  # fmt: skip

WIDEST = {
    "cat": lambda m, r: m.cat([r(3, 4), r(3, 4)]), "cat of two dtypes": lambda m, r: m.cat([r(3, 4), r(3, 4, dtype="float32")]),
    "stack": lambda m, r: m.stack([r(3, 4), r(3, 4, dtype="float32")]), "hstack": lambda m, r: m.hstack([r(3), r(3, dtype="float32")]),
    "dstack": lambda m, r: m.dstack([r(3, 4), r(3, 4, dtype="float32")]),
    "block_diag": lambda m, r: m.block_diag(r(3, 4), r(3, 4, dtype="float32")),
    "cat with float64": lambda m, r: m.cat([r(3, 4, dtype="float64"), r(3, 4)]),
    "cat with integers": lambda m, r: m.cat([m.ones(3, 4, dtype=m.int64), r(3, 4)]),
    "cat of integers": lambda m, r: m.cat([m.ones(3, 4, dtype=m.int64)] * 2),
    "cat of float32 and the other half": lambda m, r: m.cat([r(3, 4, dtype="float32"), r(3, 4, dtype="float16"), r(3, 4)]),
    "cat of the other half": lambda m, r: m.cat([r(3, 4, dtype="float16"), r(3, 4, dtype="bfloat16")]),
    "cat into": lambda m, r: m.cat([r(3, 4), r(3, 4)], out=r(6, 4)),
    "index_copy": lambda m, r: r(3, 4).index_copy(0, m.tensor([0]), r(1, 4, dtype="float32")),
    "index_copy_": lambda m, r: r(3, 4).index_copy_(0, m.tensor([0]), r(1, 4)),
}  # fmt: skip

AS_THEY_ARE = {
    "sum": lambda m, r: r(3, 4).sum(), "softmax": lambda m, r: r(3, 4).softmax(-1), "norm": lambda m, r: r(3, 4).norm(),
    "add of two dtypes": lambda m, r: r(3, 4) + r(3, 4, dtype="float32"),
    "add in place": lambda m, r: r(3, 4).add_(r(3, 4, dtype="float32")), "relu": lambda m, r: r(3, 4).relu(),
    "bilinear": _f("bilinear", (3, 4), (3, 5), (2, 4, 5)), "where": lambda m, r: m.where(m.ones(3) > 0, r(3), r(3, dtype="float32")),
    "max_pool2d": _f("max_pool2d", (1, 2, 4, 4), kernel_size=2), "cosine_similarity": _f("cosine_similarity", (3, 4), (3, 4)),
    "layer_norm": lambda m, r: m.nn.LayerNorm(4)(r(3, 4)), "batch_norm": lambda m, r: m.nn.BatchNorm1d(4)(r(3, 4)),
    "embedding": lambda m, r: m.nn.Embedding(5, 4)(m.tensor([1, 2])), "trapezoid": _t("trapezoid", (3, 4)),
    "interpolate": _f("interpolate", (1, 1, 4, 4), scale_factor=2.0, mode="bilinear", align_corners=False),
}  # fmt: skip

LAYERS = {
    "Linear": _layer("Linear", 4, 5), "RNN": _layer("RNN", 4, 5), "GRU": _layer("GRU", 4, 5), "LSTM": _layer("LSTM", 4, 5),
    "LSTM of two layers": _layer("LSTM", 4, 5, 2, bidirectional=True), "GRU of two layers": _layer("GRU", 4, 5, 2, bidirectional=True),
    "LSTM projected": _layer("LSTM", 4, 5, proj_size=3), "RNN packed": _packed("RNN"), "GRU packed": _packed("GRU"),
    "LSTM packed": _packed("LSTM"), "GRU from a state": lambda m, r: m.nn.GRU(4, 5)(r(3, 2, 4), r(1, 2, 5, dtype="float32")),
    "RNNCell": _layer("RNNCell", 4, 5, shapes=((3, 4),)), "GRUCell": _layer("GRUCell", 4, 5, shapes=((3, 4),)),
    "LSTMCell": _layer("LSTMCell", 4, 5, shapes=((3, 4),)), "attention layer": _attention(),
    "attention layer without weights": _attention(weights=False), "attention layer, mask": _attention("float32"),
    "attention layer, bool mask": _attention("bool"), "attention layer, mask, no weights": _attention("float32", False),
    "attention layer, learned pairs": _attention(add_bias_kv=True, add_zero_attn=True),
    "encoder layer": _layer("TransformerEncoderLayer", 4, 2, 8, dropout=0.0),
    "decoder layer": _layer("TransformerDecoderLayer", 4, 2, 8, dropout=0.0, shapes=((3, 2, 4), (5, 2, 4))),
}  # fmt: skip

CALLS = PRODUCTS | CONVOLUTIONS | IN_FLOAT32 | WIDEST | AS_THEY_ARE | LAYERS
