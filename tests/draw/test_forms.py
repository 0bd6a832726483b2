"""SVG, DOT and HTML: well-formed, complete, and without anything from the network."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from subjects import Tower, small_network, unrolled

import rushlight as rl
from rushlight.draw import graph, trace

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "input", "br", "link", "img"}


def texts(picture):
    """All that stands written in an SVG picture, which must be well-formed."""
    return [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def drawn_network(**options):
    model, x, out, loss = small_network()
    return graph(loss, model, names={"x": x, "y": out}, **options)


def drawn_tower(**options):
    model = Tower()
    with trace():
        loss = model(rl.rand(3, 2)).sum()
    return graph(loss, **options)


class Elements(HTMLParser):
    """Reads a page; every element must be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.attributes, self.texts = [], [], {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get("id")))

    def handle_startendtag(self, tag, attributes):
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][1]:
            identity = self.open[-1][1]
            self.texts[identity] = self.texts.get(identity, "") + data


def test_svg_names_everything():
    written = texts(drawn_network().svg())
    for expected in (
        "loss = 0.25",
        "MseLoss",
        "Addmm",
        "Relu",
        "weight",
        "3 × 4",
        "bias",
        "x",
        "5 × 4",
        "y · 5 × 1",
        "keeps 40 B",
    ):
        assert expected in written, expected
    assert {"parameter", "other leaf", "products", "losses"} <= set(written)  # the legend
    assert "4 operations · 4 parameters with 19 numbers · 100 B kept for backward" in written


def test_svg_tells_more_under_the_mouse():
    titles = [each.text for each in ElementTree.fromstring(drawn_network().svg()).iter(f"{SVG}title")]
    assert any(
        "MseLossBackward0\nresult: [] float32\nkeeps self (y): [5, 1] float32, 20 B" in title for title in titles
    )
    assert "0.weight: [3, 4] float32" in titles


@pytest.mark.parametrize("draw", [drawn_network, drawn_tower])
def test_svg_needs_nothing_from_outside(draw):
    picture = draw().svg()
    assert picture.count("http") == 1  # the name of the format
    assert "<script" not in picture and "url(" not in picture and "@import" not in picture


def test_schemes():
    drawing = drawn_network()
    assert "prefers-color-scheme" in drawing.svg()
    light, dark = drawing.svg(scheme="light"), drawing.svg(scheme="dark")
    assert "prefers-color-scheme" not in light + dark and light != dark
    assert light.partition("</style>")[2] == dark.partition("</style>")[2]


def test_odd_names_are_escaped():
    w = rl.ones(2, requires_grad=True)
    drawing = graph((w * 2).sum(), names={'</script><a & "b">': w}, play=True)
    assert '</script><a & "b">' in texts(drawing.svg())
    assert r"</script><a & \"b\">" in drawing.dot()
    page = drawing.html()
    assert page.count("</script>") == 3
    assert json.loads(Elements(page).texts["graph"])["leaves"][0]["name"] == '</script><a & "b">'


def test_frames_of_groups_hold_their_boxes():
    root = ElementTree.fromstring(drawn_tower().svg())
    frames = [[float(each.get(key)) for key in ("x", "y", "width", "height")] for each in root.iter(f"{SVG}rect")
              if each.get("class") == "rl-frame"]  # fmt: skip
    assert len(frames) == 5  # Tower, body, and three blocks
    x, y, width, height = frames[0]
    for inner in frames[1:]:
        assert x < inner[0] and y < inner[1]
        assert inner[0] + inner[2] < x + width and inner[1] + inner[3] < y + height


def parsed_dot(text):
    """(nodes, arrows, clusters) of a graph in Graphviz's language."""
    nodes = dict(re.findall(r'^ *(\w+) \[label="((?:[^"\\]|\\.)*)"', text, re.MULTILINE))
    arrows = re.findall(r"^ *(\w+) -> (\w+)", text, re.MULTILINE)
    clusters = re.findall(r"^ *subgraph cluster_(\d+) \{", text, re.MULTILINE)
    assert text.count("{") - text.count(r"\{") == text.count("}")
    return nodes, arrows, clusters


def test_dot_has_every_node_and_arrow():
    drawing = drawn_network()
    nodes, arrows, clusters = parsed_dot(drawing.dot())
    assert nodes["n0"].split(r"\n") == ["MseLoss", "keeps 40 B"]
    assert nodes["n1"].startswith(r"Addmm  (2 · Linear)\ny · 5 × 1")
    assert {label.split(r"\n")[0] for key, label in nodes.items() if key[0] == "l"} == {
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
        "x",
    }
    expected = {("n0", "r0")}
    for operation in drawing.model.operations:
        for kind, number, _ in filter(None, operation.inputs):
            expected.add((f"{kind[0].replace('o', 'n')}{number}", f"n{operation.number}"))
    assert set(arrows) == expected and len(arrows) == len(expected)
    assert clusters == ["1"]


def test_dot_repeats_arrows_of_the_same_input():
    w = rl.ones(2, requires_grad=True)
    assert graph((w * w).sum()).dot().count("l0 -> n1;") == 2


@pytest.mark.parametrize("play", [False, True])
@pytest.mark.parametrize("draw", [drawn_network, drawn_tower])
def test_page_is_well_formed_and_holds_the_graph(draw, play):
    drawing = draw(play=play)
    elements = Elements(drawing.html())
    assert json.loads(elements.texts["graph"]) == json.loads(json.dumps(drawing.data()))
    layout = json.loads(elements.texts["layout"])
    boxes = {
        key for level in layout["levels"] for key in level["spots"] if key and key.split("-")[0] not in ("in", "out")
    }
    assert boxes == set(layout["extents"])
    assert boxes >= {f"operation-{number}" for number in range(len(drawing.model.operations))}
    assert {value for key, value in elements.attributes if key == "id"} >= boxes


@pytest.mark.parametrize("draw", [drawn_network, drawn_tower])
def test_page_needs_nothing_from_outside(draw):
    page = draw(play=True).html()
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {"http://www.w3.org/2000/svg"}
    elements = Elements(page)
    assert not [value for key, value in elements.attributes if key in ("src", "href", "srcset", "data")]
    assert "@import" not in page and "url(" not in page and "fetch(" not in page and "XMLHttpRequest" not in page


def test_data_is_the_graph():
    drawing = drawn_tower(play=True)
    data = drawing.data()
    for operation, found in zip(drawing.model.operations, data["operations"]):
        assert found["title"] == operation.title and found["node"] == operation.node_name
        assert found["place"]["line"] == operation.place.line if operation.place else found["place"] is None
        assert sum(each["bytes"] for each in found["saved"]) == operation.saved_bytes
        assert found["rule"] in data["rules"]
        assert [None if each is None else (each["kind"], each["number"]) for each in found["inputs"]] == [
            None if each is None else each[:2] for each in operation.inputs
        ]
    for number, group in enumerate(data["groups"]):
        assert all(data["groups"][inner]["parent"] == number for inner in group["groups"])
        assert all(data["operations"][inner]["group"] == number for inner in group["operations"])


def test_rules_are_the_tables_own_formulas():
    w = rl.ones(2, requires_grad=True)
    rules = graph(((w * 2).exp() @ w).sum(), play=False).data()["rules"]
    assert "return times_conjugate(grad, " in rules["mul"]["parts"][0]["code"]
    assert rules["mul"]["schema"].startswith("mul(") and rules["mul"]["place"].startswith("rushlight/ops/elementwise/")
    assert any("grad" in part["code"] for part in rules["exp"]["parts"])


def test_rules_of_custom_functions_are_their_backward():
    class Twice(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2  # the user's own

    rules = graph(Twice.apply(rl.ones(2, requires_grad=True)).sum()).data()["rules"]
    assert "return grad * 2  # the user's own" in rules["TwiceBackward"]["parts"][0]["code"]
    assert rules["TwiceBackward"]["place"].startswith("test_forms.py:")
    made = {}
    exec(
        "class Typed(rl.autograd.Function):\n  forward = staticmethod(lambda ctx, x: x * 2)\n"
        "  backward = staticmethod(lambda ctx, grad: grad * 2)",
        {"rl": rl},
        made,
    )
    rules = graph(made["Typed"].apply(rl.ones(2, requires_grad=True)).sum()).data()["rules"]
    assert rules["TypedBackward"]["parts"][0]["code"].endswith("its source is not at hand")


def test_notebooks_get_the_page_in_a_frame_of_its_own():
    drawing = drawn_network(play=True)
    (value,) = [value for key, value in Elements(drawing._repr_html_()).attributes if key == "srcdoc"]
    assert value == drawing.html()


def test_every_node_of_many_kinds_can_be_drawn():
    """Lists of tensors, index arrays, views, several outputs, complex numbers: all forms take them."""
    a = rl.rand(4, 3, dtype=rl.float64, requires_grad=True)
    low, high = a.chunk(2)
    parts = [a[[0, 2]].sum(), a.sort(1)[0].prod(), rl.cat([low, high, a]).std(), a.to(rl.complex64).abs().sum()]
    parts += [rl.where(a > 0.5, a, -a).max(), rl.einsum("ij,kj->ik", a, a).logsumexp(1).sum(), a.cumsum(0)[-1].norm()]
    loss = sum(parts) + unrolled(2)[0]
    drawing = graph(loss, play=True)
    texts(drawing.svg())
    Elements(drawing.html())
    parsed_dot(drawing.dot())
    assert "complex64" in drawing.text()
