"""Exported programs beside PyTorch's: their signatures, numbers, names of sizes, errors."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

BOTH = (rushlight, torch)


def outcome(call):
    """What a call gives, as text, or the class and first line of its error."""
    try:
        return repr(call())
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.slow  # PyTorch takes seconds to import what it needs
@pytest.mark.parametrize(
    "call",
    [
        lambda Dim: Dim("batch"),
        lambda Dim: Dim("batch", min=2, max=8),
        lambda Dim: Dim("batch", min=3, max=2),
        lambda Dim: Dim("1x"),
        lambda Dim: 2 * Dim("x") + 1,
        lambda Dim: Dim("x") * 3 - 2,
        lambda Dim: (Dim("x") + 1) * 2,
        lambda Dim: Dim("x") * 1.5,
        lambda Dim: Dim("x") * 0,
        lambda Dim: Dim("x") + "a",
        lambda Dim: Dim("x") - 1.0,
        lambda Dim: (Dim("x", min=2, max=5) * 2 + 1).max,
        lambda Dim: Dim.AUTO,
        lambda Dim: Dim.DYNAMIC(min=2),
        lambda Dim: Dim.STATIC,
        lambda Dim: Dim("x").__name__,
        lambda Dim: (2 * Dim("x") + 1).__name__,
    ],
)  # fmt: skip
def test_sizes(call):
    ours, theirs = (outcome(lambda: call(each.export.Dim)) for each in BOTH)
    assert ours == theirs


@pytest.mark.slow
def test_dims():
    ours, theirs = (repr(each.export.dims("a", "b", min=2)) for each in BOTH)
    assert ours == theirs


def made(lib, name):
    """The same module in both, with the same parameters."""
    lib.manual_seed(0)
    layers = lib.nn
    if name == "cnn":
        found = layers.Sequential(
            layers.Conv2d(3, 4, 3), layers.BatchNorm2d(4), layers.ReLU(), layers.Flatten(), layers.Linear(64, 5)
        )
        return found.eval()
    if name == "lstm":
        return layers.LSTM(4, 3, 2, batch_first=True)
    return layers.TransformerEncoder(layers.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()


SHAPES = {"cnn": (2, 3, 6, 6), "lstm": (2, 5, 4), "transformer": (2, 5, 8)}


@pytest.mark.parametrize("name", SHAPES)
def test_programs_give_pytorchs_numbers(name):
    results = []
    for lib in BOTH:
        lib.manual_seed(1)
        x, other = lib.randn(SHAPES[name]), lib.randn((5, *SHAPES[name][1:]))
        running = made(lib, name)
        if lib is rushlight:
            batch = {0: lib.export.Dim("batch")}
            running = lib.export.export(running, (x,), dynamic_shapes=(batch,)).module()
        results.append([each.detach().numpy() for each in lib.utils._pytree.tree_leaves(running(other))])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_signatures():
    found = []
    for lib in BOTH:
        batch = {0: lib.export.Dim("batch")}
        program = lib.export.export(made(lib, "cnn"), (lib.randn(SHAPES["cnn"]),), dynamic_shapes={"input": batch})
        inputs = [(s.kind.name, s.arg.name, s.target, s.persistent) for s in program.graph_signature.input_specs]
        found.append((inputs, list(program.state_dict), list(program.constants), [*program.range_constraints.values()]))
    assert str(found[0]) == str(found[1])


@pytest.mark.slow
def test_errors_and_guards():
    class Adding:
        def __init__(self, lib):
            class Made(lib.nn.Module):
                def forward(self, x, y=None):
                    return x + 1

            self.module, self.lib = Made(), lib

    def calls(lib):
        module, export, batch = Adding(lib).module, lib.export.export, lib.export.Dim("batch")
        x = lib.ones(2, 3)
        program = export(module, (x,), dynamic_shapes={"x": {0: batch}})
        return (
            lambda: export(lambda x: x, (x,)),
            lambda: export(module, x),
            lambda: export(module, (x,), dynamic_shapes={"z": {0: batch}}),
            lambda: export(module, (x,), dynamic_shapes={"x": {0: batch}, "y": None}),
            lambda: program(x),
            lambda: program.module()(lib.ones(2, 4)),
            lambda: program.module()(3),
            lambda: lib.export.save(3, "x"),
            lambda: str(program.graph_signature),
            lambda: program.graph_signature.user_inputs,
            lambda: program.graph_signature.input_specs,
            lambda: program.example_inputs[1],
        )

    for ours, theirs in zip(*map(calls, BOTH)):
        found, expected = outcome(ours), outcome(theirs)
        assert (found if isinstance(found, str) else (found[0], found[1][:60])) == (
            expected if isinstance(expected, str) else (expected[0], expected[1][:60])
        )
