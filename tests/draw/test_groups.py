"""Places in the code, and modules as groups: traced, guessed, folded to a depth, taken apart where they cannot be boxes."""

import os
import threading

import pytest
from subjects import Tower, small_network, unrolled

import rushlight as rl
from rushlight import nn
from rushlight.autograd.modes import PLAIN, state
from rushlight.draw import graph, trace
from rushlight.nn.modules.hooks import global_forward_hooks, global_forward_pre_hooks

FILE = os.path.abspath(__file__)


def line_of(text):
    with open(FILE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line and "line_of" not in line)


def traced_tower(blocks=3):
    torch_model = Tower(blocks)
    with trace():
        loss = torch_model(rl.ones(3, 2)).sum()
    return loss, torch_model


def names_of(drawing):
    return [group.label for group in drawing.tree.groups[1:]]


def test_nodes_remember_their_lines():
    w = rl.ones(3, requires_grad=True)
    before = w * 5
    with trace():
        y = before.exp()  # the first traced line
        z = rl.stack([y, y])[0]  # the second traced line
        z[0] = w[1]  # the third traced line
    drawing = graph(z.sum())
    places = {each.title: each.place for each in drawing.model.operations}
    assert places["Mul"] is None and places["Sum"] is None
    for title, text in (("Exp", "the first traced line"), ("Stack", "the second"), ("CopySlices", "the third")):
        assert (places[title].file, places[title].line) == (FILE, line_of(text)), title
        assert text in places[title].code
    line = line_of("the first traced line")
    assert f"test_groups.py:{line}" in drawing.text() and f"test_groups.py:{line}" in drawing.svg()
    assert f"test_groups.py:{line}" in drawing.dot()
    assert f"test_groups.py:{line}" not in drawing.text(places=False)


def test_anomaly_mode_gives_places_too():
    w = rl.ones(3, requires_grad=True)
    with rl.autograd.set_detect_anomaly(True):
        loss = w.exp().sum()  # anomalous
    places = [each.place for each in graph(loss).model.operations]
    assert [(place.file, place.line) for place in places] == [(FILE, line_of("# anomalous"))] * 2


def test_custom_functions_and_modules_of_the_package_have_the_users_line():
    class Twice(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    layer = nn.Linear(2, 2)
    with trace():
        loss = Twice.apply(layer(rl.ones(1, 2)))  # both in one line
    assert {each.place.line for each in graph(loss.sum()).model.operations if each.place} == {
        line_of("both in one line")
    }


def test_trace_costs_nothing_when_it_is_over():
    assert state.recording == PLAIN and state.observers == ()
    with trace():
        with trace():
            assert state.recording > PLAIN
        assert state.recording > PLAIN and len(state.observers) == 1
    assert state.recording == PLAIN and state.observers == ()
    assert not global_forward_hooks and not global_forward_pre_hooks
    with pytest.raises(ZeroDivisionError), trace():
        raise ZeroDivisionError
    assert state.recording == PLAIN and not global_forward_hooks


def test_gradients_are_the_same_while_traced():
    model = Tower()
    x = rl.rand(3, 2)
    plain = rl.autograd.grad(model(x).sum(), list(model.parameters()))
    with trace():
        loss = model(x).sum()
    for one, other in zip(plain, rl.autograd.grad(loss, list(model.parameters()))):
        assert one.equal(other)


def test_calls_of_modules_become_groups():
    loss, torch_model = traced_tower()
    drawing = graph(loss)
    blocks = [f"body.{number} · Block" for number in range(3)]
    assert sorted(names_of(drawing)) == sorted(["Tower", "body · Sequential", *blocks])
    for group in drawing.tree.groups[1:]:
        if group.class_name == "Block":
            titles = sorted(drawing.model.operations[number].title for number in group.operations)
            assert titles == ["Add", "Addmm", "Addmm", "NativeLayerNorm", "Tanh"]
    labels = {label.label for label in drawing.tree.labels.values()}
    assert {"stem · Linear", "head · Linear", "body.1.norm · LayerNorm", "body.0.second · Linear"} <= labels
    assert {leaf.name for leaf in drawing.model.leaves} == {
        f"torch_model.{name}" for name, _ in torch_model.named_parameters()
    }


def test_parameters_nobody_has_a_variable_for_are_named_by_the_trace():
    def hidden():
        model = Tower(1)
        with trace():
            return model(rl.ones(3, 2)).sum(), [model]

    loss, keep = hidden()
    assert {leaf.name for leaf in graph(loss).model.leaves} == {name for name, _ in keep[0].named_parameters()}


def test_each_call_of_a_shared_module_is_a_group():
    cell = nn.LSTMCell(2, 2)
    with trace():
        h, c = cell(rl.ones(1, 2))
        h, c = cell(rl.ones(1, 2), (h, c))
        loss = h.sum()
    assert names_of(graph(loss)) == ["LSTMCell", "LSTMCell"]


def test_a_module_that_raised_is_over():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError

    after = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with trace():
        with pytest.raises(ValueError):
            nn.Sequential(Fails())(rl.ones(1, 2))
        loss = after(rl.ones(1, 2)).sum()
    assert names_of(graph(loss)) == ["Sequential"]


def test_other_threads_do_not_mix_their_modules_in():
    model, other = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Linear(2, 2)
    thread = threading.Thread(target=lambda: other(rl.ones(1, 2)))

    def run_other(module, args):
        thread.start()
        thread.join()

    with trace():
        model.register_forward_pre_hook(run_other)
        loss = model(rl.ones(1, 2)).sum()
    assert names_of(graph(loss)) == ["Sequential"]


def test_groups_are_guessed_from_the_names_of_parameters():
    model = Tower()
    loss = model(rl.ones(3, 2)).sum()
    drawing = graph(loss)
    assert {f"model.body.{number} · Block" for number in range(3)} <= set(names_of(drawing))
    for group in drawing.tree.groups[1:]:
        if group.class_name == "Block":
            titles = {drawing.model.operations[number].title for number in group.operations}
            assert {"NativeLayerNorm", "Addmm", "Tanh"} <= titles
    home = drawing.tree.home[0]
    assert drawing.model.operations[0].title == "Sum" and home.parent is None  # the loss belongs to no module


def test_depth_folds_groups():
    loss, _ = traced_tower()
    drawing = graph(loss)
    folded = drawing.text(depth=0)
    assert "▸ Tower: 18 operations  ← 22 leaves" in folded and "Addmm" not in folded
    one = drawing.text(depth=1)
    assert "▸ body · Sequential: 15 operations" in one and one.count("Addmm") == 2
    assert drawing.text(depth=2).count("▸ body.") == 3
    whole = drawing.text(depth=9)
    assert "▸" not in whole and whole.count("Addmm") == 8
    assert "Tower › body · Sequential › body.1 · Block" in whole
    for depth, boxes in ((0, 2), (1, 5), (2, 7), (3, 19)):
        assert (
            drawing.svg(depth=depth).count("rl-box rl-op") + drawing.svg(depth=depth).count("rl-box rl-folded") == boxes
        )
    assert drawing.dot(depth=1).count("shape=box3d") == 1 and drawing.dot(depth=0).count("subgraph") == 0
    assert graph(loss, depth=0).text() == folded


def test_a_large_network_is_folded_by_itself():
    loss, _ = traced_tower(40)
    drawing = graph(loss)
    assert drawing.text().count("Block: 5 operations") == 40
    assert len(drawing.text().splitlines()) < 60
    loss, _ = traced_tower(100)
    assert "body · Sequential: 500 operations" in graph(loss).text()


def test_groups_that_data_leaves_and_enters_again_are_taken_apart():
    w = nn.Parameter(rl.ones(2))

    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.v = nn.Parameter(rl.ones(2)), nn.Parameter(rl.ones(2))

    model = nn.ModuleDict({"left": Half(), "right": Half()})
    left, right = model["left"], model["right"]
    loss = ((w * left.w * right.w * left.v * right.v).exp()).sum()
    drawing = graph(loss)  # left, right, left, right: neither is a box
    assert not {"model.left · Half", "model.right · Half"} & set(names_of(drawing))
    drawing.svg()


def test_a_layer_used_twice_does_not_take_the_blocks_between_apart():
    model = Tower()
    model.head = nn.Linear(4, 4)
    hidden = model.head(model.stem(rl.ones(3, 2)))  # the same layer before and behind the blocks
    loss = model.head(model.body(hidden)).sum()
    groups = names_of(graph(loss))
    assert {f"model.body.{number} · Block" for number in range(3)} <= set(groups)
    assert "model.head · Linear" not in groups


def test_ways_around_a_block_belong_to_it():
    """Guessed as they are traced: the sum at the end of a block stands where the next one begins."""
    model = Tower()
    drawing = graph(model(rl.ones(3, 2)).sum())
    assert not [label for label in names_of(drawing) if label.endswith("Linear")]
    for group in drawing.tree.groups:
        if group.class_name == "Block":
            assert len(group.operations) == 4


def test_small_network_has_no_frame_within_a_frame():
    model, x, _, loss = small_network()
    with trace():
        loss = nn.Sequential(model)(x).sum()
    drawing = graph(loss)
    assert len(drawing.tree.groups) == 2


def test_recurrent_cell_without_trace():
    loss, cell = unrolled(3)
    drawing = graph(loss, cell)
    assert drawing.text().count("Addmm") >= 6
