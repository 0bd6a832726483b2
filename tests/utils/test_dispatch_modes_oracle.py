"""TorchDispatchMode: the native operations that calls are made of, beside PyTorch's, and each replayed by PyTorch."""

import gc
import threading

import pytest

import rushlight
import rushlight.utils._pytree
from rushlight.compat.inside.ops import aten
from rushlight.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_in_torch_dispatch_mode,
)

torch = pytest.importorskip("torch")
torch_dispatch = pytest.importorskip("torch.utils._python_dispatch")
LIBRARIES = {
    "rushlight": (rushlight, TorchDispatchMode, rushlight.utils._pytree),
    "torch": (torch, torch_dispatch.TorchDispatchMode, torch.utils._pytree),
}
UNSEEN = (
    "aten.detach.default",
    "aten.lift_fresh.default",
    "aten.ones_like.default",
    "aten._local_scalar_dense.default",
)

# Calls that are made of the same operations in both libraries.
SAME = """
F.linear(x, w, b) | F.linear(x, w) | F.linear(c, w, b) | x @ w.t() | p @ q | torch.bmm(p[0], q[0]) | torch.addmm(b, x, w.t(), beta=0.5)
x + 1 | 1 + x | x - x | 2 - x | x * 2 | x / 2 | torch.add(x, x, alpha=2) | x ** 2 | 2 ** x | x ** x | x == 1 | x == x | x > 0 | x % 2
torch.remainder(2, x) | torch.div(x, x, rounding_mode="floor") | torch.fmod(x, 2) | i & 1 | i | i ^ i | torch.bitwise_left_shift(i, 1) | torch.xlogy(x, 2)
torch.lerp(x, x, 0.5) | torch.lerp(x, x, x) | x.masked_fill(m, 1.0) | torch.where(m, x, x) | x.clamp(0, 1) | x.clamp(max=x) | x.round(decimals=1)
x.sum() | x.sum(1) | x.sum((0, 1), True) | x.mean() | x.mean(1, True) | x.max() | x.max(1) | x.min(1, True) | x.median(0) | x.prod(1)
x.all() | x.any(1) | m.all((0, 1)) | x.std(1) | torch.var_mean(x, 1) | x.logsumexp(1) | x.amax(1) | x.argmax(1) | x.cumsum(0) | x.cummax(0)
x.sort() | x.sort(0, True) | x.sort(stable=True) | x.topk(2) | x.kthvalue(1) | x.nonzero() | x.aminmax()
x[0] | x[:, 1:3] | x[j] | x[..., None] | x.reshape(24) | x.view(24) | x.t().reshape(24) | x.t().contiguous() | x.T | x.permute(1, 0) | x.flatten()
x.transpose(0, 1) | x.unsqueeze(0) | x[None].squeeze(0) | x[None].squeeze() | x.expand(2, 4, 6) | x.split(2) | x.chunk(2) | x.unbind(0)
x.split([1, 3]) | x.unfold(0, 2, 1) | x.diagonal() | x.tril() | x.flip(0) | x.roll(1, 0) | x.repeat(2, 2) | torch.cat([x, x]) | torch.stack([x, x])
x.gather(1, i) | x.index_select(0, j) | x.scatter(1, i, x) | x.scatter(1, i, 2.0) | x.scatter_add(1, i, x) | x.index_add(0, j, x[:2])
x.clone() | x.half() | x.to(torch.float64) | torch.zeros(2, 3) | torch.full((2,), 1.0) | torch.randn(2) | torch.randint(1, 3, (2,)) | torch.eye(3)
torch.arange(1, 4) | torch.arange(1, 7, 2) | torch.linspace(0, 1, 5) | torch.empty(2).fill_(2.0) | torch.zeros(2).zero_() | torch.zeros(2).add_(1)
torch.zeros(4, 6).copy_(i) | torch.zeros(4, 6).masked_fill_(m, 1.0) | torch.zeros(4, 6).index_put_((j,), b.detach()[0])
F.softmax(x, 1) | F.log_softmax(x, 1) | F.relu(x) | F.gelu(x) | F.silu(x) | F.leaky_relu(x, 0.2) | torch.sigmoid(x) | torch.exp(x) | x.abs()
F.nll_loss(x, t) | F.cross_entropy(x, t) | F.mse_loss(x, x) | F.mse_loss(x, x, reduction="sum") | F.huber_loss(x, x) | F.smooth_l1_loss(x, x)
F.binary_cross_entropy_with_logits(x, m.float()) | F.layer_norm(x, (6,)) | F.embedding(j, w) | F.group_norm(c, 2)
F.conv2d(k, f) | F.conv2d(k, f, padding=1, stride=2) | F.max_pool2d(k, 2, 2, 0, 1, True) | F.avg_pool2d(k, 2, 2) | F.adaptive_avg_pool2d(k, 2)
x.sort(dim=0, stable=True) | x.sort(stable=True, dim=1, descending=True) | x.std(1, keepdim=True) | x.sum(None, True) | m.all(dim=None, keepdim=True)
F.softmax(x, 1, dtype=torch.float64) | F.log_softmax(x, 1, dtype=torch.float64) | F.nll_loss(x[:, :, None, None], t[:, None, None])
x.scatter_reduce(1, i, x, "sum", include_self=False) | x.index_reduce(0, j, x[:2], "mean", include_self=False) | torch.add(m, m, alpha=False)
torch.searchsorted(s, s, right=True, out_int32=True)
F.relu(F.linear(x, w, b)).sum(1) | torch.linalg.inv_ex(s) | torch.dot(x[0], x[1]) | x.norm(dim=1)
"""
# Further calls, of which each operation is replayed: PyTorch divides them elsewhere.
DIVIDED = """
F.scaled_dot_product_attention(c, c, c) | h(x, x, x) | torch.einsum("ij,kj->ik", x, w) | F.dropout(x)
F.batch_norm(x, None, None, training=True) | x.norm() | x.var() | torch.where(m, x, 0.0) | x.std(1, unbiased=False)
F.cross_entropy(F.gelu(F.linear(x, w, b)), t).backward() | F.max_pool2d(k, 2).sum().backward() | F.softmax(x, 1).pow(2).sum().backward()
F.conv2d(k, f).tanh().sum().backward() | torch.fft.fft(x) | torch.linalg.svd(s) | torch.cdist(x, x) | F.one_hot(t) | torch.unique(i) | F.logsigmoid(x)
"""


def calls(text):
    return [each.strip() for line in text.strip().splitlines() for each in line.split(" | ")]


def names(library):
    """The tensors that the calls name, the same in both libraries."""
    numbers = rushlight.Generator().manual_seed(0)
    draw = lambda *size: library.tensor((rushlight.rand(*size, generator=numbers) + 0.5).tolist())
    whole = lambda high, *size: library.tensor(rushlight.randint(high, size, generator=numbers).tolist())
    found = {
        "x": draw(4, 6),
        "w": draw(5, 6),
        "b": draw(5),
        "c": draw(2, 4, 6),
        "p": draw(2, 3, 4, 5),
        "q": draw(2, 3, 5, 6),
    }
    found |= {"k": draw(1, 2, 5, 6), "f": draw(3, 2, 2, 2), "s": draw(3, 3)}
    for each in found.values():
        each.requires_grad_(True)
    found |= {"i": whole(4, 4, 6), "j": whole(4, 2), "t": whole(5, 4), "m": whole(2, 4, 6).bool()}
    found["h"] = library.nn.MultiheadAttention(6, 2)
    return found | {"torch": library, "F": library.nn.functional}


def seen(name, text):
    """What a mode sees of a call: operations, with their arguments told in Python."""
    library, mode, pytree = LIBRARIES[name]
    told = []

    def tell(value):
        if isinstance(value, library.Tensor):
            return f"Tensor{tuple(value.shape)}"
        return str(value).replace("rushlight", "torch") if type(value).__module__.split(".")[0] in LIBRARIES else value

    class Telling(mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = {key: value for key, value in (kwargs or {}).items() if key != "pin_memory"}
            if str(func) not in UNSEEN:
                told.append((str(func), pytree.tree_map(tell, args), pytree.tree_map(tell, kwargs)))
            return func(*args, **kwargs)

    given = names(library)
    with Telling():
        eval(text, given)
    return told


@pytest.mark.parametrize("text", calls(SAME))
def test_calls_are_made_of_pytorchs_operations(text):
    ours, theirs = seen("rushlight", text), seen("torch", text)
    assert [call[0] for call in ours] == [call[0] for call in theirs]
    assert [shapes(call[1]) for call in ours] == [shapes(call[1]) for call in theirs]


def shapes(arguments):
    """The tensors among arguments, as they are told."""
    flat = rushlight.utils._pytree.tree_leaves(arguments)
    return [each for each in flat if isinstance(each, str) and each.startswith("Tensor")]


def as_theirs(value):
    if isinstance(value, rushlight.Tensor):
        array = value.detach().contiguous().numpy()
        return torch.from_numpy(array.copy())
    if isinstance(value, rushlight.device):
        return torch.device(str(value))
    if isinstance(value, (rushlight.dtype, rushlight.memory_format)):
        return getattr(torch, str(value).partition(".")[2])
    return value


@pytest.mark.parametrize("text", calls(SAME) + calls(DIVIDED))
def test_pytorch_takes_each_operation_and_gives_the_same(text):
    """A mode that has PyTorch compute everything: what it gives is what our operations give."""
    pytree = rushlight.utils._pytree
    differing = []

    class Replaying(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            theirs = pytree.tree_map(as_theirs, (args, kwargs))  # before ours may write
            found = func(*args, **kwargs)
            if func.namespace == "aten" and not any(
                each in str(func) for each in ("rand", "bernoulli", "empty", "dropout", "svd")
            ):
                path, _, overload = str(func).removeprefix("aten.").partition(".")
                wanted = getattr(getattr(torch.ops.aten, path), overload)(*theirs[0], **theirs[1])
                pairs = zip(*([each] if not isinstance(each, (tuple, list)) else each for each in (found, wanted)))
                for mine, its in pairs:
                    if isinstance(mine, rushlight.Tensor):
                        same = mine.shape == its.shape and torch.allclose(
                            as_theirs(mine).to(its.dtype), its, 1e-4, 1e-5
                        )
                        differing.extend([] if same else [(str(func), theirs, mine, its)])
            return found

    given = names(rushlight)
    with Replaying():
        eval(text, given)
    assert not differing


def test_the_handler_decides_what_is_computed_and_autograd_goes_on():
    class Doubling(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = func(*args, **kwargs)
            return found * 2 if func is aten.exp.default else found

    x = rushlight.zeros(3, requires_grad=True)
    with Doubling():
        y = x.exp()
    assert y.tolist() == [2, 2, 2] and y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]  # of the result that was saved


def test_writes_and_views():
    names = []

    class Told(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **kwargs)

    leaf = rushlight.ones(2, 3, requires_grad=True)
    x = leaf * 1
    with Told():
        row = x[0]
        row.mul_(3)
        x.sum().backward()
    assert row._base is x and names[:2] == ["aten.select.int", "aten.mul_.Tensor"]
    assert leaf.grad.tolist() == [[3, 3, 3], [1, 1, 1]]


def test_modes_are_nested_and_the_outer_one_sees_what_the_inner_one_calls():
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((self.name, str(func), len(_get_current_dispatch_mode_stack())))
            return func(*args, **kwargs)

    outer, inner = Named("outer"), Named("inner")
    with outer, inner:
        assert _get_current_dispatch_mode() is inner and _get_current_dispatch_mode_stack() == [outer, inner]
        rushlight.ones(2).exp()
    calls = [f"aten.{name}.default" for name in ("ones", "exp")]
    assert order == [entry for call in calls for entry in (("inner", call, 1), ("outer", call, 0))]
    assert not is_in_torch_dispatch_mode() and gc.collect() >= 0


def test_what_a_handler_may_not_return():
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return self.found

    x = rushlight.ones(2)
    for found, kind, line in (
        (NotImplemented, TypeError, "Multiple dispatch failed"),
        ("a", RuntimeError, "Unable to cast Python instance"),
    ):
        mode = Wrong()
        mode.found = found
        with mode, pytest.raises(kind, match=line):
            x.exp()
    assert not is_in_torch_dispatch_mode()


def test_native_operations_that_are_public_nowhere():
    x, target = rushlight.rand(3, 4).log_softmax(1), rushlight.tensor([0, 1, 2])
    loss, weight = aten.nll_loss_forward.default(x, target, None, 1, -100)
    assert loss.item() == rushlight.nn.functional.nll_loss(x, target).item() and weight.item() == 3
    values, _ = aten.sort.stable(x, stable=True, dim=0, descending=True)
    assert rushlight.equal(values, x.sort(0, True)[0])
    with pytest.raises(TypeError, match=r"aten::nll_loss_forward\(\) is missing value for argument 'target'"):
        aten.nll_loss_forward.default(x)


def test_modes_of_other_threads_stay():
    """Where a thread leaves its own aside, and where another enters one meanwhile."""
    seen, inside, done = [], threading.Event(), threading.Event()

    class Told(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **kwargs)

    def other():
        with Told():
            inside.set()
            done.wait(10)
            rushlight.ones(2).exp()

    thread = threading.Thread(target=other)
    with Told():
        with _disable_current_modes() as modes:
            assert len(modes) == 1 and not is_in_torch_dispatch_mode()
            thread.start()
            inside.wait(10)
        assert is_in_torch_dispatch_mode()
        done.set()
        thread.join()
    assert seen == ["aten.ones.default", "aten.exp.default"] and not is_in_torch_dispatch_mode()
