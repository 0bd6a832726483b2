"""What calls keep for backward is what PyTorch keeps: after which writes backward refuses, and whether it runs a second time."""

import os
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # what PyTorch's database of operations imports

import rushlight  # noqa: E402
from opinfo_calls import Skip, known_operations, sampled_calls  # noqa: E402

ENTRIES = {f"{entry.name}.{entry.variant_test_name}".rstrip("."): entry for entry in known_operations()
           if entry.supports_autograd}  # fmt: skip
EXAMPLES = max(1, int(os.environ.get("RUSHLIGHT_EXAMPLES", "150")) // 75)
PLAIN = ["addcdiv", "as_strided_scatter", "complex", "fmod", "gather", "index_add", "lerp", "linalg.eigvalsh", "masked_select",
         "nn.functional.adaptive_max_pool2d", "nn.functional.avg_pool2d", "nn.functional.binary_cross_entropy", "nn.functional.conv1d",
         "nn.functional.multi_margin_loss", "nn.functional.pad.reflect", "polar", "pow", "put", "scatter", "special.log_ndtr",
         "take"]  # fmt: skip
# Where the libraries keep something else.
OTHERS = {
    # index tensors are kept as checked copies: a write into them changes nothing
    "__getitem__", "index_put",
    # written with other operations in one library, with their own in the other
    "dist", "kron", "linalg.householder_product", "linalg.lu", "linalg.multi_dot", "matmul", "__rmatmul__", "native_group_norm",
    "nn.functional.bilinear", "nn.functional.multi_head_attention_forward", "nn.functional.rms_norm",
    "nn.functional.scaled_dot_product_attention", "ormqr", "combinations", "nn.functional.pad.circular",
    "nn.functional.embedding_bag", "nn.functional.rrelu", "gradient", "_softmax_backward_data", "nn.functional.cross_entropy",
    "native_batch_norm",
}  # fmt: skip
OTHERS |= {name for name in ENTRIES if name.startswith("masked.")}  # PyTorch's copy masks, and keep the copy
PLACES = [("again", 0), *[("operand", n) for n in range(5)], *[("result", n) for n in range(3)]]


def tensors_of(value, found):
    """Adds the tensors in nested containers to ``found``."""
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        found.append(value)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        tensors_of(each, found)
    return found


def prepared(value, module, only, leaves):
    """``value`` with copies of tensors; those that can require grad, or number ``only`` of them, are made from new ``leaves``."""
    if isinstance(value, module.Tensor):
        if not (value.is_floating_point() or value.is_complex()):
            return value
        leaf = value.detach().clone()
        leaves.append(leaf.requires_grad_() if only in (None, len(leaves)) else leaf)
        return leaf.clone()
    if isinstance(value, dict):
        return {key: prepared(each, module, only, leaves) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, module.Size):
        return type(value)(prepared(each, module, only, leaves) for each in value)
    return value


def ending(total, leaves, module):
    """How a backward call ends, in a word."""
    try:
        module.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError as error:
        words = {"a second time": "second", "modified by an inplace": "refused", "not implemented": "unfinished"}
        return next((word for part, word in words.items() if part in str(error)), str(error).splitlines()[0])
    return "fine"


def story(call, module, only, kind, place):
    """How backward ends after a write into an operand or a result, or when it runs again; None where there is nothing to do."""
    leaves = []
    args, kwargs = (prepared(value, module, only, leaves) for value in call.arguments(module))
    result = call.function(module)(*args, **kwargs)
    results = tensors_of(result, [])
    ends = [each for each in results if each.grad_fn is not None]
    leaves = [leaf for leaf in leaves if leaf.requires_grad]
    if not ends or not leaves:
        return None
    total = sum((end.real if end.is_complex() else end).double().sum() for end in ends)
    if kind == "again":
        return ending(total, leaves, module), ending(total, leaves, module)
    written = results if kind == "result" else tensors_of((args, kwargs), [])
    if place >= len(written):
        return None
    try:
        with module.no_grad():
            written[place].copy_(written[place].clone())
    except RuntimeError:
        return "not written"
    return ending(total, leaves, module)


def assert_same_stories(name, limit):
    entry = ENTRIES[name]
    calls = list(sampled_calls(entry, torch.float64, limit)) or list(sampled_calls(entry, torch.complex128, limit))
    for call in calls:
        tracked = sum(t.is_floating_point() or t.is_complex() for t in tensors_of((call.args, call.kwargs), []))
        if any(0 in each.shape for each in tensors_of((call.args, call.kwargs), [])):
            continue  # what has no elements takes ways of its own
        for only in (None, *range(min(tracked, 3))) if tracked > 1 else (None,):
            for where in PLACES:
                try:
                    wanted = story(call, torch, only, *where)
                except (Skip, TypeError, RuntimeError):  # a call that PyTorch refuses
                    break
                assert story(call, rushlight, only, *where) == wanted, (call, only, where)


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_kept(name):
    assert_same_stories(name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in OTHERS])
def test_what_is_kept_by_all(name):
    assert_same_stories(name, min(EXAMPLES, 4))


NUMBERS = {
    "product": lambda x: x * 2,
    "number first": lambda x: 2 * x,
    "quotient": lambda x: x / 2,
    "of a quotient": lambda x: 2 / x,
    "sum": lambda x: x + 2,
    "difference": lambda x: 2 - x,
    "rest": lambda x: x % 2,
    "in place": lambda x: (x + 1).mul_(2),
    "quotient in place": lambda x: (x + 1).div_(2),
    "complex": lambda x: (x * 2j).real,
    "half": lambda x: x.half() * 2,
    "0-dim": lambda x: x[0] * 2,
    "large": lambda x: x.expand(100_000, 2).contiguous() * 2,
    "expanded": lambda x: x.expand(3, 2) / 2,
    "mean": lambda x: x.mean(),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_second_runs_beside_numbers(name):
    def found(module):
        x = module.tensor([3.0, 4.0], requires_grad=True)
        end = NUMBERS[name](x).sum()
        return ending(end, [x], module), ending(end, [x], module)

    assert found(rushlight) == found(torch)


def test_angles_of_complex_numbers_lie_row_by_row():
    def strides(module):
        x = module.zeros(2, 3, 4, dtype=module.complex64).permute(2, 0, 1)
        return [y.stride() for y in (x.angle(), x.real.angle(), x.conj().angle(), x[::2].angle())]

    assert strides(rushlight) == strides(torch)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_twice_before_one_backward(training):
    """Writing the running statistics counts as no write; a write of the program's is refused."""
    for library in (torch, rushlight):
        layer = library.nn.BatchNorm1d(3)
        layer.train(training)
        first = layer(library.randn(4, 3, requires_grad=True))
        version = layer.running_mean._version
        second = layer.train()(library.randn(4, 3))
        assert layer.running_mean._version == version
        (first.sum() + second.sum()).backward()
        again = layer(library.randn(4, 3, requires_grad=True))
        layer.running_var.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            again.sum().backward()
