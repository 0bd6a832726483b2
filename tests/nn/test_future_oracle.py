"""``torch.__future__``: parameters that conversions and loading overwrite or exchange, beside PyTorch's."""

import contextlib
import weakref

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")


@contextlib.contextmanager
def chosen(t, name):
    put = getattr(t.__future__, f"set_{name}_module_params_on_conversion")
    put(True)
    try:
        yield
    finally:
        put(False)


def layer(t):
    t.manual_seed(0)
    made = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3))
    made[0].weight.requires_grad_(False)
    return made


def facts(module, before, gradients):
    return [
        (
            name, value is before[name], str(value.dtype), value.requires_grad, type(value).__name__, value.flatten().tolist(),
            None if value.grad is None else (value.grad is gradients[name], str(value.grad.dtype)),
        )
        for name, value in module.named_parameters()
    ]  # fmt: skip


def conversion(t, choice, convert):
    with chosen(t, choice) if choice else contextlib.nullcontext():
        module = layer(t)
        module(t.arange(8.0).reshape(4, 2)).pow(2).sum().backward()
        before = dict(module.named_parameters())
        gradients = {name: value.grad for name, value in before.items()}
        convert(t, module)
        return facts(module, before, gradients), [str(v.dtype) for v in module.buffers()]


@pytest.mark.parametrize("choice", [None, "overwrite", "swap"])
@pytest.mark.parametrize(
    "convert",
    [lambda t, m: m.double(), lambda t, m: m.to(t.bfloat16), lambda t, m: m.to("cpu"), lambda t, m: m.requires_grad_(False)],
    ids=["double", "to_dtype", "to_device", "no_conversion"],
)  # fmt: skip
def test_conversions(choice, convert):
    ours, theirs = conversion(rl, choice, convert), conversion(torch, choice, convert)
    assert ours[1] == theirs[1]
    for mine, other in zip(ours[0], theirs[0], strict=True):
        assert mine[:5] == other[:5] and mine[5] == pytest.approx(other[5], rel=1e-5)
        assert mine[6] == other[6]


def loaded(t, assign):
    class Doubling(t.nn.Parameter):
        def module_load(self, other, assign=False):
            return (other * 2).detach()

    with chosen(t, "swap"):
        module, source = layer(t), layer(t)
        module[0].bias = Doubling(t.zeros(3))
        before = dict(module.named_parameters())
        module.load_state_dict(source.state_dict(), assign=assign)
        return facts(module, before, {})


@pytest.mark.parametrize("assign", [False, True])
def test_loading_by_exchange(assign):
    for mine, other in zip(loaded(rl, assign), loaded(torch, assign), strict=True):
        assert mine[:5] == other[:5] and mine[6] == other[6] and mine[5] == pytest.approx(other[5], rel=1e-5)


def refused(t):
    class Same(t.nn.Parameter):
        def module_load(self, other, assign=False):
            return other

    module = t.nn.Linear(1, 1)
    module.weight = Same(t.zeros(1, 1))
    with chosen(t, "swap"), pytest.raises(RuntimeError) as error:
        module.load_state_dict(t.nn.Linear(1, 1).state_dict())
    return str(error.value).splitlines()[:2]


def test_what_is_not_exchanged():
    assert refused(rl) == refused(torch)
    for t in (rl, torch):
        module = t.nn.Linear(1, 1)
        kept = weakref.ref(module.weight)
        with chosen(t, "swap"), pytest.raises(RuntimeError) as error:
            module.double()
        assert str(error.value).splitlines()[0] == "_apply(): Couldn't swap Linear.weight" and kept() is module.weight
