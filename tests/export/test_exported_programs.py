"""Exported programs: they give what the module gives, at other sizes, too; what cannot be one program is refused."""

import copy

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compiler.errors import UserError
from rushlight.export import Dim, export
from rushlight.nn import functional as F


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.last = nn.Linear(4 * 16, 5)

    def forward(self, x):
        found = F.max_pool2d(self.norm(self.first(x)).relu(), 2)
        return self.last(found.view(x.shape[0], -1))


class Language(nn.Module):
    """Tokens to tokens, with positions and a causal mask that follow from the length."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)
        self.out = nn.Linear(8, 11)

    def forward(self, tokens):
        length = tokens.shape[1]
        found = self.words(tokens) + self.places(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.out(self.layers(found, mask=mask, is_causal=True))


class Pieces(nn.Module):
    """Halves, gathered rows, products of sizes, and sizes as numbers."""

    def forward(self, x, places):
        half = x[:, : x.shape[1] // 2]
        return half, x[torch.arange(x.shape[0]), places], x.reshape(x.shape[0] * x.shape[1]), x.sum() / x.shape[1]


BATCH, TIME = Dim("batch"), Dim("time")
CASES = {
    "cnn": (Residual, lambda n, t: (torch.randn(n, 3, 8, 8),), ({0: BATCH},)),
    "lstm": (lambda: nn.LSTM(4, 3, 2, bidirectional=True), lambda n, t: (torch.randn(t, n, 4),), ({0: TIME, 1: BATCH},)),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True), lambda n, t: (torch.randn(n, t, 4),), ({0: BATCH, 1: TIME},)),
    "language": (Language, lambda n, t: (torch.randint(0, 11, (n, t)),), ({0: BATCH, 1: TIME},)),
    "attention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda n, t: (torch.randn(n, t, 8),) * 3,
        ({0: BATCH, 1: TIME},) * 3,
    ),
    "pieces": (
        Pieces,
        lambda n, t: (torch.randn(n, t), torch.arange(n) % t),
        ({0: BATCH, 1: TIME}, {0: BATCH}),
    ),
}  # fmt: skip


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def assert_same(found, expected):
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_programs_run_at_other_sizes(name):
    make, inputs, shapes = CASES[name]
    module = make().eval()
    program = export(module, inputs(2, 5), dynamic_shapes=shapes)
    for sizes in ((2, 5), (3, 8), (7, 6)):
        given = inputs(*sizes)
        assert_same(program.module()(*given), module(*given))


def test_gradients_flow_to_the_modules_parameters():
    module, x = Residual().eval(), torch.randn(2, 3, 8, 8)
    program = export(module, (x,))
    module(x).sum().backward()
    expected = [parameter.grad for parameter in module.parameters()]
    module.zero_grad()
    program.module()(x).sum().backward()
    assert_same([parameter.grad for parameter in module.parameters()], expected)


def test_the_module_and_the_generator_are_left_as_they_were():
    class Caching(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.drop, self.cache = nn.BatchNorm1d(3), nn.Dropout(), None

        def forward(self, x):
            if self.cache is None:
                self.cache = torch.arange(3.0)
            return self.drop(self.norm(x)) + self.cache

    module = Caching()
    before = copy.deepcopy(module.state_dict())
    torch.manual_seed(3)
    expected = torch.rand(2)
    x = torch.randn(4, 3)
    torch.manual_seed(3)
    program = export(module, (x,), dynamic_shapes=({0: BATCH},))
    assert_same(torch.rand(2), expected)
    assert module.cache is None
    assert_same(module.state_dict(), before)
    running = program.module()
    running(torch.randn(5, 3))
    assert int(module.norm.num_batches_tracked) == 1  # the program has the module's own buffers


def test_new_tensors_are_new_in_each_call():
    class Summing(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.tensor([1.0, 2.0, 3.0])

        def forward(self, x):
            total, offset, copied = torch.zeros_like(x), torch.tensor([1.0, 2.0, 4.0]), torch.empty_like(x)
            total += x
            offset.add_(x[0])
            copied[:] = total
            return total * self.scale + offset + copied

    module = Summing()
    program = export(module, (torch.randn(2, 3),), dynamic_shapes=({0: BATCH},))
    running, x = program.module(), torch.randn(5, 3)
    for _ in range(2):
        assert_same(running(x), module(x))
    assert set(program.constants) == {"scale", "lifted_tensor_0"}


def test_nested_inputs_and_outputs():
    class Nested(nn.Module):
        def forward(self, pair, *, options, scale=2):
            return {"sum": pair[0] + pair[1], "rest": [options["x"] * scale, 3]}

    x = torch.ones(2)
    program = export(Nested(), ((x, x),), {"options": {"x": x}})
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == ["pair_0", "pair_1", "options_x"]
    found = program.module()((x, 2 * x), options={"x": 3 * x})
    assert_same(found["sum"], 3 * x)
    assert_same(found["rest"][0], 6 * x)
    assert found["rest"][1] == 3
    with pytest.raises(ValueError, match=r"^Trying to flatten user inputs with exported input tree spec: \n"):
        program.module()((x, x, x), options={"x": x})


@pytest.mark.parametrize(
    "forward, operation",
    [
        (lambda x: x if x.sum() > 0 else -x, "neg"),
        (lambda x: x * x.sum().item(), "mul"),
        (lambda x: x * float(x.max()), "mul"),
        (lambda x: x[x > 0], "index"),
        (lambda x: x + torch.tensor(x.tolist()), "add"),
    ],
)
def test_programs_that_depend_on_values_are_refused(forward, operation):
    with pytest.raises(UserError, match=f"data-dependent expression: the call of {operation} depends on the values"):
        export(_module(forward), (torch.randn(3, 4) + 1,))


@pytest.mark.parametrize(
    "forward, hint",
    [
        (lambda x: x.view(2, 3, 2), "the module raises RuntimeError: shape '\\[2, 3, 2\\]' is invalid"),
        (lambda x: x * 2 if x.shape[0] > 2 else x, "another number of operations ran"),
        (lambda x: x * (2 if x.shape[0] > 2 else 0.5), "mul was given 0.5 for one size and 2 for another"),
        (lambda x: x + torch.tensor(list(x.shape))[0], "made from sizes outside"),
        (lambda x: x * x.shape[0] ** 3, "which follows from no size"),
    ],
)
def test_sizes_that_cannot_change_are_refused(forward, hint):
    with pytest.raises(UserError, match=rf"^Constraints violated \(batch\)! For more(.|\n)*hint: (.*){hint}"):
        export(_module(forward), (torch.randn(2, 6),), dynamic_shapes=({0: BATCH},))


def _module(function):
    class Made(nn.Module):
        def forward(self, x):
            return function(x)

    return Made()


def _longer(x):
    return x * 2 if x.shape[1] > 3 else x


def test_branches_away_from_the_example_are_seen():
    """The ends of ranges are tried; what the module refuses there is nobody's business, unless it was said to be taken."""
    x = torch.ones(2, 5)
    with pytest.raises(UserError, match=r"^Constraints violated \(n\)!(.|\n)*another number of operations ran"):
        export(_module(_longer), (x,), dynamic_shapes=({1: Dim("n")},))
    program = export(_module(_longer), (x,), dynamic_shapes=({1: Dim("n", min=4)},))
    assert_same(program.module()(torch.ones(2, 4)), 2 * torch.ones(2, 4))
    with pytest.raises(UserError, match=r"^Constraints violated \(n\)!(.|\n)*another number of operations ran"):
        export(_module(lambda x: x * 2 if x.shape[1] < 12 else x), (x,), dynamic_shapes=({1: Dim("n", max=16)},))
    running = export(_module(_longer), (x,), dynamic_shapes=({1: Dim.DYNAMIC},)).module()
    assert_same(running(torch.ones(2, 8)), 2 * torch.ones(2, 8))
    with pytest.raises(AssertionError, match=r"^Guard failed: "):
        running(torch.ones(2, 3))
    pooling = _module(lambda x: x.unfold(1, 4, 1))
    assert export(pooling, (x,), dynamic_shapes=({1: Dim("n")},)).module()(torch.ones(2, 4)).shape == (2, 1, 4)
    with pytest.raises(
        UserError, match=r"^Constraints violated \(n\)!(.|\n)*with n = 2 the module raises RuntimeError"
    ):
        export(pooling, (x,), dynamic_shapes=({1: Dim("n", min=2)},))


def _turned(x):
    doubled = x * 2
    doubled.unsqueeze_(0)
    doubled.transpose_(1, 2)
    return doubled + 1, doubled.squeeze_()


def test_tensors_that_become_views_of_themselves():
    """As after ``unsqueeze_()``: from then on, what they are then is meant."""
    program = export(_module(_turned), (torch.randn(3, 3),))
    x = torch.randn(3, 3)
    for found, wanted in zip(program.module()(x), _turned(x), strict=True):
        assert_same(found, wanted)
    assert export(nn.Linear(3, 4, bias=False), (torch.ones(3),)).module()(torch.ones(3)).shape == (4,)


def test_guards_name_the_size():
    program = export(nn.ReLU(), (torch.ones(4, 6, 3),), dynamic_shapes=({0: Dim("n", min=2, max=8), 1: 2 * Dim("m")},))
    running = program.module()
    assert running(torch.ones(8, 2, 3)).shape == (8, 2, 3)
    for shape, said in {
        (4, 6): r"len\(input.size\(\)\) == 3",
        (4, 6, 2): r"input.size\(\)\[2\] == 3",
        (9, 6, 3): r"input.size\(\)\[0\] <= 8",
        (1, 6, 3): r"input.size\(\)\[0\] >= 2",
        (4, 5, 3): r"input.size\(\)\[1\] == 2\*m",
    }.items():
        with pytest.raises(AssertionError, match=f"Guard failed: {said}"):
            running(torch.ones(shape))
    assert running(torch.ones(4, 6, 3).double()).dtype is torch.float64  # as in PyTorch, dtypes are not guarded
    assert program.module(check_guards=False)(torch.ones(9, 5)).shape == (9, 5)


def test_one_dim_says_that_sizes_are_equal():
    adding = _two(lambda x, y: x + y)
    running = export(adding, (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: BATCH}, {0: BATCH})).module()
    assert running(torch.ones(4), torch.ones(4)).shape == (4,)
    with pytest.raises(AssertionError, match="Guard failed"):
        running(torch.ones(4), torch.ones(1))
    with pytest.raises(UserError, match="are not equal"):
        export(adding, (torch.ones(3), torch.ones(1)), dynamic_shapes=({0: BATCH}, {0: BATCH}))
    hinted = export(adding, (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.DYNAMIC}))
    assert hinted.module()(torch.ones(5), torch.ones(5)).shape == (5,)
    assert not export(adding, (torch.ones(3),) * 2, dynamic_shapes=([Dim.STATIC], [3])).range_constraints


def _two(function):
    class Made(nn.Module):
        def forward(self, x, y):
            return function(x, y)

    return Made()


def test_collections_of_shapes_and_further_examples():
    x, y = torch.ones(3, 2), torch.ones(3, 2)
    shapes = torch.export.ShapesCollection()
    shapes[x] = {0: BATCH}
    shapes[y] = (BATCH, None)
    program = export(_two(lambda x, y: x * y), (x, y), dynamic_shapes=shapes)
    more = torch.export.AdditionalInputs()
    more.add((torch.ones(5, 2), torch.ones(5, 2)))
    more.verify(program)
    again = export(_two(lambda x, y: x * y), (x, y), dynamic_shapes=more)
    assert [str(each) for each in again.range_constraints.values()] == ["VR[0, int_oo]"]


def test_decompositions_are_what_is_there():
    program = export(nn.Linear(2, 2), (torch.ones(1, 2),))
    copied = program.run_decompositions({})
    assert str(copied) == str(program) and copied.graph is not program.graph
    with pytest.raises(NotImplementedError, match="a table of decompositions is not supported"):
        program.run_decompositions({"add": None})
    with pytest.raises(NotImplementedError, match="unflatten is not in this version"):
        torch.export.unflatten(program)
    with pytest.raises(NotImplementedError, match="preserve_module_call_signature"):
        export(nn.Linear(2, 2), (torch.ones(1, 2),), preserve_module_call_signature=("",))


def test_positions_are_what_they_were_in_all_runs():
    """A constant that the example's tokens happen to equal is no input, and an input is no constant."""
    tokens = torch.tensor([0, 1, 2])
    constant = export(_two(lambda x, i: x[torch.tensor([0, 1, 2])] * i), (torch.arange(3.0), tokens)).module()
    x, other = torch.randn(3), torch.tensor([2, 2, 1])
    assert_same(constant(x, other), x * other)
    chosen = export(_two(lambda x, i: x[i]), (torch.arange(3.0), tokens)).module()
    assert_same(chosen(x, other), x[other])


def test_sizes_in_new_tensors():
    program = export(_module(lambda x: x / torch.tensor(x.shape[0])), (torch.ones(3),), dynamic_shapes=({0: BATCH},))
    assert_same(program.module()(torch.ones(5)), torch.full((5,), 0.2))


def test_writes_into_inputs_leave_the_example_alone():
    x = torch.ones(3)
    program = export(_module(lambda x: x.add_(1)), (x,))
    assert_same(x, torch.ones(3))
    program.module()(x)
    assert_same(x, 2 * torch.ones(3))


def test_modules_that_check_values_are_refused():
    rows = torch.nn.utils.rnn.pack_padded_sequence
    module = _two(lambda x, lengths: rows(x, lengths).data)
    with pytest.raises(
        UserError, match=r"refuses other values of the inputs\nhint: .* raises RuntimeError: `lengths` array"
    ):
        export(module, (torch.ones(3, 2, 4), torch.tensor([3, 2])))
