"""Embeddings against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(8)
ARRAYS = {
    "w": draw.standard_normal((6, 3)),
    "i": np.array([[1, 5, 1], [0, 2, 2]]),
    "o": np.array([0, 2, 2, 5]),
    "s": draw.standard_normal((2, 3)),
}
CALLS = [
    "F.embedding(i, w)", "F.embedding(i[0, 0], w)", "F.embedding(i.int(), w)", "F.embedding(i, w, padding_idx=1)", "F.embedding(i, w, padding_idx=-4)",
    "F.embedding(i, w, scale_grad_by_freq=True)", "torch.embedding(w, i)", "F.embedding_bag(i, w)", "F.embedding_bag(i, w, mode='sum')",
    "F.embedding_bag(i, w, mode='max')", "F.embedding_bag(i.reshape(-1), w, o)", "F.embedding_bag(i.reshape(-1), w, o, mode='max')",
    "F.embedding_bag(i.reshape(-1), w, torch.tensor([0, 2, 6]), include_last_offset=True)", "F.embedding_bag(i, w, mode='sum', per_sample_weights=s)",
    "F.embedding_bag(i, w, padding_idx=2)", "F.embedding(i, w.detach().clone(), max_norm=1.0)", "F.embedding(i[:0], w)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=["w", "s"], double="freq" not in code)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("code", ["F.embedding(i, w)", "F.embedding_bag(i, w, mode='sum')"])
def test_halves(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, tracked=["w"], factor=2)


def test_node_name():
    assert node_name(rl, "F.embedding(i, w)", ARRAYS, ["w"]) == node_name(torch, "F.embedding(i, w)", ARRAYS, ["w"])


@pytest.mark.parametrize("code", [
    "F.embedding(i + 1, w)", "F.embedding(i - 1, w)", "F.embedding(i.float(), w)", "F.embedding(i.short(), w)", "F.embedding(i, w, padding_idx=9)",
    "F.embedding(i, w[0])", "F.embedding_bag(i[0], w)", "F.embedding_bag(i, w, mode='foo')", "F.embedding_bag(i + 1, w)",
    "F.embedding_bag(i[0], w, o + 1)", "F.embedding_bag(i.float(), w)", "F.embedding_bag(i[0, 0], w)", "F.embedding_bag(i, w.long())",
    "F.embedding_bag(i, w, per_sample_weights=s)", "F.embedding_bag(i, w, mode='sum', per_sample_weights=s[:1])",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) if array.dtype.kind == "f" else array for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


@pytest.mark.parametrize(
    "options", [{"padding_idx": 5}, {"padding_idx": -6}, {"mode": "sum", "per_sample_weights": "double"}]
)
def test_refused_arguments_of_embedding_bag(options):
    messages = []
    for library in (rl, torch):
        given = {key: library.ones(2, 3).double() if value == "double" else value for key, value in options.items()}
        with pytest.raises(RuntimeError) as refused:
            library.nn.functional.embedding_bag(library.tensor([[1, 3, 2], [0, 2, 1]]), library.ones(4, 3), **given)
        messages.append(str(refused.value).splitlines()[0])
    assert messages[0] == messages[1]
