"""Autocast's contexts, switches, cache and decorators against PyTorch: stories told by both, errors and warnings included."""

import threading

import pytest
from autocast_stories import told

import rushlight as rl

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")
pytest.importorskip("ml_dtypes")


def alike(story):
    assert told(story, rl) == told(story, torch)


def leaf(m, *shape):
    return m.ones(*shape).requires_grad_()


# ---------------------------------------------------------------- contexts


CONSTRUCTIONS = [
    "m.autocast('cpu', dtype=m.float32)", "m.autocast('cpu', dtype=m.int32)", "m.autocast('cuda')", "m.autocast('cuda:0')",
    "m.autocast('cuda', enabled=False)", "m.autocast('xpu')", "m.autocast('foo')", "m.autocast('meta')",
    "m.autocast('meta', dtype=m.bfloat16)", "m.autocast(m.device('cpu'))", "m.autocast('cpu')(3)", "m.autocast()",
    "m.cpu.amp.autocast()", "m.cpu.amp.autocast(True, m.float16)", "m.cuda.amp.autocast()", "m.cpu.amp.GradScaler()",
    "m.cuda.amp.GradScaler()", "m.amp.GradScaler()", "m.amp.GradScaler('cpu', growth_factor=1.0)",
    "m.amp.GradScaler('cpu', backoff_factor=1.0)", "m.cuda.amp.custom_fwd(abs)", "m.cuda.amp.custom_bwd(abs)",
]  # fmt: skip
ANSWERS = [
    "m.is_autocast_enabled()", "m.is_autocast_enabled('cpu')", "m.is_autocast_enabled('foo')", "m.is_autocast_enabled('meta')",
    "m.is_autocast_enabled('cuda:0')", "m.is_autocast_enabled(3)", "m.get_autocast_dtype('foo')", "m.get_autocast_dtype('meta')",
    "[m.get_autocast_dtype(d) for d in ('cpu', 'cuda', 'xpu', 'mps', 'hpu', 'ipu', 'xla', 'mtia', 'maia')]",
    "[m.amp.is_autocast_available(d) for d in ('cpu', 'cuda', 'xpu', 'meta', 'vulkan')]", "m.amp.is_autocast_available('foo')",
    "m.is_autocast_cpu_enabled()", "m.get_autocast_cpu_dtype()", "m.get_autocast_gpu_dtype()", "m.set_autocast_cpu_enabled(False)",
    "m.set_autocast_cpu_dtype(m.bfloat16)", "m.set_autocast_gpu_dtype(m.float16)", "m.set_autocast_enabled(False)",
    "m.set_autocast_enabled('cpu', 1)", "m.set_autocast_enabled(1)", "m.set_autocast_dtype('cpu', 3)",
    "m.autocast_increment_nesting(), m.autocast_decrement_nesting()", "m.is_autocast_cache_enabled()", "m.clear_autocast_cache()",
    "m.set_autocast_cache_enabled(3)", "m.amp.custom_fwd(abs, device_type=3)", "m.amp.custom_bwd(abs, device_type=3)",
]  # fmt: skip


@pytest.mark.parametrize("code", CONSTRUCTIONS)
def test_constructions(code):
    alike(lambda m: type(eval(code, {"m": m})).__name__)


@pytest.mark.parametrize("code", ANSWERS)
def test_switches(code):
    alike(lambda m: eval(code, {"m": m}))


def asked(m):
    x = m.ones(2, 2)
    return m.is_autocast_enabled("cpu"), m.get_autocast_dtype("cpu"), m.is_autocast_cache_enabled(), m.mm(x, x).dtype


def test_nested_and_disabled_regions():
    def story(m):
        told = [asked(m)]
        with m.autocast("cpu", cache_enabled=False):
            told.append(asked(m))
            with m.autocast("cpu", enabled=False):
                told.append(asked(m))
                with m.autocast("cpu", dtype=m.float16):
                    told.append(asked(m))
                told.append(asked(m))
            told.append(asked(m))
        return [*told, asked(m)]

    alike(story)


def test_an_error_inside_leaves_the_context():
    def story(m):
        try:
            with m.autocast("cpu"):
                m.mm(m.ones(2, 3), m.ones(2, 3))
        except RuntimeError:
            return asked(m)

    alike(story)


def test_decorators():
    def story(m):
        @m.autocast("cpu", dtype=m.float16)
        def ask(x):
            """Doc."""
            return asked(m), (x @ x).dtype

        @m.amp.autocast_mode.autocast("cpu")
        def fail():
            raise ValueError("no")

        try:
            fail()
        except ValueError:
            return ask(m.ones(2, 2)), ask.__name__, ask.__doc__, asked(m)

    alike(story)


def test_switches_without_a_context():
    def story(m):
        m.set_autocast_enabled("cpu", True)
        try:
            told = [asked(m)]
            m.set_autocast_dtype("cpu", m.float16)
            told.append(asked(m))
            with m.autocast("cpu", enabled=False):
                told.append(asked(m))
            with m.autocast("cpu"):
                m.set_autocast_enabled("cpu", False)
                told.append(asked(m))
            return [*told, asked(m)]
        finally:
            m.set_autocast_enabled("cpu", False)
            m.set_autocast_dtype("cpu", m.bfloat16)

    alike(story)


def test_threads_have_switches_of_their_own():
    def story(m):
        told = []

        def run():
            told.append(asked(m))
            with m.autocast("cpu", dtype=m.float16):
                told.append(asked(m))

        with m.autocast("cpu"):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            told.append(asked(m))
        return told

    alike(story)


# ---------------------------------------------------------------- the cache of casts


def casts_of(first, second):
    """Whether two results of ``mm(_, weight)`` come from the same cast of the weight."""
    return first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]


def test_a_leaf_is_cast_once_in_the_outermost_context():
    def story(m):
        x, weight, told = m.ones(2, 2), leaf(m, 2, 2), []
        with m.autocast("cpu"):
            one = m.mm(x, weight)
            told.append(casts_of(one, m.mm(x, weight)))
            told.append(type(one.grad_fn.next_functions[1][0]).__name__)
            with m.autocast("cpu", enabled=False), m.autocast("cpu"):
                told.append(casts_of(one, m.mm(x, weight)))
            with m.autocast("cpu", cache_enabled=False):
                told.append(casts_of(one, m.mm(x, weight)))
            m.clear_autocast_cache()
            told.append(casts_of(one, m.mm(x, weight)))
            view = weight.t()
            told.append(casts_of(m.mm(x, view), m.mm(x, view)))
            inner = weight * 1
            told.append(casts_of(m.mm(x, inner), m.mm(x, inner)))
        with m.autocast("cpu"):
            told.append(casts_of(one, m.mm(x, weight)))
        return told

    alike(story)


def test_the_cast_is_kept_when_the_leaf_is_written():
    def story(m):
        x, weight = m.ones(2, 2), leaf(m, 2, 2)
        with m.autocast("cpu"):
            one = m.mm(x, weight)
            with m.no_grad():
                weight.mul_(2)
            two = m.mm(x, weight)
        with m.autocast("cpu"):
            return m.equal(one, two), m.equal(one, m.mm(x, weight))

    alike(story)


def test_casts_without_a_graph_are_not_kept():
    def story(m):
        x, weight = m.ones(2, 2), leaf(m, 2, 2)
        with m.autocast("cpu"):
            with m.no_grad():
                first = m.mm(x, weight)
            second = m.mm(x, weight)
            second.float().sum().backward()
        return first.requires_grad, weight.grad

    alike(story)


def test_two_losses_share_a_cast():
    def story(m):
        x, weight = m.ones(2, 2), leaf(m, 2, 2)
        with m.autocast("cpu"):
            one, two = m.mm(x, weight).sum(), m.mm(weight, x).sum()
        one.backward()
        two.backward()
        return weight.grad, weight.grad.dtype

    alike(story)


# ---------------------------------------------------------------- autograd, transforms, checkpoints


def test_backward_inside_and_outside():
    def story(m):
        told = []
        for inside in (False, True):
            weight = leaf(m, 2, 2)
            weight.register_hook(lambda grad: told.append((grad.dtype, m.is_autocast_enabled("cpu"))))
            with m.autocast("cpu"):
                loss = m.nn.functional.mse_loss(m.mm(m.ones(2, 2), weight), m.zeros(2, 2))
                if inside:
                    loss.backward()
            if not inside:
                loss.backward()
            told.append(weight.grad)
        return told

    alike(story)


def test_transforms():
    def story(m):
        x = m.arange(18.0).view(2, 3, 3) / 8
        with m.autocast("cpu"):
            batch = m.func.vmap(lambda a: m.mm(a, a))(x)
            gradient = m.func.grad(lambda a: m.mm(a, a).float().sum())(x[0])
            value, tangent = m.func.jvp(lambda a: m.mm(a, a), (x[0],), (x[1],))
            loss = m.func.vmap(lambda a: m.nn.functional.mse_loss(a, a * 0))(x.bfloat16())
            joined = m.func.vmap(lambda a: m.cat([a, a.float()]))(x.bfloat16())
            after = m.mm(x[0], x[1])
        return batch, gradient, value, tangent, loss, joined.dtype, after

    assert told(story, rl)[0] == told(story, torch)[0]  # PyTorch warns of its own compiler


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_run_again_as_they_ran(reentrant):
    def story(m):
        weight, told = leaf(m, 2, 2), []

        def function(x):
            told.append(asked(m))
            return (x @ x).sin()

        with m.autocast("cpu", dtype=m.float16, cache_enabled=False):
            output = m.utils.checkpoint.checkpoint(function, weight, use_reentrant=reentrant)
        output.float().sum().backward()
        output = m.utils.checkpoint.checkpoint(function, weight, use_reentrant=reentrant)
        with m.autocast("cpu"):
            output.sum().backward()
        return told, weight.grad.dtype

    alike(story)


@pytest.mark.parametrize("cast", ["None", "m.float32", "m.float16"])
@pytest.mark.parametrize("enabled", [True, False])
def test_functions_with_derivatives_of_their_own(cast, enabled):
    def story(m):
        told = []

        class Product(m.autograd.Function):
            @staticmethod
            @m.amp.custom_fwd(device_type="cpu", cast_inputs=eval(cast))
            def forward(ctx, a, b, options):
                told.append((a.dtype, b.dtype, options["more"][1].dtype, m.is_autocast_enabled("cpu")))
                ctx.save_for_backward(a, b)
                return a.to(b.dtype) @ b

            @staticmethod
            @m.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                told.append((grad.dtype, m.is_autocast_enabled("cpu"), m.get_autocast_dtype("cpu")))
                return (grad @ b.T).to(a.dtype), (a.T.to(grad.dtype) @ grad).to(b.dtype), None

        one, two = leaf(m, 2, 2), m.ones(2, 2, dtype=m.bfloat16).requires_grad_()
        with m.autocast("cpu", enabled=enabled):
            found = Product.apply(one, two, {"more": [1, one.detach().double(), "text"]})
        found.float().sum().backward()
        return told, found.dtype, one.grad.dtype, two.grad.dtype

    alike(story)


# ---------------------------------------------------------------- whole networks


def trained(m, dtype, make, shape):
    m.manual_seed(0)
    model = make(m.nn)
    x, targets = m.randn(*shape), m.randint(0, 5, (shape[0],))
    optimizer = m.optim.SGD(model.parameters(), lr=0.05)
    told = []
    for _ in range(3):
        with m.autocast("cpu", dtype=getattr(m, dtype)):
            output = model(x)
            loss = m.nn.functional.cross_entropy(output, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told += [loss.item(), output.dtype]
    return told, [(p.grad.dtype, p.detach().numpy()) for p in model.parameters()]


NETWORKS = {
    "linear": (lambda nn: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5)), (6, 8)),
    "convolutions": (
        lambda nn: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)
        ),
        (6, 1, 8, 8),
    ),
    "attention": (
        lambda nn: nn.Sequential(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), nn.Flatten(), nn.Linear(32, 5)
        ),
        (6, 4, 8),
    ),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_training(name, dtype):
    make, shape = NETWORKS[name]
    (ours, own), (theirs, expected) = (trained(m, dtype, make, shape) for m in (rl, torch))
    assert [str(each) for each in ours[1::2]] == [str(each) for each in theirs[1::2]]
    assert ours[::2] == pytest.approx(theirs[::2], abs=3e-2)
    for (kind, value), (other_kind, other) in zip(own, expected):
        assert str(kind) == str(other_kind) == "torch.float32"
        assert value == pytest.approx(other, abs=2e-2)


@pytest.mark.parametrize("without", ["grad", "nothing"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm_first": True},
        {"batch_first": False},
        {"bias": False},
        {"activation": "gelu"},
        {"nhead": 1},
        {"layers": 2},
    ],
)
def test_transformer_layers_in_evaluation(options, without):
    def story(m):
        options_of_layer = {"nhead": 2, "batch_first": True, **options}
        layers = options_of_layer.pop("layers", None)
        m.manual_seed(0)
        model = m.nn.TransformerEncoderLayer(4, dim_feedforward=8, **options_of_layer)
        if layers:
            model = m.nn.TransformerEncoder(model, layers)
        x, mask = m.rand(3, 2, 4), m.zeros(2, 2)
        told = []
        with m.set_grad_enabled(without != "grad"), m.autocast("cpu"):
            for training in (False, True):
                model.train(training)
                told += [model(x).dtype, model(x.bfloat16()).dtype]
            if options_of_layer["batch_first"]:
                told.append(model.eval()(x, mask).dtype)
        return told

    assert told(story, rl)[0] == told(story, torch)[0]
