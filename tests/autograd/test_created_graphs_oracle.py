"""Which gradients require grad under create_graph: for every operation, each tensor input, and upstream gradients that do and
do not require grad themselves, as PyTorch has it; and what the second backward gives."""

import warnings

import numpy as np
import pytest

pytest.importorskip("torch")
import rushlight
from opinfo_calls import Call, Skip, known_operations, sampled_calls, torch

# Whose second gradients are not compared.
OPEN = {
    "linalg.eigh": "the signs of vectors are free",
    "linalg.norm": "PyTorch's second gradient of the norm of zeros is NaN, here it is 0",
}
# Whose other outputs are tracked here by what they depend on, in PyTorch by any input, and have gradients here alone.
FIRST_OUTPUT = ("native_group_norm",)
SOME = ("nn.functional.leaky_relu", "nn.functional.hardtanh", "nn.functional.prelu", "nn.functional.avg_pool2d", "nn.functional.nll_loss",
        "nn.functional.multi_margin_loss", "nn.functional.grid_sample", "nn.functional.conv2d", "nn.functional.max_pool2d", "sort", "topk",
        "max", "median", "kthvalue", "mode", "cummax", "polar", "cumprod", "unique", "geqrf", "nn.functional.batch_norm",
        "nn.functional.group_norm", "nn.functional.rms_norm", "nn.functional.pad", "nn.functional.conv_transpose2d", "histogram",
        "cdist", "linalg.slogdet", "triangular_solve")  # fmt: skip
ENTRIES = list(known_operations())


def tensors_in(value, module):
    if isinstance(value, module.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return (
        [t for item in value for t in tensors_in(item, module)]
        if hasattr(value, "__iter__") and not isinstance(value, str)
        else []
    )


def tracked(call, module, place):
    """Which outputs require grad where the input at ``place`` does (all where None); then for each of them and both kinds of
    upstream gradient which gradients do, or the error."""
    args, kwargs = call.arguments(module)
    leaves = [t for t in (*tensors_in(args, module), *tensors_in(kwargs, module)) if t.is_floating_point()]
    leaves = leaves if place is None else leaves[place : place + 1]
    if not leaves:
        raise Skip
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = tensors_in(call.function(module)(*args, **kwargs), module)
    found = [[output.requires_grad for output in outputs]]
    for number, output in enumerate(outputs):
        if output.requires_grad:
            for upstream in (False, True):
                grad = module.ones(tuple(output.shape), dtype=output.dtype, requires_grad=upstream)
                found.append((number, upstream, gradients(module, output, leaves, grad)))
    return found


def gradients(module, output, leaves, grad):
    try:
        found = module.autograd.grad(output, leaves, grad, create_graph=True, allow_unused=True, retain_graph=True)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    told = [None if each is None else each.requires_grad for each in found]
    return told, second(module, [each for each in found if each is not None and each.requires_grad], leaves)


def second(module, found, leaves):
    """What the second backward gives to each leaf; None where it raises, as PyTorch's does for want of a derivative."""
    if not found:
        return Second([])
    total = sum((each * each).sum() for each in found)
    try:
        again = module.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
    except (RuntimeError, NotImplementedError):
        return Second(None)
    return Second([Array(None if each is None else each.clone().resolve_neg().numpy()) for each in again])


class Second:
    """Second gradients. Where PyTorch has none any will do: here more operations can be differentiated twice."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __eq__(self, expected):
        return expected.arrays is None or self.arrays == expected.arrays

    def __repr__(self):
        return repr(self.arrays)


class Array:
    """An array that equals another one where their numbers are close; nothing is as good as zeros."""

    def __init__(self, array):
        self.array = array

    def __eq__(self, other):
        mine, others = (np.zeros(()) if each.array is None else each.array for each in (self, other))
        return np.allclose(mine, others, 1e-5, 1e-6, equal_nan=True)

    def __repr__(self):
        return repr(self.array)


def outcome(call, module, place):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tracked(call, module, place)
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__


def without_second(told):
    return [each if len(each) < 3 else (*each[:2], each[2][0]) for each in told] if isinstance(told, list) else told


def compare(entry):
    for call in sampled_calls(entry, torch.float64, 4):
        if any(not t.numel() for t in (*tensors_in(call.args, torch), *tensors_in(call.kwargs, torch))):
            continue
        if call.kwargs.get("sparse") or call.kwargs.get("dropout_p"):  # sparse gradients are not there; random
            continue
        if call.name == "nn.functional.embedding":  # whose samples have the weight first
            call = Call(call.name, (call.args[1], call.args[0], *call.args[2:]), call.kwargs)
        for place in (None, 0, 1, 2):
            try:
                expected, found = (outcome(call, module, place) for module in (torch, rushlight))
            except Skip:
                continue
            if call.name in FIRST_OUTPUT and isinstance(expected, list):
                found, expected = (
                    [told[0][:1], *(each for each in told[1:] if each[0] == 0)] for told in (found, expected)
                )
            if call.name in OPEN:
                found, expected = without_second(found), without_second(expected)
            assert found == expected, (call, place)


@pytest.mark.parametrize("name", SOME)
def test_some_operations(name):
    compare(next(entry for entry in ENTRIES if entry.name == name))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.formatted_name)
def test_every_operation(entry):
    compare(entry)


@pytest.mark.parametrize("module", [torch, rushlight], ids=["torch", "rushlight"])
def test_gradients_that_depend_on_nothing_bring_zeros(module):
    functional = module.nn.functional
    for call in (functional.leaky_relu, functional.relu6, lambda x: functional.avg_pool1d(x, 2)):
        x = module.randn(2, 4, requires_grad=True)
        (first,) = module.autograd.grad(call(x).sum(), x, create_graph=True)
        first.pow(2).sum().backward()
        assert not x.grad.any()


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (4, 1), (2, 2)])
@pytest.mark.parametrize("zeros", [(), (0,), (0, 1), (0, 2), (0, 1, 2, 3)])
def test_products_of_zeros(zeros, shape, dim):
    """Whether the gradient depends on the elements is decided by how many of them are 0."""
    found = []
    for library in (rushlight, torch):
        values = library.arange(2.0, 6.0).index_fill(0, library.tensor(zeros, dtype=library.int64), 0)
        x = values[: library.empty(shape).numel()].reshape(shape).clone().requires_grad_()
        dims = () if dim is None or dim >= len(shape) else (dim,)
        (gradient,) = library.autograd.grad(x.prod(*dims).sum(), x, create_graph=True)
        found.append((gradient.tolist(), gradient.grad_fn and gradient.grad_fn.name()))
    assert found[0] == found[1]
