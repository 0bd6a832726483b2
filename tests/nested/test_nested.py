"""Nested tensors beyond single calls: derivatives checked by numbers, attention, layers, writes, files, warnings."""

import copy
import io
import pickle
import warnings

import pytest

import rushlight as torch
from rushlight.nested import strided
from rushlight.nn import functional as F

OFFSETS = torch.tensor([0, 2, 2, 5])


@pytest.fixture(autouse=True)
def _warned(monkeypatch):
    monkeypatch.setattr(strided, "_warned", [True])


def jagged(values, offsets=OFFSETS):
    return torch.nested.nested_tensor_from_jagged(values, offsets, min_seqlen=0, max_seqlen=3)


def numbers(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


FUNCTIONS = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1)[::2],
    "sum of the last": lambda x: x.sum(2),
    "amax": lambda x: x.amax(2),
    "softmax over lengths": lambda x: x.softmax(1),
    "padded": lambda x: x.to_padded_tensor(0.5, (3, 4, 2)),
    "cut off": lambda x: x.to_padded_tensor(0.5, (3, 2, 2)),
    "layer norm": lambda x: F.layer_norm(x, (2,)),
    "norm over lengths": lambda x: F.layer_norm(x, x.shape[1:]),
    "unbind": lambda x: x.unbind()[2],
    "select": lambda x: x[..., 1],
    "product": lambda x: x @ torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2),
    "by elements": lambda x: torch.matmul(x.transpose(1, 2), x),
    "broadcast": lambda x: x * torch.arange(6.0, dtype=torch.float64).reshape(3, 1, 2),
    "cat": lambda x: torch.cat([x, x * x], -1),
    "chunk": lambda x: x.chunk(2, -1)[1],
    "view": lambda x: x.view(3, -1, 2, 1).transpose(1, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_jagged_tensors(name):
    def run(values):
        found = FUNCTIONS[name](jagged(values))
        return found.values() if found.is_nested else found

    assert torch.autograd.gradcheck(run, (numbers(5, 2),))


STRIDED = {
    "linear": lambda x: F.linear(x, torch.arange(6.0, dtype=torch.float64).reshape(3, 2)),
    "transposed": lambda x: x.transpose(1, 2).contiguous(),
    "select": lambda x: x.select(2, 1) * 2,
    "chunk": lambda x: x.chunk(2, -1)[1] * 3,
    "softmax": lambda x: x.softmax(1),
    "bmm": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "padded": lambda x: x.to_padded_tensor(0.5),
    "unbind": lambda x: x.unbind()[1],
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "sum": lambda x: x.sum(-1, keepdim=True),
    "norm": lambda x: F.layer_norm(x, (2,), *torch.ones(2, 2, dtype=torch.float64)),
    "reshaped": lambda x: x.reshape(2, -1, 2, 1),
}


@pytest.mark.parametrize("name", STRIDED)
def test_derivatives_of_strided_ones(name):
    def run(one, other):
        found = STRIDED[name](torch.nested.as_nested_tensor([one, other]))
        return found.values() if found.is_nested else found

    assert torch.autograd.gradcheck(run, (numbers(2, 2), numbers(3, 2)))


def test_second_derivatives():
    def run(values):
        return jagged(values).softmax(1).values()

    assert torch.autograd.gradgradcheck(run, (numbers(5, 2),))


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_is_that_of_each_element(is_causal):
    values = numbers(5, 2, 4)
    x = jagged(values).transpose(1, 2)
    found = F.scaled_dot_product_attention(x, x, x, is_causal=is_causal)
    for part, own in zip(found.transpose(1, 2).unbind(), jagged(values).unbind()):
        heads = own.transpose(0, 1)
        expected = F.scaled_dot_product_attention(heads, heads, heads, is_causal=is_causal)
        torch.testing.assert_close(part.transpose(0, 1), expected)
    found.values().square().sum().backward()
    assert values.grad.isfinite().all()
    assert values.grad.abs().sum() > 0


def test_attention_to_other_lengths():
    query, key = numbers(5, 2, 4), numbers(6, 2, 4)
    q, k = jagged(query).transpose(1, 2), jagged(key, torch.tensor([0, 1, 3, 6])).transpose(1, 2)
    found = F.scaled_dot_product_attention(q, k, k).transpose(1, 2).unbind()
    assert [part.shape[0] for part in found] == [2, 0, 3]
    heads = key[3:].transpose(0, 1)
    expected = F.scaled_dot_product_attention(query[2:].transpose(0, 1), heads, heads)
    torch.testing.assert_close(found[2].transpose(0, 1), expected)


def test_a_model_learns_on_jagged_batches():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(7, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1))
    words = torch.nested.nested_tensor([[1, 2], [3, 4, 5], [6]], layout=torch.jagged)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.1), []
    for _ in range(20):
        loss = (model(words).mean(1).squeeze(1) - torch.tensor([0.0, 1.0, 2.0])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_the_encoder_leaves_padding_out():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    src, padding = torch.randn(2, 4, 8), torch.tensor([[False, False, True, True], [False] * 3 + [True]])
    with torch.no_grad():
        found = encoder(src, src_key_padding_mask=padding)
        encoder.use_nested_tensor = False
        expected = encoder(src, src_key_padding_mask=padding)
    assert found.shape == src.shape
    assert (found[padding] == 0).all()
    torch.testing.assert_close(found[~padding], expected[~padding])


def test_a_write_is_seen_by_a_tensor_saved_for_backward():
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
    x = jagged(numbers(5, 2).detach())
    product = (x * weight).values().sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_writes_that_autograd_follows():
    values = numbers(5, 2)
    x = jagged(values).clone()
    x.mul_(3).add_(jagged(values))
    torch.testing.assert_close(x.values(), values * 4)
    (grad,) = torch.autograd.grad(x.values().sum(), values)
    assert (grad == 4).all()


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_writes_that_autograd_cannot_follow_are_refused(layout):
    leaf = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)], layout=layout, requires_grad=True)
    writes = {
        "the leaf": lambda x: leaf.add_(1),
        "an element": lambda x: x.unbind()[0].mul_(2),
        "an element by number": lambda x: x[1].mul_(2),
        "the values": lambda x: (x.values().mul_(2), x.grad_fn, x.sum(-1, keepdim=True)),
        "a transposed view": lambda x: x.transpose(1, 2).mul_(2),
        "a chunk": lambda x: x.chunk(3, -1)[0].mul_(2),
    }
    for name, write in writes.items():
        with pytest.raises((RuntimeError, NotImplementedError)):
            pytest.fail(f"{name}: {write(leaf * 2)}")


def test_a_view_of_a_leaf_is_not_written():
    values = numbers(5, 2)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        jagged(values).mul_(2)
    with torch.no_grad():
        jagged(values).zero_()
    assert (values == 0).all()


def test_gradients_accumulate_in_nested_leaves():
    for layout in (torch.jagged, torch.strided):
        x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout, requires_grad=True)
        for _ in range(2):
            (x * x).unbind()[1].sum().backward()
        parts = x.grad.unbind()
        assert [part.tolist() for part in parts] == [[0, 0], [4, 4, 4]]


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_copies(layout):
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(3, 3)], layout=layout, requires_grad=True)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for made in (torch.load(file), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert made.is_nested
        assert made.requires_grad
        assert made.layout is layout
        assert [part.tolist() for part in made.unbind()] == [part.tolist() for part in x.unbind()]


def test_files_whose_parts_do_not_fit_are_refused():
    from rushlight.ops.table import functions

    values, offsets = torch.ones(5), torch.tensor([0, 2, 9])
    with pytest.raises(ValueError, match="outside"):
        functions.jagged_from_parts(values, offsets, None, 1, {}, False)
    whole = torch.tensor([[3], [3]])
    with pytest.raises(ValueError, match="outside"):
        functions.strided_from_parts(values, whole, torch.ones_like(whole), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="negative"):
        functions.strided_from_parts(values, whole, torch.ones_like(whole), torch.tensor([-1, 2]))


def test_the_prototype_warning_comes_once(monkeypatch):
    monkeypatch.setattr(strided, "_warned", [])
    with pytest.warns(UserWarning, match="prototype"):
        torch.nested.nested_tensor([torch.ones(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.nested.nested_tensor([torch.ones(2)])
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)


def test_nothing_reads_a_nested_tensor_as_a_dense_one():
    import numpy as np

    for layout in (torch.jagged, torch.strided):
        x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
        for read in (np.asarray, lambda x: np.add(x._array, 1), lambda x: x.cumsum(1), lambda x: torch.kron(x, x)):
            with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
                read(x)
