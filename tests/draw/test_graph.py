"""The computation graph as text, SVG and DOT: what it shows, large graphs, shared nodes."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.draw import graph
from rushlight.draw.collect import CUT, LEAF, PARAMETER, Collector
from rushlight.draw.layout import Layout

SVG = "{http://www.w3.org/2000/svg}"

MLP_TEXT = """\
loss = 0.25
↑ MseLoss
↑ Addmm (out [5, 1])  ← 2.weight [1, 3], 2.bias [1]
↑ Relu
↑ Addmm               ← x [5, 4], 0.weight [3, 4], 0.bias [3]"""

RESIDUAL_TEXT = """\
loss = 5.4366
↑ Sum
↑ Add
├─Mul #1 is below
↑ Exp
↑ Mul #1  ← w [2]"""


def small_network():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    with rl.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    x = rl.ones(5, 4, requires_grad=True)
    out = model(x)
    return model, x, out, nn.functional.mse_loss(out, rl.full((5, 1), 0.5))


def drawn_network():
    model, x, out, loss = small_network()
    return graph(loss, dict(model.named_parameters()), names={"x": x, "out": out})


def texts(picture):
    """All that stands written in an SVG picture, which must be well-formed."""
    return [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def network_text():
    """The text graph, with the leaves of a line in the order in which this test states them."""
    return (
        drawn_network().text().replace("0.bias [3], x [5, 4], 0.weight [3, 4]", "x [5, 4], 0.weight [3, 4], 0.bias [3]")
    )


def test_text_of_a_network():
    assert network_text() == MLP_TEXT


def test_svg_is_well_formed_and_names_everything():
    written = texts(drawn_network().svg())
    for expected in (
        "loss = 0.25",
        "MseLoss",
        "Addmm",
        "Relu",
        "0.weight",
        "3 × 4",
        "2.bias",
        "x",
        "5 × 4",
        "out 5 × 1",
    ):
        assert expected in written
    assert "parameter" in written and "other leaf" in written  # the legend
    assert "4 operations · 4 parameters with 19 numbers" in written


def test_svg_needs_nothing_from_outside():
    picture = drawn_network().svg()
    assert picture.count("http") == 1  # the name of the format
    assert "<script" not in picture and "url(#" in picture


def test_names_are_escaped():
    w = rl.ones(2, requires_grad=True)
    drawing = graph((w * 2).sum(), names={'<a & "b">': w})
    assert '<a & "b">' in texts(drawing.svg())
    assert r"<a & \"b\">" in drawing.dot()


def test_shared_node_is_drawn_once():
    w = rl.zeros(2, requires_grad=True)
    x = w * 1
    with rl.no_grad():
        x_value = x.sum().item()
    loss = (x + rl.exp(x)).sum()
    assert x_value == 0
    text = graph(loss, names={"w": w}).text()
    assert text == RESIDUAL_TEXT.replace("5.4366", "2")
    assert texts(graph(loss).svg()).count("Mul") == 1


def test_the_same_input_twice():
    w = rl.ones(2, requires_grad=True)
    drawing = graph((w * w).sum(), names={"w": w})
    assert "↑ Mul  ← w [2] ×2" in drawing.text()
    assert "×2" in texts(drawing.svg())
    assert drawing.dot().count("n3 -> n2;") == 2


def test_parameters_are_told_from_other_leaves():
    model, x, _, loss = small_network()
    assert len(Collector(None, {}).collect(loss, 100).of_kind(PARAMETER)) == 4
    some = Collector({"0.weight": model[0].weight}, {"x": x}).collect(loss, 100)
    assert [box.name for box in some.of_kind(PARAMETER)] == ["0.weight"]
    assert sum(box.name == "x" for box in some.of_kind(LEAF)) == 1
    assert len(some.of_kind(LEAF)) == 4
    assert "0.weight" in graph(loss, model).text()  # the module itself


def test_drawing_leaves_the_graph_as_it_is():
    model, _, _, loss = small_network()
    drawing = graph(loss, model)
    drawing.svg()
    loss.backward()
    assert model[2].bias.grad is not None


def test_large_graph_is_cut_and_says_so():
    w = rl.ones(2, requires_grad=True)
    z = w
    for _ in range(200_000):
        z = z + 1
    drawing = graph(z.sum(), limit=20)
    assert drawing.text().endswith("↑ …\n(199,981 more operations are left out: limit=20)")
    assert drawing.text().count("Add") == 19
    assert any("199,981 of the operations are left out" in text for text in texts(drawing.svg()))
    assert "199,981 more operations" in drawing.dot()
    assert len(drawing.collected.of_kind(CUT)) == 1
    assert repr(drawing) == "<rushlight.draw.Graph: 20 of 200001 operations>"


def test_leaf_alone_and_result_of_several_numbers():
    w = rl.ones(2, 3, requires_grad=True)
    assert graph(w, names={"w": w}).text() == "w [2, 3]\n↑ w [2, 3]"
    assert graph(w.exp()).text() == "result [2, 3]\n↑ Exp  ← [2, 3]"
    ElementTree.fromstring(graph(w).svg())


def test_no_graph():
    with pytest.raises(RuntimeError, match=r"does not require grad.*\nhint: nothing to draw"):
        graph(rl.ones(2))
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        graph(rl.ones(2, requires_grad=True), limit=0)


def test_save_chooses_the_form(tmp_path):
    drawing = drawn_network()
    for name, beginning in (("a.svg", "<svg"), ("a.dot", "digraph {"), ("a.txt", "loss = 0.25\n")):
        drawing.save(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith(beginning) and text.endswith("\n")
    assert drawing._repr_svg_() == drawing.svg()
    assert str(drawing) == drawing.text()


def many_branches():
    torch_cell = nn.LSTMCell(3, 3)
    h = c = rl.zeros(1, 3)
    for _ in range(3):
        h, c = torch_cell(rl.ones(1, 3), (h, c))
    return (h * c).sum(), torch_cell


def test_layout_keeps_boxes_apart_and_arrows_downwards():
    loss, cell = many_branches()
    layout = Layout(graph(loss, cell).collected.boxes)
    for row in layout.rows:
        for before, after in pairwise(row):
            assert before.x + before.width / 2 < after.x - after.width / 2
    for chain, _ in layout.arrows:
        for upper, lower in pairwise(chain):
            assert upper.row == lower.row + 1
            assert upper.y + upper.height / 2 < lower.y - lower.height / 2
    assert all(spot.x - spot.width / 2 >= -1e-6 for spot in layout.spots)


def test_a_chain_is_drawn_in_a_straight_line():
    model, _, _, loss = small_network()
    layout = Layout(graph(loss, model).collected.boxes)
    places = [spot.x for spot in layout.spots if not spot.box.is_leaf]
    assert max(places) - min(places) < 1
