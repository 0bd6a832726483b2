"""What a drawing knows: names, shapes, saved tensors, gradients, limits; and its text form."""

import gc
import weakref

import pytest
from subjects import small_network, unrolled

import rushlight as rl
from rushlight import nn
from rushlight.draw import graph

MLP_TEXT = """\
loss = 0.25
↑ MseLoss []        keeps 40 B
↑ Addmm [5, 1] = y  ← 2.weight [1, 3], 2.bias [1]  keeps 72 B
↑ Relu [5, 3]       keeps 60 B
↑ Addmm [5, 3]      ← x [5, 4], 0.weight [3, 4], 0.bias [3]  keeps 128 B"""

RESIDUAL_TEXT = """\
loss = 2
↑ Sum []
↑ Add [2]
├─Mul #1 is below
↑ Exp [2]     keeps 8 B
↑ Mul #1 [2]  ← w [2]"""


def drawn_network():
    model, x, out, loss = small_network()
    return graph(loss, dict(model.named_parameters()), names={"x": x, "y": out, "loss": loss})


def operations(drawing):
    return {operation.title: operation for operation in drawing.model.operations}


def leaves(drawing):
    return {leaf.name: leaf for leaf in drawing.model.leaves}


def test_text_of_a_network():
    found = (
        drawn_network().text().replace("0.bias [3], x [5, 4], 0.weight [3, 4]", "x [5, 4], 0.weight [3, 4], 0.bias [3]")
    )
    assert found == MLP_TEXT


def test_shared_node_is_drawn_once():
    w = rl.zeros(2, requires_grad=True)
    x = w * 1
    loss = (x + rl.exp(x)).sum()
    del x
    assert graph(loss, names={"w": w}).text() == RESIDUAL_TEXT


def test_the_same_input_twice():
    w = rl.ones(2, requires_grad=True)
    drawing = graph((w * w).sum())
    assert "↑ Mul [2]  ← w [2] ×2" in drawing.text()
    y = w.exp()
    assert "↑ Mul ×2 [2]" in graph((y * y).sum()).text()
    assert len(drawing.model.leaves) == 1 and drawing.model.leaves[0].uses == 2


def test_names_come_from_the_callers_variables():
    weight, bias = rl.ones(2, requires_grad=True), rl.zeros(2, requires_grad=True)
    several = [rl.ones(2, requires_grad=True)]
    by_name = {"scale": rl.ones(2, requires_grad=True)}
    hidden = weight * several[0] * by_name["scale"]
    loss = (hidden + bias).sum()
    drawing = graph(loss)
    assert {leaf.name for leaf in drawing.model.leaves} == {"weight", "bias", "several[0]", "by_name['scale']"}
    assert [each.name for each in drawing.model.operations] == [None, None, "hidden", None]
    assert drawing.model.results[0].name == "loss"


def test_names_come_from_the_callers_module():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    loss = net(rl.ones(1, 2)).sum()
    assert {leaf.name for leaf in graph(loss).model.leaves} == {f"net.{name}" for name, _ in net.named_parameters()}
    assert {leaf.name for leaf in graph(loss, net).model.leaves} == {name for name, _ in net.named_parameters()}


def test_a_name_that_is_given_comes_first():
    w = rl.ones(2, requires_grad=True)
    y = w.exp()
    drawing = graph(y.sum(), names={"the weight": w, "its exponential": y})
    assert drawing.model.leaves[0].name == "the weight"
    assert operations(drawing)["Exp"].name == "its exponential"


def test_parameters_are_told_from_other_leaves():
    model, x, _, loss = small_network()
    assert {leaf.name for leaf in graph(loss).model.parameters} == {
        f"model.{name}" for name, _ in model.named_parameters()
    }
    some = graph(loss, {"0.weight": model[0].weight})
    assert [leaf.name for leaf in some.model.parameters] == ["0.weight"]
    assert x.requires_grad and leaves(some)["x"].is_parameter is False


def test_shapes_and_dtypes_of_results_are_those_of_the_tensors():
    a = rl.ones(2, 3, dtype=rl.float64, requires_grad=True)
    b = a.exp()
    c = b.t().reshape(6) * 2
    d = rl.stack([c, c.sin()]).mean(0)
    e = -d.to(rl.float32)
    loss = e.sum()
    found = {each.title: each.outputs for each in graph(loss).model.operations}
    for title, tensor in (("Exp", b), ("Mul", c), ("Mean", d), ("Neg", e), ("Sum", loss)):
        assert found[title] == [(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))], title
    assert found["Stack"] == [((2, 6), "float64")]


def test_several_outputs():
    x = rl.ones(4, 3, requires_grad=True)
    low, high = x.exp().split(2)
    (operation,) = (each for each in graph((low * high).sum()).model.operations if each.title == "Split")
    assert operation.outputs == [((2, 3), "float32")] * 2


def test_saved_tensors_and_their_bytes():
    w = rl.ones(5, 3, requires_grad=True)
    target = rl.zeros(5, 3)
    scaled = w * target
    loss = scaled.tanh().matmul(w.t()).sum()
    found = operations(graph(loss))
    assert [(s.name, s.shape, s.bytes, s.source) for s in found["Mul"].saved] == [("other", (5, 3), 60, "target")]
    assert [(s.name, s.bytes, s.source) for s in found["Tanh"].saved] == [("result", 60, "its own result")]
    assert sorted((s.bytes, s.source) for s in found["Mm"].saved) == [(60, ""), (60, "result of Tanh")]
    assert found["Sum"].saved == []


@pytest.mark.parametrize("traced", [False, True])
def test_saved_bytes_are_those_that_nodes_show(traced):
    """The `_saved_...` attributes of nodes, which are PyTorch's, name the same tensors."""
    a, b = rl.rand(3, requires_grad=True), rl.rand(3, requires_grad=True)
    with rl.draw.trace() if traced else rl.enable_grad():
        loss = ((a * b).exp() / b).sqrt().sum()
    node = loss.grad_fn
    for operation in graph(loss).model.operations:
        assert operation.node_name == node.name()
        shown = [getattr(node, name) for name in dir(type(node)) if name in ("_saved_self", "_saved_other", "_saved_result")
                 and hasattr(node, name)]  # fmt: skip
        shown = [each for each in shown if isinstance(each, rl.Tensor)]
        assert operation.saved_bytes == sum(each.nbytes for each in shown)
        node = node.next_functions[0][0]


def test_memory_that_several_keep_counts_once_and_leaves_not_at_all():
    w = rl.ones(100, requires_grad=True)
    x = rl.ones(100)
    loss = (w * x + w * x * x).sum()  # x is kept by three products, w * x by none
    assert graph(loss).model.saved_bytes == 400
    assert graph((w * w).sum()).model.saved_bytes == 0


def test_saved_tensors_of_a_custom_function():
    class Cube(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x, power):
            ctx.save_for_backward(x)
            ctx.power = power
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad, None

    x = rl.ones(2, requires_grad=True)
    (operation,) = (each for each in graph(Cube.apply(x, 3).sum()).model.operations if each.title == "Cube")
    assert [(s.name, s.bytes, s.source) for s in operation.saved] == [("saved_tensors[0]", 8, "x")]
    assert operation.family == "own"


def test_writes_through_views_are_drawn():
    w = rl.ones(3, requires_grad=True)
    base = w * 1
    base[0] = w[1] * 2
    drawing = graph(base.sum())
    assert "CopySlices [3] = base" in drawing.text()
    assert "CopySlices" in drawing.svg()


def test_tensors_packed_by_hooks_are_not_unpacked():
    w = rl.ones(3, requires_grad=True)

    def refuse(packed):
        raise AssertionError("a drawing unpacks nothing")

    with rl.autograd.graph.saved_tensors_hooks(lambda tensor: "elsewhere", refuse):
        loss = (w * w).sum()
    assert operations(graph(loss))["Mul"].saved == []


def test_freed_graphs_say_so():
    model, _, _, loss = small_network()
    loss.backward()
    drawing = graph(loss, model)
    assert all(each.freed for each in drawing.model.operations)
    w = rl.ones(2, requires_grad=True)
    loss = (w.exp() + w * 2).t().sum()
    loss.backward()
    assert [each.title for each in graph(loss).model.operations if each.freed] == ["Exp"]
    model, _, _, loss = small_network()
    loss.backward()
    drawing = graph(loss, model)
    assert "freed" in drawing.text() and "freed" in drawing.svg() and drawing.model.saved_bytes == 0


def test_gradients_after_backward():
    w, b = rl.tensor([3.0, 4.0], requires_grad=True), rl.zeros(2, requires_grad=True)
    y = w * 2
    y.retain_grad()
    (y + b.exp()).sum().backward(retain_graph=True)
    drawing = graph((y + b.exp()).sum())
    assert str(leaves(drawing)["w"].gradient) == f"{8**0.5:.3g}"
    assert leaves(drawing)["b"].gradient.norm == pytest.approx(2**0.5)
    assert operations(drawing)["Mul"].gradients[0].norm == pytest.approx(2**0.5)
    assert "w [2] ∇ 2.83" in drawing.text()


def test_nan_and_infinity_are_marked():
    w = rl.tensor([0.0, 1.0], requires_grad=True)
    v = rl.tensor([0.0, 1.0], requires_grad=True)
    (w.sqrt() + (v * 0).sqrt() * 0).sum().backward()
    drawing = graph((w + v).sum())
    assert (leaves(drawing)["w"].gradient.nan, leaves(drawing)["w"].gradient.infinite) == (0, 1)
    assert leaves(drawing)["v"].gradient.nan == 2
    assert "w [2] ∇ ∞" in drawing.text() and "v [2] ∇ NaN" in drawing.text()
    assert drawing.svg().count('class="rl-gradient rl-bad"') == 2
    assert drawing.svg().count("rl-box rl-leaf rl-wrong") == 1  # one box for both
    assert drawing.dot().count('fontcolor="#d6263b"') == 2


def test_drawing_leaves_the_graph_as_it_is_and_keeps_nothing_alive():
    model, _, _, loss = small_network()
    drawing = graph(loss, model, play=True)
    drawing.svg()
    assert model[2].bias.grad is None
    loss.backward()
    assert model[2].bias.grad is not None
    node = weakref.ref(loss.grad_fn)
    del loss
    gc.collect()
    assert node() is None
    assert "MseLoss" in drawing.html()  # and all is still there to be drawn


def test_large_graph_is_cut_and_says_so():
    w = rl.ones(2, requires_grad=True)
    z = w
    for _ in range(100_000):
        z = z + 1
    drawing = graph(z.sum(), limit=20)
    assert drawing.text().endswith("↑ …\n(99,981 more operations are left out: limit=20)")
    assert drawing.text().count("Add") == 19
    assert "99,981 of the operations are left out" in drawing.svg()
    assert "99,981 more operations" in drawing.dot()
    assert repr(drawing) == "<rushlight.draw.Drawing: 20 of 100001 operations>"


def test_leaf_alone_and_result_of_several_numbers():
    w = rl.ones(2, 3, requires_grad=True)
    assert graph(w).text() == "w [2, 3]\n↑ w [2, 3]"
    assert graph(w.exp()).text() == "result [2, 3]\n↑ Exp [2, 3]  ← w [2, 3]  keeps 24 B"
    assert graph(w, play=True, gradient=rl.ones(2, 3)).steps[0].incoming[0].norm == pytest.approx(6**0.5)


def test_several_results():
    w = rl.ones(2, requires_grad=True)
    hidden = w.exp()
    first, second = hidden.sum(), hidden.sin().sum()
    drawing = graph([first, second])
    assert [result.name for result in drawing.model.results] == ["first", "second"]
    assert len(drawing.model.operations) == 4
    assert drawing.text().count("Exp") == 2  # once below each result
    assert "first = " in drawing.svg() and "second = " in drawing.svg()


def test_method_of_tensors():
    w = rl.ones(2, requires_grad=True)
    assert (w * 2).sum().draw().text() == graph((w * 2).sum()).text()
    assert "weights [2]" in (w * 2).sum().draw(names={"weights": w}).text()


def test_errors():
    with pytest.raises(RuntimeError, match=r"does not require grad.*\nhint: nothing to draw"):
        graph(rl.ones(2))
    with pytest.raises(TypeError, match=r"graph\(\) draws tensors, not str"):
        graph(["loss"])
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        graph(rl.ones(2, requires_grad=True), limit=0)
    with pytest.raises(ValueError, match="depth must be at least 0, got -1"):
        graph(rl.ones(2, requires_grad=True), depth=-1)
    with pytest.raises(ValueError, match="scheme must be 'auto', 'light' or 'dark', got 'pink'"):
        graph(rl.ones(2, requires_grad=True)).svg(scheme="pink")


def test_save_chooses_the_form(tmp_path):
    drawing = drawn_network()
    beginnings = {
        "a.svg": "<svg",
        "a.dot": "digraph {",
        "a.gv": "digraph {",
        "a.txt": "loss = 0.25\n",
        "a.HTML": "<!DOCTYPE",
    }
    for name, beginning in beginnings.items():
        drawing.save(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith(beginning) and text.endswith("\n")
    with pytest.raises(ValueError, match=r"cannot tell the form .*: use one of \.svg, \.html"):
        drawing.save(tmp_path / "a.png")
    assert str(drawing) == drawing.text() and drawing._repr_svg_() == drawing.svg()


def test_every_operation_of_a_long_network_stands_in_its_text():
    loss, cell = unrolled(4)
    drawing = graph(loss, cell)
    lines = [line for line in drawing.text().splitlines() if "is below" not in line]
    assert sum("↑" in line or "├─" in line for line in lines) == len(drawing.model.operations)
