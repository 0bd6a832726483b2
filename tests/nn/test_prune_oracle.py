"""nn.utils.prune, nn.utils.fusion, nn.grad and SyncBatchNorm against PyTorch."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.fusion")
pytest.importorskip("torch.nn.utils.prune")


def alike(story):
    found = []
    for m in (torch, rl):
        m.manual_seed(0)
        try:
            found.append(str(story(m)))
        except Exception as error:
            found.append((type(error).__name__, str(error).splitlines()[0]))
    assert found[1] == found[0]


PRUNINGS = [
    "p.random_unstructured(n, 'weight', 3)",
    "p.random_unstructured(n, 'weight', 0.4)",
    "p.l1_unstructured(n, 'weight', 0.4)",
    "p.l1_unstructured(n, 'bias', 1)",
    "p.l1_unstructured(n, 'weight', 2, importance_scores=-n.weight)",
    "p.random_structured(n, 'weight', 0.5, 0)",
    "p.random_structured(n, 'weight', 1, -1)",
    "p.ln_structured(n, 'weight', 1, 2, 0)",
    "p.ln_structured(n, 'weight', 0.5, float('inf'), 1)",
    "p.identity(n, 'weight')",
    "p.custom_from_mask(n, 'bias', m.tensor([1, 0, 1.]))",
    "p.ln_structured(p.l1_unstructured(n, 'weight', 3), 'weight', 1, 1, 0)",
    "p.random_unstructured(p.ln_structured(n, 'weight', 1, 2, 0), 'weight', 0.5)",
    "p.remove(p.l1_unstructured(n, 'weight', 3), 'weight')",
    "p.global_unstructured([(n, 'weight'), (n, 'bias')], p.L1Unstructured, amount=5)",
    "p.remove(n, 'weight')",
    "p.l1_unstructured(n, 'weight', 'a')",
    "p.l1_unstructured(n, 'weight', 1.1)",
    "p.l1_unstructured(n, 'weight', 100)",
    "p.l1_unstructured(n, 'weight', 1, importance_scores=m.ones(2))",
    "p.l1_unstructured(n, 'nothing', 1)",
    "p.ln_structured(n, 'bias', 1, 2, 0)",
    "p.ln_structured(n, 'weight', 1, 2, 5)",
    "p.global_unstructured(3, p.L1Unstructured, amount=1)",
    "p.PruningContainer().add_pruning_method(3)",
    "p.L1Unstructured(1).prune(m.tensor([3., 1, 2]))",
    "p.L1Unstructured(1).prune(m.ones(2), importance_scores=m.ones(3))",
]


@pytest.mark.parametrize("call", PRUNINGS)
def test_pruning(call):
    def story(m):
        n = m.nn.Linear(4, 3)
        found = eval(call, {"p": m.nn.utils.prune, "n": n, "m": m})
        (n.weight**2).sum().backward()
        grads = [None if q.grad is None else q.grad.tolist() for q in n.parameters()]
        rounded = [[round(v, 5) for v in value.flatten().tolist()] for value in n.state_dict().values()]
        hooks = [type(hook).__name__ for hook in n._forward_pre_hooks.values()]
        return type(found).__name__, list(n.state_dict()), rounded, hooks, len(grads), m.nn.utils.prune.is_pruned(n)

    alike(story)


def test_global_pruning_is_unstructured():
    net, prune = rl.nn.Linear(2, 2), rl.nn.utils.prune
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported'):
        prune.global_unstructured([(net, "weight")], prune.RandomStructured, amount=1)


@pytest.mark.parametrize(
    ("layer", "norm", "shape", "transpose"),
    [
        ("Conv1d", "BatchNorm1d", (4, 3, 6), False),
        ("Conv2d", "BatchNorm2d", (4, 3, 6, 6), False),
        ("ConvTranspose2d", "BatchNorm2d", (4, 3, 6, 6), True),
    ],
)
def test_fused_convolutions(layer, norm, shape, transpose):
    conv, bn, x = getattr(rl.nn, layer)(3, 3, 3), getattr(rl.nn, norm)(3), rl.randn(*shape)
    bn(conv(x))
    fused = rl.nn.utils.fuse_conv_bn_eval(conv.eval(), bn.eval(), transpose)
    assert rl.allclose(fused(x), bn(conv(x)), atol=1e-5)


def test_fused_linear_and_errors():
    linear, bn, x = rl.nn.Linear(3, 3).eval(), rl.nn.BatchNorm1d(3).eval(), rl.randn(4, 3)
    assert rl.allclose(rl.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    alike(lambda m: m.nn.utils.fusion.fuse_conv_bn_eval(m.nn.Conv2d(1, 1, 1), m.nn.BatchNorm2d(1)))
    alike(lambda m: m.nn.utils.fusion.fuse_linear_bn_eval(m.nn.Linear(2, 3).eval(), m.nn.BatchNorm1d(4).eval()))


def test_synchronised_batch_norm():
    def story(m):
        inner = m.nn.Sequential(m.nn.BatchNorm1d(2, affine=False), m.nn.ReLU())
        net = m.nn.SyncBatchNorm.convert_sync_batchnorm(m.nn.Sequential(m.nn.BatchNorm2d(3), inner))
        return net, list(net.state_dict()), net[0](m.arange(24.0).reshape(2, 3, 2, 2)).detach()

    alike(story)
    alike(lambda m: m.nn.SyncBatchNorm(3)(m.ones(3)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_gradients_of_convolutions(count):
    weight = torch.randn(4, 2, *[3] * count, dtype=torch.float64)
    x = torch.randn(2, 4, *[7] * count, dtype=torch.float64)
    options = 2, 1, 1, 2  # stride, padding, dilation, groups
    grad = torch.randn_like(getattr(torch.nn.functional, f"conv{count}d")(x, weight, None, *options))
    mine = [rl.from_numpy(t.numpy()) for t in (x, weight, grad)]
    for what, theirs, ours in (
        ("input", (x.shape, weight, grad), (mine[0].shape, mine[1], mine[2])),
        ("weight", (x, weight.shape, grad), (mine[0], mine[1].shape, mine[2])),
    ):
        name = f"conv{count}d_{what}"
        expected = getattr(torch.nn.grad, name)(*theirs, *options).numpy()
        assert abs(getattr(rl.nn.grad, name)(*ours, *options).numpy() - expected).max() < 1e-10


def test_switches_without_effect():
    with rl.backends.cudnn.flags(enabled=False, deterministic=True), rl.device("cpu"):
        assert rl.ones(1).device == rl.device("cpu")
    with pytest.raises(AssertionError, match="not compiled with CUDA"), rl.device("cuda"):
        pass
