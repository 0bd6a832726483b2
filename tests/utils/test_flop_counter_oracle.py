"""FlopCounterMode and ModuleTracker count what PyTorch's do: products, convolutions, layers, gradients, by modules."""

import importlib
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def counter_of(library, **options):
    counting = importlib.import_module(f"{library.__name__}.utils.flop_counter")
    return counting.FlopCounterMode(display=False, **options)


def aten_of(library):
    return importlib.import_module("rushlight.compat.inside.ops").aten if library is rushlight else torch.ops.aten


def counted(library, call):
    tracked = lambda *shape: library.randn(*shape, requires_grad=True)
    with counter_of(library) as counter:
        result = call(library, tracked)
        if result is not None and result.requires_grad:
            result.sum().backward()
    counts = counter.get_flop_counts()
    return counter.get_total_flops(), {m: {str(name): n for name, n in c.items()} for m, c in counts.items()}


def attention(library, tracked, **options):
    functional = library.nn.functional
    return functional.scaled_dot_product_attention(*(tracked(2, 3, 7, 8) for _ in range(3)), **options)


CALLS = {
    "mm": lambda t, r: r(3, 4) @ r(4, 5),
    "mv": lambda t, r: r(3, 4) @ r(4),
    "dot": lambda t, r: r(4) @ r(4),
    "bmm": lambda t, r: r(2, 3, 4) @ r(2, 4, 5),
    "batch and matrix": lambda t, r: r(2, 3, 4) @ r(4, 5),
    "broadcast batches": lambda t, r: r(2, 3, 4, 5) @ r(3, 5, 2),
    "addmm": lambda t, r: t.addmm(r(5), r(3, 4), r(4, 5), beta=2),
    "addmm_": lambda t, r: t.zeros(3, 5).addmm_(t.ones(3, 4), t.ones(4, 5)),
    "baddbmm": lambda t, r: t.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5)),
    "addmv": lambda t, r: t.addmv(r(3), r(3, 4), r(4)),
    "einsum": lambda t, r: t.einsum("ij,kj->ik", r(3, 4), r(5, 4)),
    "tensordot": lambda t, r: t.tensordot(r(2, 3, 4), r(4, 3, 5), dims=([1, 2], [1, 0])),
    "multi_dot": lambda t, r: t.linalg.multi_dot([r(3, 4), r(4, 5), r(5, 6)]),
    "Linear": lambda t, r: t.nn.Linear(4, 6)(r(2, 3, 4)),
    "Linear without bias": lambda t, r: t.nn.Linear(4, 6, bias=False)(r(2, 3, 4)),
    "Linear of a vector": lambda t, r: t.nn.Linear(4, 6)(r(4)),
    "Conv1d": lambda t, r: t.nn.Conv1d(4, 6, 3)(r(2, 4, 9)),
    "Conv2d": lambda t, r: t.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)(r(2, 4, 9, 8)),
    "Conv2d of an image": lambda t, r: t.nn.Conv2d(4, 6, 3)(r(4, 9, 8)),
    "Conv2d of data": lambda t, r: t.nn.Conv2d(4, 6, 3, dilation=2)(t.ones(2, 4, 9, 8)),
    "Conv3d": lambda t, r: t.nn.Conv3d(2, 3, 2)(r(1, 2, 4, 4, 4)),
    "ConvTranspose2d": lambda t, r: t.nn.ConvTranspose2d(4, 6, 3, stride=2)(r(2, 4, 5, 5)),
    "ConvTranspose1d": lambda t, r: t.nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2)(t.ones(2, 4, 5)),
    "attention": attention,
    "causal attention": lambda t, r: attention(t, r, is_causal=True),
    "attention with dropout": lambda t, r: attention(t, r, dropout_p=0.5),
    "GRU": lambda t, r: t.nn.GRU(4, 5, 2)(r(3, 2, 4))[0],
    "RNN": lambda t, r: t.nn.RNN(4, 5, bidirectional=True)(r(3, 2, 4))[0],
    "LSTM": lambda t, r: t.nn.LSTM(4, 5)(t.ones(3, 2, 4))[0],
    "LSTMCell": lambda t, r: t.nn.LSTMCell(4, 5)(t.ones(3, 4))[0],
    "Embedding": lambda t, r: t.nn.Embedding(4, 5)(t.tensor([1])),
    "second derivative": lambda t, r: t.autograd.grad((r(3, 4) @ (b := r(4, 5))).pow(2).sum(), b, create_graph=True)[0],
    "layers in layers": lambda t, r: t.nn.Sequential(
        t.nn.Linear(4, 6), t.nn.Sequential(t.nn.ReLU(), t.nn.Linear(6, 2))
    )(r(3, 4)),
    "vmap": lambda t, r: t.func.vmap(lambda x: x @ t.ones(4, 5))(t.ones(2, 3, 4)),
    "nothing": lambda t, r: t.ones(3) + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_counts(name):
    ours, theirs = (counted(library, CALLS[name]) for library in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("training", [True, False])
def test_a_transformer_counts_the_same(training):
    """Which of its products are addmm and which mm differs: PyTorch's take the bias of a strided input apart."""

    def layer(library, tracked):
        made = library.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).train(training)
        if training:
            return made(tracked(2, 3, 8))
        made(library.ones(2, 3, 8))
        return None

    (ours, by_modules), (theirs, also) = (counted(library, layer) for library in LIBRARIES)
    assert ours == theirs
    assert {m: sum(c.values()) for m, c in by_modules.items()} == {m: sum(c.values()) for m, c in also.items()}


def test_a_checkpoint_counts_twice():
    def call(library, tracked):
        model = library.nn.Sequential(library.nn.Linear(4, 6), library.nn.ReLU(), library.nn.Linear(6, 2))
        checkpoint = importlib.import_module(f"{library.__name__}.utils.checkpoint").checkpoint
        return checkpoint(model, tracked(3, 4), use_reentrant=False)

    assert counted(rushlight, call) == counted(torch, call)


def test_formulas_of_ones_own():
    totals, errors = [], []
    for library in LIBRARIES:
        aten = aten_of(library)
        counting = importlib.import_module(f"{library.__name__}.utils.flop_counter")
        with counter_of(library, custom_mapping={aten.relu: lambda shape, out_shape=None: shape.numel()}) as counter:
            library.nn.ReLU()(library.ones(3, 4) @ library.ones(4, 5))
        totals.append(counter.get_total_flops())
        for target in (aten.mm, aten.add.Tensor, 3):
            with pytest.raises((ValueError, RuntimeError)) as caught:
                counting.register_flop_formula(target)(len)
            errors.append(str(caught.value).partition("\n")[0])
    assert totals[0] == totals[1] == 135
    assert errors[:1] + errors[2:3] == errors[3:4] + errors[5:]
    assert errors[1].partition(" which")[0] == errors[4].partition(" which")[0]


def test_formulas():
    for name, arguments in {
        "mm_flop": [((2, 3), (3, 4)), ((2, 3), (4, 4))],
        "bmm_flop": [((2, 2, 3), (2, 3, 4)), ((2, 2, 3), (3, 3, 4))],
        "sdpa_flop_count": [((2, 4, 5, 6), (2, 2, 7, 6), (2, 2, 7, 3)), ((2, 3, 5, 6), (2, 2, 7, 6), (2, 2, 7, 3))],
        "sdpa_backward_flop_count": [((2, 4, 5, 3), (2, 4, 5, 6), (2, 4, 7, 6), (2, 4, 7, 3))],
        "conv_flop_count": [((2, 3, 9), (4, 3, 2), (2, 4, 8)), ((2, 3, 9), (3, 4, 2), (2, 4, 10), True)],
    }.items():
        for given in arguments:
            found = []
            for library in LIBRARIES:
                formula = getattr(importlib.import_module(f"{library.__name__}.utils.flop_counter"), name)
                try:
                    found.append(formula(*given))
                except AssertionError as error:
                    found.append(str(error).partition("\n")[0])
            assert found[0] == found[1], name


def table_of(library, depth, rows):
    model = library.nn.Sequential(library.nn.Linear(4, 6), library.nn.Sequential(library.nn.Linear(6, 2)))
    with counter_of(library, depth=depth) as counter:
        result = model(library.ones(rows, 4))
        library.ones(3, 3) @ library.ones(3, 3)
        result.sum().backward()
    return counter.get_table()


@pytest.mark.parametrize("depth", [0, 1, 2, 3, None])
@pytest.mark.parametrize("rows", [1, 3000])
def test_tables(depth, rows):
    """Up to blanks: how PyTorch's begins its lines depends on the version of tabulate."""
    pytest.importorskip("tabulate")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (table_of(library, depth, rows).replace("-", "").split() for library in LIBRARIES)
    assert ours == theirs


def test_the_table_stands_as_documented():
    assert table_of(rushlight, 2, 3000) == (
        "Module               FLOP    % Total\n"
        "---------------  --------  ---------\n"
        "Global           504.054K    100.00%\n"
        " - aten.addmm    216.000K     42.85%\n"
        " - aten.mm       288.054K     57.15%\n"
        " Sequential      504.000K     99.99%\n"
        "  - aten.addmm   216.000K     42.85%\n"
        "  - aten.mm      288.000K     57.14%\n"
        "  Sequential.0   288.000K     57.14%\n"
        "   - aten.addmm  144.000K     28.57%\n"
        "   - aten.mm     144.000K     28.57%\n"
        "  Sequential.1   216.000K     42.85%\n"
        "   - aten.addmm   72.000K     14.28%\n"
        "   - aten.mm     144.000K     28.57%"
    )


def test_modules_are_tracked():
    found = []
    for library in LIBRARIES:
        tracking = importlib.import_module(f"{library.__name__}.utils.module_tracker")
        model = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.Tanh())
        story = []
        with tracking.ModuleTracker() as tracker:
            for layer in model:
                note = lambda *_: story.append((sorted(tracker.parents), tracker.is_bw))
                layer.register_forward_hook(note)
                layer.register_full_backward_hook(note)
            model(library.ones(1, 2, requires_grad=True)).sum().backward()
            story.append((sorted(tracker.parents), tracker.is_bw))
        found.append(story)
    assert found[0] == found[1]


def test_mods_are_not_needed():
    for library in LIBRARIES:
        with pytest.warns(UserWarning, match="mods argument is not needed anymore"):
            counter_of(library, mods=library.nn.Linear(1, 1))
