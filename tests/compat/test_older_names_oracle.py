"""``torch.has_mkl`` and its like, ``torch._logging``, and ``torch.nn.attention.bias``, beside PyTorch's."""

import importlib
import logging
import math
import warnings

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")
BOTH = pytest.mark.parametrize("t", [rl, torch], ids=["rushlight", "torch"])


@BOTH
@pytest.mark.parametrize("name", ["has_mps", "has_cuda", "has_cudnn", "has_mkldnn", "set_vital"])
def test_replaced_flags(t, name):
    with pytest.warns(UserWarning, match=f"'{name}' is deprecated, please ") as seen:
        value = getattr(t, name)
    assert callable(value) if name == "set_vital" else isinstance(value, bool)
    if t is rl:
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            getattr(torch, name)
        assert str(seen[0].message) == str(theirs[0].message)


@BOTH
def test_flags(t):
    assert t.has_lapack and t.has_spectral and {type(t.has_mkl), type(t.has_openmp)} == {bool}


def logs_of(t):
    return rl._logging if t is rl else torch._logging


def refusal(t, **arguments):
    with pytest.raises((TypeError, ValueError)) as error:
        logs_of(t).set_logs(**arguments)
    return error.type, str(error.value)


@pytest.mark.parametrize(
    "arguments",
    [{"graph": 3}, {"modules": {"nosuchmodule": 10}}, {"dynamo": "x"}, {"nope": 3}, {"modules": {"guards": 1}}],
)
def test_logs_are_refused(arguments):
    assert refusal(rl, **arguments) == refusal(torch, **arguments)


@BOTH
def test_levels(t):
    names = "torch._dynamo", "torch.fx.experimental.recording", "json", "torch.onnx"
    logs = logs_of(t)
    found = []
    try:
        for arguments in ({"dynamo": logging.DEBUG, "graph_code": True}, {"modules": {"json": 20}, "onnx": 40}, {}):
            logs.set_logs(**arguments)
            found.append([logging.getLogger(name).level for name in names])
    finally:
        logs.set_logs()
    assert found == [[10, 10, 0, 0], [0, 0, 20, 40], [0, 0, 0, 0]]


@BOTH
def test_logs_of_what_is_made(t):
    logs = logs_of(t)
    assert logs.getArtifactLogger("a.b", "graph_code").name == "a.b.__graph_code"
    with pytest.raises(ValueError, match="Artifact name: 'x' not registered,please call"):
        logs.getArtifactLogger("a.b", "x")
    assert str(logs.LazyString("{}{b}".format, 1, b=2)) == "12"
    with pytest.warns(UserWarning) as seen:
        warnings.warn("shown", stacklevel=1)
        with logs.hide_warnings():
            warnings.warn("seen by a filter that says yes", stacklevel=1)
    assert len(seen) == 2


# ------------------------------------------------------------------ nn.attention.bias


def attention(t, variant, shape, **options):
    bias = importlib.import_module(f"{t.__name__}.nn.attention.bias")
    queries, keys = shape
    t.manual_seed(0)
    query = t.randn(2, 4, queries, 8, requires_grad=True)
    key, value = t.randn(2, 4, keys, 8), t.randn(2, 4, keys, 8)
    mask = getattr(bias, f"causal_{variant}")(*shape)
    found = t.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, **options)
    found.sum().backward()
    facts = repr(mask), int(mask.variant), mask.seq_len_q, mask.seq_len_kv, type(found) is t.Tensor
    return facts, found.tolist(), query.grad.tolist()


@pytest.mark.parametrize("variant", ["upper_left", "lower_right"])
@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (1, 6)])
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}])
def test_attention_under_a_bias(variant, shape, options):
    ours, theirs = attention(rl, variant, shape, **options), attention(torch, variant, shape, **options)
    assert ours[0] == theirs[0]
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        torch.testing.assert_close(torch.tensor(mine), torch.tensor(other), rtol=1e-4, atol=1e-5)


def bias_outcome(t, call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = repr(call(t, importlib.import_module(f"{t.__name__}.nn.attention.bias")))
        except Exception as error:
            found = type(error), str(error).splitlines()[0]
    return found, [str(warning.message) for warning in seen]


@pytest.mark.parametrize(
    "call",
    [
        lambda t, bias: bias.causal_lower_right(3),
        lambda t, bias: bias.causal_upper_left(3, 4, 5),
        lambda t, bias: bias.causal_lower_right(4, 3),
        lambda t, bias: bias.CausalBias(1, 3, 3),
        lambda t, bias: t.nn.functional.scaled_dot_product_attention(
            *[t.ones(1, 3, 2)] * 3, bias.causal_upper_left(3, 3), is_causal=True
        ),
        lambda t, bias: list(bias.CausalVariant),
        lambda t, bias: sorted(bias.__all__),
    ],
)
def test_biases_and_refusals(call):
    assert bias_outcome(rl, call) == bias_outcome(torch, call)


@BOTH
def test_a_query_that_sees_nothing(t):
    bias = importlib.import_module(f"{t.__name__}.nn.attention.bias")
    with pytest.warns(UserWarning, match="Lower right causal bias"):
        mask = bias.causal_lower_right(3, 2)
    found = t.nn.functional.scaled_dot_product_attention(t.ones(1, 1, 3, 2), *[t.ones(1, 1, 2, 2)] * 2, mask)
    assert not any(math.isnan(value) for value in found.flatten().tolist())
