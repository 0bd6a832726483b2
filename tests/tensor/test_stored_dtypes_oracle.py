"""float8 and complex32: what is stored, moved, converted and refused, beside PyTorch."""

import copy
import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
STORED = (*FLOAT8, "complex32")
pytestmark = [
    pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning"),
    pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning"),
    pytest.mark.filterwarnings("ignore:Casting complex values:RuntimeWarning"),
]


def bits(tensor, module):
    """The memory of a tensor, row by row."""
    return np.array(tensor.detach().resolve_conj().contiguous().reshape(-1).view(module.uint8).tolist(), np.uint8)


def told(expression, name, **values):
    """What an expression gives in each library: type, dtype, shape and memory, or the error's type and first line."""
    found = []
    for module in (torch, rushlight):
        a = module.tensor([[1.0, 2.5], [0.3, 4.0]]).to(getattr(module, name))
        b = module.tensor([[3.0, 0.5], [0.1, 7.0]]).to(getattr(module, name))
        names = {"torch": module, "a": a, "b": b, "d": getattr(module, name), "F": module.nn.functional, **values}
        try:
            result = eval(expression, names)
        except Exception as error:
            found.append((type(error), str(error).splitlines()[0].split(" (Triggered")[0]))
            continue
        if isinstance(result, module.Tensor):
            result = str(result.dtype), tuple(result.shape), bits(result, module).tolist()
        found.append(result if isinstance(result, (tuple, list, bool, int, float, complex)) else repr(result))
    return found


CREATED = """
torch.zeros(3, dtype=d)
torch.ones(2, 2, dtype=d)
torch.full((2,), 1.5, dtype=d)
torch.full((2,), 1000, dtype=d)
torch.full((2,), float("inf"), dtype=d)
torch.full((2,), float("nan"), dtype=d)
torch.full((2,), 1 + 2j, dtype=d)
torch.tensor([1.0, -2.5, 1000.0, 1e30, float("inf"), float("-inf")], dtype=d)
torch.tensor([1 + 1j], dtype=d)
torch.scalar_tensor(2, dtype=d)
torch.eye(2, dtype=d)
torch.randint(6, (0,), dtype=d)
torch.randint(6, (2,), dtype=d)
torch.randint(2, 6, (2,), dtype=d)
torch.arange(3, dtype=d)
torch.linspace(0, 1, 3, dtype=d)
torch.zeros_like(a)
torch.set_default_dtype(d)
torch.ones_like(a)
a.new_full((2,), 2.0)
torch.empty(2, dtype=d).shape
torch.tensor(a.tolist(), dtype=d)
""".strip().splitlines()

READ = """
a[0, 1].item()
a.tolist()
float(a[0, 0])
int(a[0, 0])
bool(a[0, 0])
a.item()
a.numpy()
a.is_floating_point()
a.is_complex()
a.dtype.itemsize
a.element_size()
a.untyped_storage().nbytes()
a.type()
torch.finfo(d)
torch.can_cast(d, torch.int8)
""".strip().splitlines()

MOVED = """
a.clone()
a.t().contiguous()
a[0]
a[:, 1]
a[torch.tensor([True, False])]
a[torch.tensor([1, 0, 1])]
a[[1, 0], [0, 1]]
a.reshape(4)
a.expand(3, 2, 2).contiguous()
a.repeat(2, 1)
a.roll(1)
torch.cat([a, b], 1)
torch.stack([a, b])
torch.cat([a, b.float()])
torch.where(a == a, a, b)
torch.where(a == b, a, 1.0)
a.index_select(0, torch.tensor([1]))
a.masked_select(torch.tensor([[True, False], [False, True]]))
a.flatten().split(3)[1]
a.unfold(1, 2, 1)
F.pad(a, (1, 1), value=1.25)
F.pad(a[None], (1, 1), mode="circular")
F.embedding(torch.tensor([1, 0]), a)
a.diag_embed()
a.flatten().diag()
a.select_scatter(b[0], 0, 1)
a.view(torch.uint8)
a.view(torch.int8)
a.copy_(b)
a.copy_(torch.tensor([[1.3, -2.0], [9e9, 0.0]]))
a.fill_(2)
a.zero_()
a.__setitem__((0, 1), 3.3) or a
a.__setitem__(0, b[1]) or a
a.index_put_((torch.tensor([0]),), b[:1])
a.to(torch.float32)
a.to(torch.float16)
a.to(torch.int32)
a.bool()
a.to(torch.complex64)
a.to(torch.float8_e5m2)
a.half().to(d)
a.double().to(d)
a.int().to(d)
""".strip().splitlines()

COMPUTED = """
a + b
a + 1.5
a - b
a * b
a * 2
a * b[0, 0]
b[0, 0] * a
a / b
a / 2
-a
a == b
a != 1
a < b
a.abs()
a.sum()
a.sum(dtype=torch.float32)
a.mean()
a.max()
a.max(0)
a.sort()
a.argmax()
a.cumsum(0)
a.exp()
a.sqrt()
a.sin()
a.clamp(0, 1)
a.any()
a.all()
a.isnan()
a.isinf()
a.isfinite()
a @ b
F.linear(a, b)
F.linear(a, b, b[0])
a[0] @ b[0]
a @ b[0]
torch.bmm(a[None], b[None])
a.gather(0, torch.tensor([[0, 1]]))
a.scatter(0, torch.tensor([[0, 1]]), b)
a.masked_fill(torch.tensor([True, False]), 1)
a.index_fill(0, torch.tensor([0]), 1)
a.take(torch.tensor([0]))
a.unique()
a.nonzero()
a.tril()
F.relu(a)
F.softmax(a, 1)
F.softmax(a, 0, dtype=torch.float64)
a.sigmoid()
a.random_()
torch.nan_to_num(a)
a.add_(b)
a.mul_(b)
torch.add(a, b, out=torch.empty(2, 2, dtype=d))
torch.promote_types(d, torch.float32)
torch.promote_types(d, torch.bool)
torch.result_type(a, b.float())
a + b.float()
a == b.float()
a.real
a.conj()
torch.view_as_real(a)
""".strip().splitlines()


# Moved as any other elements are.
TAKEN_HERE = {("float8_e8m0fnu", "a.index_put_((torch.tensor([0]),), b[:1])")}


@pytest.mark.parametrize("name", STORED)
def test_calls(name):
    differing = []
    for expression in (*CREATED, *READ, *MOVED, *COMPUTED):
        expected, found = told(expression, name)
        if found != expected and (name, expression) not in TAKEN_HERE:
            differing.append((expression, expected, found))
    assert not differing


@pytest.mark.parametrize("name", STORED)
def test_printed(name):
    for expression in ("a", "a[0, 0]", "a.requires_grad_()", "torch.empty(0, dtype=d)", "(-a.float()).to(d)"):
        expected, found = (
            repr(
                eval(
                    expression,
                    {"torch": m, "a": m.tensor([[1.0, 2.5], [0.3, 4.0]]).to(getattr(m, name)), "d": getattr(m, name)},
                )
            )
            for m in (torch, rushlight)
        )
        assert found == expected


@pytest.mark.parametrize("name", STORED)
@given(st.lists(st.floats(width=32), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_conversions(name, numbers):
    array = np.array(numbers, np.float32)
    for kind in (np.float32, np.float64, np.float16):
        with np.errstate(all="ignore"):
            source = array.astype(kind)
        expected, found = (m.from_numpy(source).to(getattr(m, name)) for m in (torch, rushlight))
        numbers_of = [
            t.to(m.complex64 if name == "complex32" else m.float32) for t, m in ((expected, torch), (found, rushlight))
        ]
        assert np.array_equal(*[np.array(t.tolist()) for t in numbers_of], equal_nan=True)


def test_every_byte():
    for name in FLOAT8:
        every = [m.arange(256, dtype=m.uint8).view(getattr(m, name)) for m in (torch, rushlight)]
        for goal in ("float32", "float64", "float16", "bfloat16", "complex64", *FLOAT8):
            expected, found = (
                x.to(getattr(m, goal)).float() if "complex" not in goal else x.to(m.complex64).real
                for x, m in zip(every, (torch, rushlight))
            )
            assert np.array_equal(expected.numpy(), found.numpy(), equal_nan=True), (name, goal)


@pytest.mark.parametrize("name", STORED)
def test_files(name):
    safetensors = pytest.importorskip("safetensors.torch") if name != "complex32" else None
    expected, found = (m.tensor([[1.0, 2.5], [0.3, 4.0]]).to(getattr(m, name)) for m in (torch, rushlight))
    for source, reader, module in ((expected, rushlight, torch), (found, torch, rushlight)):
        file = io.BytesIO()
        module.save({"x": source, "p": module.nn.Parameter(source, requires_grad=False)}, file)
        file.seek(0)
        read = reader.load(file)
        for tensor in read.values():
            assert tensor.dtype is getattr(reader, name)
            assert np.array_equal(bits(tensor, reader), bits(expected, torch))
    assert np.array_equal(bits(copy.deepcopy(found), rushlight), bits(expected, torch))
    if safetensors is None:
        with pytest.raises(ValueError, match=r"safetensors has no dtype for torch\.complex32"):
            rushlight.serialization.save_safetensors({"x": found}, "never written")


@pytest.mark.parametrize("name", FLOAT8)
def test_safetensors(name, tmp_path):
    library = pytest.importorskip("safetensors.torch")
    expected, found = (m.tensor([[1.0, 2.5], [0.3, 4.0]]).to(getattr(m, name)) for m in (torch, rushlight))
    library.save_file({"x": expected}, tmp_path / "a")
    rushlight.serialization.save_safetensors({"x": found}, tmp_path / "b")
    assert np.array_equal(
        bits(rushlight.serialization.load_safetensors(tmp_path / "a")["x"], rushlight), bits(expected, torch)
    )
    assert np.array_equal(bits(library.load_file(tmp_path / "b")["x"], torch), bits(expected, torch))


@pytest.mark.parametrize("name", STORED)
def test_large(name):
    """Beyond the sizes from which kernels move and convert elements."""
    numbers = np.random.default_rng(0).normal(0, 300, (500, 400)).astype(np.float32)
    for act in (
        lambda x, m, d: x.to(d),
        lambda x, m, d: x.to(d).t().contiguous(),
        lambda x, m, d: m.cat([x.to(d), x.to(d)], 1),
        lambda x, m, d: x.to(d)[m.arange(499, -1, -3)],
        lambda x, m, d: x.t().to(d).clone(),
        lambda x, m, d: m.zeros(200_000, dtype=d),
        lambda x, m, d: m.full((200_000,), 3.0, dtype=d),
        lambda x, m, d: m.empty(500, 400, dtype=d).copy_(x),
    ):
        expected, found = (act(m.from_numpy(numbers), m, getattr(m, name)) for m in (torch, rushlight))
        assert np.array_equal(
            expected.contiguous().view(torch.uint8).numpy(), found.contiguous().view(rushlight.uint8).numpy()
        )


def test_gradients_pass_conversions():
    """A conversion's gradient is converted back; a float8 leaf has one of its own dtype."""
    for name in ("float8_e4m3fn", "complex32"):
        results = []
        for m in (torch, rushlight):
            x = m.tensor([1.0, 2.0], requires_grad=True)
            (x.to(getattr(m, name)).to(m.float32 if name != "complex32" else m.complex64) * 3).sum().real.backward()
            leaf = m.tensor([1.0, 2.0]).to(getattr(m, name)).requires_grad_()
            leaf.to(m.float32).sum().backward()
            results.append((x.grad.tolist(), repr(leaf.grad)))
        assert results[0] == results[1]


def test_random_complex():
    for act in (
        lambda m: m.rand(5, dtype=m.complex32),
        lambda m: m.randn(30, dtype=m.complex32),
        lambda m: m.zeros(5, dtype=m.complex32).uniform_(),
        lambda m: m.zeros(20, dtype=m.complex32).normal_(),
    ):
        found = []
        for m in (torch, rushlight):
            m.manual_seed(3)
            found.append(act(m).tolist())
        assert found[0] == found[1]


def test_experimental_is_told_once():
    """PyTorch warns at the first complex32 tensor of a process."""
    program = "import warnings; warnings.simplefilter('always'); import {m} as t; t.zeros(1, dtype=t.complex32); t.zeros(1, dtype=t.complex32)"
    told = [
        subprocess.run([sys.executable, "-c", program.format(m=name)], capture_output=True, text=True).stderr.count(
            "UserWarning: ComplexHalf support"
        )
        for name in ("torch", "rushlight")
    ]
    assert told == [1, 1]


def test_optimizers_refuse():
    weight = rushlight.nn.Parameter(rushlight.ones(2).to(rushlight.float8_e5m2))
    weight.grad = rushlight.ones(2).to(rushlight.float8_e5m2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e5m2'"):
        rushlight.optim.SGD([weight], 0.1).step()
