"""vmap as PyTorch's: results, refusals and the first lines of errors, of the same calls in both."""

import functools
import warnings

import pytest

import rushlight as rl
import rushlight.func
from rushlight.tensor.interposers import INTERPOSERS

torch = pytest.importorskip("torch")


def outcome(story, module):
    """What a story gives with a module standing for torch: shapes, dtypes and values; or the error's type and first line."""
    module.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(story(module, module.func.vmap))
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            return type(error).__name__, str(error).split("\n")[0]


def plain(value):
    """A result as plain Python, to compare."""
    if hasattr(value, "requires_grad"):
        rounded = value.detach().double() if value.is_floating_point() else value
        numbers = [round(n, 4) if isinstance(n, float) else n for n in rounded.reshape(-1).tolist()]
        return tuple(value.shape), str(value.dtype), numbers
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def agree(story):
    found, expected = outcome(story, rl), outcome(story, torch)
    assert found == expected


def x(t):
    return t.arange(6.0).reshape(2, 3) + 0.5


def entries(t):
    return t.tensor([0, 2])


def dots(t, vmap):
    return vmap(vmap(t.dot, (None, 0)), (0, None))(x(t), x(t))


API = {
    "in_dims": lambda t, vmap: vmap(lambda a, b: a * b, in_dims=(1, None))(x(t), t.arange(2.0)),
    "negative in_dims": lambda t, vmap: vmap(lambda a: a.sum(), in_dims=-1)(x(t)),
    "nested containers": lambda t, vmap: vmap(
        lambda d, pair: {"sum": d["a"] + pair[0], "rest": [pair[1]]},
        in_dims=({"a": 0}, (1, None)),
        out_dims={"sum": 1, "rest": [0]},
    )({"a": x(t)}, (x(t).T, t.ones(2))),
    "out_dims": lambda t, vmap: vmap(lambda a: (a, a * 2), out_dims=(1, -1))(x(t)),
    "out_dims of one": lambda t, vmap: vmap(lambda a: a, out_dims=(1,))(x(t)),
    "out_dims None": lambda t, vmap: vmap(lambda a: (a, t.ones(2), 3), out_dims=(0, None, None))(x(t)),
    "constant result": lambda t, vmap: vmap(lambda a: t.ones(2), out_dims=1)(x(t)),
    "keyword arguments": lambda t, vmap: vmap(lambda a, k: a * k)(x(t), k=x(t)),
    "nested": dots,
    "nested over one": lambda t, vmap: vmap(vmap(lambda a, b: a - b, (None, 0)), (0, None))(x(t)[0], x(t)[1]),
    "chunks": lambda t, vmap: vmap(lambda a, b: (a + b, a.sum()), (1, None), (1, 0), chunk_size=2)(x(t), t.ones(2)),
    "chunks of all": lambda t, vmap: vmap(lambda a: a * 2, chunk_size=10)(x(t)),
    "empty": lambda t, vmap: vmap(lambda a: (a @ a.new_ones(3, 2)).sin())(t.ones(0, 3)),
    "method": lambda t, vmap: vmap(t.Tensor.sum)(x(t)),
    "partial": lambda t, vmap: vmap(functools.partial(t.add, alpha=3))(x(t), x(t)),
    "no inputs": lambda t, vmap: vmap(lambda: 1)(),
    "in_dims list": lambda t, vmap: vmap(lambda a: a, in_dims=[0])(x(t)),
    "in_dims None": lambda t, vmap: vmap(lambda a: a, in_dims=None)(x(t)),
    "in_dims all None": lambda t, vmap: vmap(lambda a: a, in_dims=(None,))(x(t)),
    "in_dims str": lambda t, vmap: vmap(lambda a: a, in_dims=("a",))(x(t)),
    "in_dims of a number": lambda t, vmap: vmap(lambda a, b: a)(x(t), 2),
    "in_dims outside": lambda t, vmap: vmap(lambda a: a, in_dims=2)(x(t)),
    "in_dims of partial": lambda t, vmap: vmap(functools.partial(lambda a, b: a, b=3), in_dims=(5,))(x(t)),
    "sizes": lambda t, vmap: vmap(lambda a, b: a)(x(t), t.ones(3)),
    "out_dims outside": lambda t, vmap: vmap(lambda a: a, out_dims=3)(x(t)),
    "out_dims str": lambda t, vmap: vmap(lambda a: a, out_dims="a")(x(t)),
    "out_dims float": lambda t, vmap: vmap(lambda a: a, out_dims=(0, 1.0))(x(t)),
    "returns None": lambda t, vmap: vmap(lambda a: None)(x(t)),
    "returns a number": lambda t, vmap: vmap(lambda a: (a, 3))(x(t)),
    "returns mapped as shared": lambda t, vmap: vmap(lambda a: a, out_dims=None)(x(t)),
    "chunk_size 0": lambda t, vmap: vmap(lambda a: a, chunk_size=0),
    "randomness": lambda t, vmap: vmap(lambda a: a, randomness="x"),
}


@pytest.mark.parametrize("name", API)
def test_interface(name):
    agree(API[name])


READ = ("item", "tolist", "numpy", "is_nonzero", "data_ptr", "untyped_storage", "__bool__", "__int__", "__float__",
        "__index__", "__complex__", "__array__", "nonzero", "unique", "unique_consecutive", "backward", "requires_grad_",
        "__len__", "__repr__", "is_contiguous")  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_asks_for_elements(name):
    def story(t, vmap):
        seen = []
        batch = x(t) if name in ("nonzero", "unique", "unique_consecutive", "tolist", "__len__") else t.tensor([1, 2])

        def function(entry):
            found = getattr(entry, name)()
            seen.append(found if isinstance(found, (int, str, bool)) else None)
            return entry

        return vmap(function)(batch), seen

    agree(story)


def write(index, value, dtype=None):
    """A story of an assignment to a copy of an entry."""

    def story(t, vmap):
        def function(a, i):
            a = a.clone()
            a[index(t, i)] = value(t, a, i)
            return a

        return vmap(function)(t.arange(24.0).reshape(2, 3, 4), entries(t))

    return story


def read(function, in_dims=0):
    """A story of a function of (2, 3, 4) numbers and two positions."""
    return lambda t, vmap: vmap(lambda a, i: function(t, a, i), in_dims)(t.arange(24.0).reshape(2, 3, 4), entries(t))


INDEXING = {
    "mapped position": read(lambda t, a, i: a[i]),
    "mapped position in a tuple": read(lambda t, a, i: a[i,]),
    "mapped row of positions": read(lambda t, a, i: a[t.stack([i, i - 1])]),
    "two mapped": read(lambda t, a, i: a[i, t.stack([i, i + 1])]),
    "second dimension": read(lambda t, a, i: a[:, i]),
    "second dimension, several": read(lambda t, a, i: a[:, t.stack([i, i, i + 1])]),
    "apart": read(lambda t, a, i: a[None, i, None, t.tensor([0, 1])]),
    "apart with a slice": read(lambda t, a, i: a.unsqueeze(1)[t.stack([i, i]), :, t.tensor([0, 1])]),
    "shared positions": read(lambda t, a, i: a[t.tensor([0, 2]), 1:]),
    "shared positions apart": read(lambda t, a, i: a.unsqueeze(1)[t.tensor([0, 2]), :, t.tensor([1, 1])]),
    "shared mask": read(lambda t, a, i: a[t.tensor([True, False, True])]),
    "shared tensor, mapped positions": read(lambda t, a, i: t.arange(5)[i]),
    "shared matrix, mapped columns": read(lambda t, a, i: t.arange(12).reshape(3, 4)[:, t.stack([i, i])]),
    "shared tensor, apart": read(lambda t, a, i: t.arange(24).reshape(3, 2, 4)[t.stack([i, i]), :, t.tensor([0, 1])]),
    "negative": read(lambda t, a, i: a[i - 3]),
    "ellipsis": read(lambda t, a, i: a[..., i]),
    "mapped with None": read(lambda t, a, i: a[None, i]),
    "mapped mask": read(lambda t, a, i: a[a > 2]),
    "shared tensor, mapped mask": read(lambda t, a, i: t.ones(3, 4)[a > 2]),
    "mapped slice": read(lambda t, a, i: a[i:]),
    "mapped float": read(lambda t, a, i: a[i.float()]),
    "take": read(lambda t, a, i: a.take(i)),
    "index_select": read(lambda t, a, i: a.index_select(1, t.stack([i, i]))),
    "masked_select": read(lambda t, a, i: a.masked_select(a > 2)),
    "masked_select, shared": read(lambda t, a, i: a.masked_select(t.tensor([True, False, True, True]))),
    "write a number": write(lambda t, i: i, lambda t, a, i: 7.0),
    "write a row": write(lambda t, i: i, lambda t, a, i: a[0] * 2),
    "write to a column": write(lambda t, i: (slice(None), i), lambda t, a, i: a[:, 0] * 2),
    "write to several": write(lambda t, i: t.stack([i, i - 1]), lambda t, a, i: a[:2] * 2),
    "write apart": write(lambda t, i: (None, i, None, t.tensor([0, 1])), lambda t, a, i: t.tensor([[[5.0]], [[6.0]]])),
    "write by a shared key": write(lambda t, i: t.tensor([0, 2]), lambda t, a, i: i.float()),
    "write by a shared mask": write(lambda t, i: t.tensor([True, False, True]), lambda t, a, i: i.float()),
    "write to a view": write(lambda t, i: (1, slice(1, 3)), lambda t, a, i: i.float()),
    "index_put": read(lambda t, a, i: a.index_put((t.stack([i, i]),), t.tensor(1.0), accumulate=True)),
    "index_put, shared": read(lambda t, a, i: t.zeros(3, 4).index_put((i.reshape(1),), a[:1])),
    "index_put_": read(lambda t, a, i: a.clone().index_put_((t.tensor([0, 1]), i.reshape(1)), a[0, :2], accumulate=True)),
    "one_hot": read(lambda t, a, i: t.nn.functional.one_hot(i, 3)),
    "one_hot of unknown size": read(lambda t, a, i: t.nn.functional.one_hot(i)),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name):
    agree(INDEXING[name])


def test_positions_that_do_not_exist():
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        rl.func.vmap(lambda a, i: a[i])(rl.ones(2, 3), rl.tensor([0, 3]))


def shared(function):
    """A story of a write into a tensor that all entries share."""
    return lambda t, vmap: vmap(lambda a: function(t, t.ones(3), a))(x(t))


REFUSED_WRITES = {
    "mul_": shared(lambda t, y, a: y.mul_(a)),
    "copy_": shared(lambda t, y, a: y.copy_(a)),
    "masked_fill_": shared(lambda t, y, a: y.masked_fill_(a > 1, 2.0)),
    "fill_": shared(lambda t, y, a: y.fill_(a[0])),
    "index_add_": shared(lambda t, y, a: y.index_add_(0, t.tensor([0, 1]), a[:2])),
    "index_put_": shared(lambda t, y, a: y.index_put_((t.tensor([0, 1]),), a[:2])),
    "scatter_": shared(lambda t, y, a: y.scatter_(0, t.tensor([0, 1]), a[:2])),
    "assignment": shared(lambda t, y, a: y.__setitem__(1, a[0])),
    "data": shared(lambda t, y, a: a.data),
    "assigned data": shared(lambda t, y, a: setattr(a, "data", y)),
}


@pytest.mark.parametrize("name", REFUSED_WRITES)
def test_writes_that_are_refused(name):
    agree(REFUSED_WRITES[name])


WRITES = {
    "add_": lambda t, vmap: vmap(lambda a, b: a.add_(b))(x(t), x(t)),
    "add_ of a shared one": lambda t, vmap: vmap(lambda a, b: a.add_(b), (0, None))(x(t), t.ones(3)),
    "new_zeros": lambda t, vmap: vmap(lambda a: a.new_zeros(2).copy_(a[:2]))(x(t)),
    "new_full": lambda t, vmap: vmap(lambda a: a.new_full((2,), 1.0).add_(a[:2]))(x(t)),
    "zeros_like": lambda t, vmap: vmap(lambda a: t.zeros_like(a).copy_(a))(x(t)),
    "a view": lambda t, vmap: vmap(lambda a: [a[1:].zero_(), a][1])(x(t)),
    "a part": lambda t, vmap: vmap(lambda a: [a.split(1)[0].add_(1), a][1])(x(t)),
    "a diagonal": lambda t, vmap: vmap(lambda a: [a.diagonal().zero_(), a][1])(t.ones(2, 2, 2)),
    "the argument": lambda t, vmap: [b := x(t), vmap(lambda a: a.mul_(2))(b), b][1:],
    "squeeze_": lambda t, vmap: vmap(lambda a: a.squeeze_(0))(t.ones(1, 1, 2)),
    "unsqueeze_": lambda t, vmap: vmap(lambda a: a.unsqueeze_(0))(t.ones(1, 1, 2)),
    "transpose_": lambda t, vmap: vmap(lambda a: a.transpose_(0, 1))(t.ones(1, 3, 2)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    agree(WRITES[name])


DTYPES = ("float64", "float32", "float16", "int64", "int32", "bool", "complex64")


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("shapes", [((2,), (2, 3)), ((2, 3), (2,)), ((2,), (2,)), ((2, 3), (2, 3))])
def test_promotion_is_that_of_the_entries(first, second, shapes):
    a, b = (rl.ones(shape, dtype=getattr(rl, name)) for shape, name in zip(shapes, (first, second)))
    if rl.result_type(a[0], b[0]) is rl.complex32:
        return  # it is stored, not computed with
    for function in (rl.mul, rl.div, lambda p, q: rl.where(p == q, p, q), rl.eq, rl.logical_and):
        found, expected = rl.func.vmap(function)(a, b), function(a[0], b[0])
        assert found.dtype is expected.dtype and found.shape[1:] == expected.shape


def test_errors_leave_no_level_behind():
    def fails(entry):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        rl.func.vmap(fails)(rl.ones(2))
    with pytest.raises(RuntimeError):
        rl.func.vmap(lambda a: a.reshape(5))(rl.ones(2, 3))
    assert not INTERPOSERS


def test_shapes_in_errors_are_those_of_an_entry():
    with pytest.raises(RuntimeError, match=r"shape '\[4\]' is invalid for input of size 3"):
        rl.func.vmap(lambda a: a.view(4))(rl.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(3x2 and 3x2\)"):
        rl.func.vmap(lambda a: a @ a)(rl.ones(2, 3, 2))


def test_a_tensor_does_not_outlive_its_vmap():
    kept = []
    rl.func.vmap(lambda a: kept.append(a) or a)(rl.ones(2))
    with pytest.raises(RuntimeError, match="after the vmap had ended"):
        kept[0] + 1


def test_gradients_flow_through_from_outside():
    def story(t, vmap):
        a, w = x(t).requires_grad_(), t.ones(3, 3, requires_grad=True)
        vmap(lambda e: (e @ w).sin())(a).sum().backward()
        return a.grad, w.grad

    agree(story)


def test_batched_gradients():
    def story(t, vmap):
        a = x(t).requires_grad_()
        out = (a * a).sum(1)
        rows = t.eye(2)
        return t.autograd.grad(out, a, rows, is_grads_batched=True)

    agree(story)


def test_vmap_is_public():
    assert rl.vmap is rl.func.vmap


@pytest.mark.parametrize("write", [lambda a, wide: a.copy_(wide), lambda a, wide: a.add_(wide)])
def test_a_write_cannot_make_entries_larger(write):
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        rl.func.vmap(lambda a: write(a, rl.ones(2, 3)))(rl.ones(2, 3))
