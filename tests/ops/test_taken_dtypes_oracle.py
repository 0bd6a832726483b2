"""Which dtypes are taken, also by calls on nothing, for which PyTorch starts no kernel; and tensors of PyTorch itself."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

DTYPES = (
    *("bool", "uint8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
EMPTY = ((0, 0), (3, 0, 0), (0, 3, 3))
DECOMPOSITIONS = (
    *("cholesky", "cholesky_ex", "eigh", "eigvalsh", "eig", "svd", "svdvals", "qr", "lu", "lu_factor", "lu_factor_ex"),
    *("ldl_factor", "ldl_factor_ex", "det", "slogdet", "inv", "matrix_norm"),
)


def _written(tensor, key, value):
    tensor = tensor.clone()
    tensor[key] = value
    return tensor


# Of a library, a tensor of ones of the dtype in question, and one of another dtype.
CALLS = {
    "softmax": lambda t, x, y: t.softmax(x, 0),
    "log_softmax": lambda t, x, y: t.log_softmax(x, -1),
    "cummax": lambda t, x, y: t.cummax(x, 0),
    "cummin": lambda t, x, y: t.cummin(x, 0),
    "mode": lambda t, x, y: t.mode(x, 0),
    "kthvalue": lambda t, x, y: t.kthvalue(x, 1, 0),
    "bucketize": lambda t, x, y: t.bucketize(x, t.arange(3.0)),
    "bucketize among": lambda t, x, y: t.bucketize(y, x.flatten()),
    "searchsorted": lambda t, x, y: t.searchsorted(x.flatten(), x.flatten()),
    "clamp": lambda t, x, y: t.clamp(x, 0, 1),
    "clamp to": lambda t, x, y: t.clamp(y, x, x),
    "clamp_min": lambda t, x, y: t.clamp_min(y, x),
    "clamp_max": lambda t, x, y: t.clamp_max(x, y),
    "mvlgamma": lambda t, x, y: t.mvlgamma(x, 1),
    "cdist": lambda t, x, y: t.cdist(x, x),
    "ormqr": lambda t, x, y: t.ormqr(x, x[0], x),
    "ormqr of two": lambda t, x, y: t.ormqr(x, y[0], x),
    "ldl_solve": lambda t, x, y: t.linalg.ldl_solve(x, t.ones(x.shape[:-1], dtype=t.int32), x),
    "ldl_solve of two": lambda t, x, y: t.linalg.ldl_solve(x, t.ones(x.shape[:-1], dtype=t.int32), y),
    "triangular_solve": lambda t, x, y: t.triangular_solve(x, y),
    "vander": lambda t, x, y: t.linalg.vander(x),
    "matrix_norm": lambda t, x, y: t.linalg.matrix_norm(x, 2),
    "matrix_norm of sums": lambda t, x, y: t.linalg.matrix_norm(x, 1),
    "bmm": lambda t, x, y: t.bmm(x[None], y[None]),
    "baddbmm": lambda t, x, y: t.baddbmm(y[None], x[None], x[None]),
    "huber_loss": lambda t, x, y: t.nn.functional.huber_loss(x, y),
    "huber_loss, reversed": lambda t, x, y: t.nn.functional.huber_loss(y, x, reduction="none"),
    "hinge_embedding_loss": lambda t, x, y: t.nn.functional.hinge_embedding_loss(x, -y, 1.5, reduction="sum"),
    "gaussian_nll_loss": lambda t, x, y: t.nn.functional.gaussian_nll_loss(y, y, x),
    "nll_loss": lambda t, x, y: t.nn.functional.nll_loss(y, t.zeros(x.shape[0], dtype=t.int64), weight=x[0]),
    "multi_margin_loss": lambda t, x, y: t.nn.functional.multi_margin_loss(y, t.zeros(y.shape[0]).to(x.dtype)),
    "multi_margin_loss, weighted": lambda t, x, y: t.nn.functional.multi_margin_loss(
        y, t.zeros(y.shape[0], dtype=t.int64), weight=x[0]
    ),
    "multilabel_margin_loss": lambda t, x, y: t.nn.functional.multilabel_margin_loss(y, x - x),
    "soft_margin_loss": lambda t, x, y: t.nn.functional.soft_margin_loss(y, x),
    "poisson_nll_loss": lambda t, x, y: t.nn.functional.poisson_nll_loss(y, x, full=True),
    "addr of a number": lambda t, x, y: t.addr(x[0, 0], y[0], y[0]),
    "interpolate": lambda t, x, y: t.nn.functional.interpolate(x[None, None], size=4),
    "interpolate, smoothed": lambda t, x, y: t.nn.functional.interpolate(
        x[None, None], size=2, mode="bilinear", antialias=True
    ),
    "masked.logaddexp": lambda t, x, y: t.masked.logaddexp(x, x, input_mask=x == x),
    "cosine_similarity": lambda t, x, y: t.nn.functional.cosine_similarity(x / 3, y, -1),
    "layer_norm": lambda t, x, y: t.nn.functional.layer_norm(x, x.shape[-1:]),
    "hardtanh": lambda t, x, y: t.nn.functional.hardtanh(x, -0.5, 0.5),
    "hardtanh from below": lambda t, x, y: t.nn.functional.hardtanh(x, -1.5, 1.5),
    "max_pool1d": lambda t, x, y: t.nn.functional.max_pool1d(x[None], 1),
    "avg_pool3d": lambda t, x, y: t.nn.functional.avg_pool3d(x[None, None, None], 1),
    "conv_transpose1d": lambda t, x, y: t.nn.functional.conv_transpose1d(x[None], x[..., None]),
    "scatter_reduce": lambda t, x, y: x.scatter_reduce(0, t.zeros(x.shape, dtype=t.int64), x, "amax"),
    "scatter_reduce to means": lambda t, x, y: x.scatter_reduce(0, t.zeros(x.shape, dtype=t.int64), x, "mean"),
    "index_reduce": lambda t, x, y: t.index_reduce(x, 0, t.zeros(x.shape[0], dtype=t.int64), x, "amin"),
    "index_reduce of rows": lambda t, x, y: t.index_reduce(x[0], 0, t.zeros(3, dtype=t.int64), x[0], "amax"),
    "index_reduce anew": lambda t, x, y: x.index_reduce(0, t.zeros(3, dtype=t.int64), x, "amin", include_self=False),
    "bilinear": lambda t, x, y: t.nn.functional.bilinear(x, x, x[None]),
    "bilinear, nothing": lambda t, x, y: t.nn.functional.bilinear(x[:0], x[:0], x[None]),
    "linear": lambda t, x, y: t.nn.functional.linear(x, x, x[0]),
    "linear of batches": lambda t, x, y: t.nn.functional.linear(x[None], x, x[0]),
    "linear, bias of another dtype": lambda t, x, y: t.nn.functional.linear(x[None].mT, x, y[0]),
    "linear, bias": lambda t, x, y: t.nn.functional.linear(y[None].mT, y, x[0]),
    "linear, bias of a dense batch": lambda t, x, y: t.nn.functional.linear(y[None], y, x[0]),
    "matmul of batches": lambda t, x, y: x[None] @ x,
    "matmul of a batch and a vector": lambda t, x, y: x[None] @ x[0],
    "addmm of nothing": lambda t, x, y: t.addmm(x[:, :0], x, x[:, :0]),
    "baddbmm of nothing": lambda t, x, y: t.baddbmm(x[None, :0], x[None, :0], x[None]),
    "inner": lambda t, x, y: t.inner(x[0], x[0]),
    "inner of columns": lambda t, x, y: t.inner(x[:, 0], x[:, 1]),
    "inner of nothing": lambda t, x, y: t.inner(x[0, :0], x[0, :0]),
    "tensordot of all": lambda t, x, y: t.tensordot(x, x, 2),
    "tensordot of all, turned": lambda t, x, y: t.tensordot(x, x, [[0, 1], [1, 0]]),
    "tensordot to one element": lambda t, x, y: t.tensordot(x[..., None], x, [[0, 1], [1, 0]]),
    "tensordot of numbers": lambda t, x, y: t.tensordot(x[0, 0], x[0, 0], 0),
    "clamp from a tensor": lambda t, x, y: t.clamp(x, min=x),
    "clamp up to a tensor": lambda t, x, y: x.clone().clamp_(max=x),
    "clamp from a bool": lambda t, x, y: t.clamp(x, min=True),
    "clamp_max of a bool": lambda t, x, y: t.clamp_max(x, False),
    "clamp between bools": lambda t, x, y: t.clamp(x, False, True),
    "addcdiv": lambda t, x, y: t.addcdiv(y, x, x),
    "smooth_l1_loss, absolute": lambda t, x, y: t.nn.functional.smooth_l1_loss(y, x, beta=0),
    "soft_margin_loss that overflows": lambda t, x, y: t.nn.functional.soft_margin_loss(
        -50 * y.half(), x, reduction="none"
    ),
    "mse_loss that overflows": lambda t, x, y: t.nn.functional.mse_loss(300 * y.half(), x),
    "l1_loss": lambda t, x, y: t.nn.functional.l1_loss(y, x / 3),
    "lu_solve of nothing": lambda t, x, y: t.linalg.lu_solve(x, t.ones(3, dtype=t.int32), x[:, :0]),
    "lu_solve of no batch": lambda t, x, y: t.linalg.lu_solve(
        x.expand(0, 3, 3), t.ones(0, 3, dtype=t.int32), x.expand(0, 3, 3)
    ),
    "embedding_bag": lambda t, x, y: t.nn.functional.embedding_bag(t.tensor([0, 1]), y, x[0, :1].fill_(0)),
    "embedding_bag of other numbers": lambda t, x, y: t.nn.functional.embedding_bag(
        x[0], t.ones(3, 2), t.tensor([0, 2])
    ),
    "write through a number and a mask": lambda t, x, y: _written(y, (t.tensor(1), y[0] > 0), x[0, 0]),
    "write through a number and positions": lambda t, x, y: _written(y, (t.tensor(1), t.tensor([1])), x[0, 0]),
    "masked cumsum": lambda t, x, y: t.masked.cumsum(x, 0),
    "stft": lambda t, x, y: t.stft(x.flatten(), 4, return_complex=True, center=False, onesided=False).abs(),
    "narrow": lambda t, x, y: t.narrow(y, 0, x[0, 0], 1),
    "xlogy": lambda t, x, y: t.xlogy(x / 3, x / 7),
    "div": lambda t, x, y: t.div(x / 3, x / 21, rounding_mode="trunc"),
}

TWICE_WRONG = {("bmm", "bool"), ("stft", "bool"), ("linear, bias of another dtype", "bool")}


def _outcome(library, call, *arguments):
    """The dtypes, shapes and numbers of the results, or the first line of the error."""
    try:
        found = call(library, *arguments)
    except (RuntimeError, TypeError, IndexError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    parts = found if isinstance(found, tuple) else (found,)
    # Positions among equal elements are free.
    numbers = [part for part in parts if part.dtype is not library.int64 or len(parts) == 1]
    return [(str(part.dtype), tuple(part.shape)) for part in parts], [
        np.round(np.array(part.tolist()) * 1.0, 3) + 0 for part in numbers
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_calls_take_and_refuse_the_same_dtypes(name, dtype):
    if (name, dtype) in TWICE_WRONG:
        pytest.skip("refused for two reasons, here for the other one")
    ours, theirs = (_outcome(t, CALLS[name], t.ones(3, 3, dtype=getattr(t, dtype)), t.ones(3, 3)) for t in (rl, torch))
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decompositions_of_nothing_take_the_same_dtypes(name, dtype):
    for shape in EMPTY:

        def call(library):
            return getattr(library.linalg, name)(library.zeros(shape, dtype=getattr(library, dtype)))

        assert str(_outcome(rl, call)) == str(_outcome(torch, call))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_without_an_index(shape, accumulate):
    for values in ((), (1,), shape, (5,)):
        for dtype in ("float32", "int64"):

            def call(library):
                value = library.ones(values, dtype=getattr(library, dtype))
                return library.zeros(shape).index_put_((), value, accumulate=accumulate)

            assert str(_outcome(rl, call)) == str(_outcome(torch, call))


@pytest.mark.parametrize("key", ["None, i", "i, None", "None,"])
def test_index_put_takes_tensors_alone(key):
    call = lambda t: t.zeros(3, 3).index_put(eval(f"({key})", {"i": t.tensor(1)}), t.tensor(1.0))
    assert str(_outcome(rl, call)) == str(_outcome(torch, call))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: rl.add(x, 1),
        lambda x: rl.ones(2) + x,
        lambda x: x + rl.ones(2),
        lambda x: rl.ones(2) @ x,
        lambda x: rl.nn.functional.relu(x),
        lambda x: rl.softmax(x, 0),
        lambda x: rl.cat([x]),
        lambda x: rl.ones(2).copy_(x),
        lambda x: torch.add(rl.ones(2), x),
    ],
)
@pytest.mark.parametrize("made", [torch.ones, lambda n: torch.nn.Parameter(torch.ones(n))])
def test_tensors_of_pytorch_are_refused(call, made):
    with pytest.raises(TypeError):
        call(made(2))


@pytest.mark.parametrize("name", ["elu", "celu", "selu"])
@pytest.mark.parametrize("at", [0.0, -0.0, 0.5, -0.5])
def test_second_slopes_where_two_pieces_meet(name, at):
    found = []
    for t in (rl, torch):
        x = t.tensor(at, requires_grad=True)
        (slope,) = t.autograd.grad(getattr(t.nn.functional, name)(x), x, create_graph=True)
        found.append(t.autograd.grad(slope, x)[0].item())
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
@pytest.mark.parametrize("bias_shape", [(3,), (1,), (), (1, 3), (2, 3), "expanded"])
def test_a_layer_whose_bias_has_another_dtype(shape, bias_shape):
    """It is taken where PyTorch adds the bias in an operation of its own."""

    def call(t, dtype, is_turned):
        x, weight = t.arange(float(np.prod(shape))).reshape(shape), t.arange(12.0).reshape(3, 4)
        bias = t.ones(1).expand(3) if bias_shape == "expanded" else t.ones(bias_shape)
        x = x.transpose(0, -1).contiguous().transpose(0, -1) if is_turned else x
        try:
            found = t.nn.functional.linear(x, weight, bias.to(getattr(t, dtype)))
            return str(found.dtype), found.tolist()
        except RuntimeError as error:
            return str(error).splitlines()[0]

    for dtype in ("float32", "float64", "int64", "bool", "float16"):
        for is_turned in (False, True):
            assert call(rl, dtype, is_turned) == call(torch, dtype, is_turned), (dtype, is_turned)
