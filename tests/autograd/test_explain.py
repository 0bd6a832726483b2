"""``rushlight.explain``: the words and the facts, for tensors and modules."""

import inspect

import pytest

import rushlight as rl
from rushlight import nn


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def line_above():
    return inspect.currentframe().f_back.f_lineno - 1


class Ignoring(rl.autograd.Function):
    """Its backward has no gradient to give."""

    @staticmethod
    def forward(ctx, x):
        ctx.kept = x
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None


# ---------------------------------------------------------------- requires_grad


def test_the_name_is_that_of_the_callers_variable():
    weight = leaf(1.0, 2.0)
    found = rl.explain(weight)
    assert found.name == "weight"
    assert str(found).startswith("`weight`: shape [2], float32\n")
    assert repr(found) == str(found)


def test_integers_cannot_require_grad():
    for tensor in (rl.arange(3), leaf(1.0, 2.0) > 1, leaf(1.0, 2.0).argmax()):
        found = rl.explain(tensor)
        assert (found.requires_grad, found.why_requires_grad) == (False, "dtype")
        assert repr(tensor.dtype) in str(found)


def test_a_detached_tensor_names_its_source():
    x = leaf(1.0, 2.0)
    found = rl.explain(x.detach())
    assert found.why_requires_grad == "detached"
    assert "shares its memory with `x`" in str(found)
    assert rl.explain(x.data).why_requires_grad == "detached"


def test_a_view_made_under_no_grad():
    x = leaf(1.0, 2.0)
    with rl.no_grad():
        part = x[:1]
    found = rl.explain(part)
    assert found.requires_grad == part.requires_grad
    assert (found.why_requires_grad, found.why_grad_is_none, found.nodes) == ("no_grad", "no_grad", 0)
    assert "a view of `x` (shape [2])" in " ".join(str(found).split())


def test_a_tensor_of_inference_mode():
    with rl.inference_mode():
        x = rl.ones(2) * 2
    assert rl.explain(x).why_requires_grad == "inference_mode"


def test_what_is_not_stored_is_told_as_possible_causes():
    x = leaf(1.0, 2.0)
    with rl.no_grad():
        result = x * 2
        inside = rl.explain(result)
    assert inside.why_requires_grad == "not recorded"
    assert any("no_grad" in cause for cause in inside.possible_causes)
    assert "recording is off here" in str(inside)
    assert "recording is off here" not in str(rl.explain(result))
    assert rl.explain(x).possible_causes == []


def test_what_requires_grad_and_why():
    x = leaf(1.0, 2.0)
    assert rl.explain(x).why_requires_grad == "leaf"
    assert rl.explain(x * 2).why_requires_grad == "computed"
    assert rl.explain(x[:1]).why_requires_grad == "view"
    assert "nn.Parameter" in str(rl.explain(nn.Parameter(rl.ones(2))))


def test_a_view_with_a_broken_history_says_so():
    x = leaf(1.0, 2.0) * 1
    first, _ = x.unbind()
    with rl.no_grad():
        x.mul_(2)
    x.mul_(2)
    found = rl.explain(first)
    assert found.why_requires_grad == "invalid view"
    assert "modified inplace" in str(found)


# ---------------------------------------------------------------- grad


def test_a_leaf_before_backward_names_what_uses_it():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    found = rl.explain(x)
    assert found.why_grad_is_none == "no backward yet"
    assert "used by MulBackward0, on the way to `loss` (shape [])" in " ".join(str(found).split())
    del loss


def test_a_gradient_that_is_there_is_described():
    x = leaf(3.0, 4.0)
    (x * x).sum().backward()
    assert "norm 10" in str(rl.explain(x))
    x.grad[0] = float("nan")
    assert "1 of 2 elements are NaN or infinite" in str(rl.explain(x))


def test_a_parameter_that_the_last_backward_did_not_reach():
    used, unused = leaf(1.0), leaf(2.0)
    (used * 2).sum().backward()
    line = line_above()
    found = rl.explain(unused)
    assert found.why_grad_is_none == "not reached"
    assert f"{__file__}:{line}" in str(found)
    pair = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    pair[0](rl.ones(1, 1)).sum().backward()
    text = " ".join(str(rl.explain(pair[1].weight)).split())
    assert text.startswith("`pair.1.weight`")
    assert "2 of 4 parameters of `pair` have a gradient" in text


def test_a_gradient_that_was_cleared():
    x = leaf(1.0)
    loss = x.exp().sum()
    loss.backward()
    line = line_above()
    x.grad = None
    found = rl.explain(x)
    assert found.why_grad_is_none == "cleared, or not stored"
    assert f"{__file__}:{line}" in str(found) and "zero_grad()" in str(found)
    assert loss.requires_grad


def test_a_custom_function_that_returned_none():
    x = leaf(1.0)
    y = Ignoring.apply(x).sum()
    y.backward()
    found = rl.explain(x)
    assert found.why_grad_is_none == "None from a custom Function"
    assert "IgnoringBackward" in str(found)


def test_results_and_views():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert rl.explain(y).why_grad_is_none == "not a leaf"
    y.retain_grad()
    assert rl.explain(y).why_grad_is_none == "no backward yet"
    found = rl.explain(x[:1])
    assert found.why_grad_is_none == "view of a leaf"
    assert "leaf `x`" in str(found)
    assert rl.explain(rl.ones(2)).why_grad_is_none == "does not require grad"


def test_asking_does_not_warn_or_change_anything():
    x = leaf(1.0, 2.0)
    y = x.exp()
    before = y._version
    rl.explain(y)
    y.sum().backward()
    assert y._version == before and x.grad is not None


# ---------------------------------------------------------------- the graph


def test_what_backward_reaches_and_holds():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    hidden = (x * w).exp()
    loss = hidden.sum()
    found = rl.explain(loss)
    assert sorted(found.reaches) == ["w", "x"]
    assert found.operations == {"SumBackward0": 1, "ExpBackward0": 1, "MulBackward0": 1}
    assert found.nodes == 5
    assert (found.saved_tensors, found.saved_bytes, found.saved_by_leaves) == (3, 24, 16)
    assert found.kept_alive_by == ["`hidden` (shape [2])"]
    assert found.freed is None


def test_memory_that_is_saved_twice_counts_once():
    x = leaf(*[1.0] * 100)
    loss = (x[:50] * x[50:]).sum()
    found = rl.explain(loss)
    assert found.saved_tensors == 2
    assert found.saved_bytes == 400


def test_what_a_custom_function_keeps_on_ctx_counts():
    x = leaf(1.0, 2.0)
    assert rl.explain(Ignoring.apply(x)).saved_bytes == 8


def test_a_freed_graph_names_the_call_that_freed_it():
    loss = leaf(1.0).exp().sum()
    loss.backward()
    line = line_above()
    found = rl.explain(loss)
    assert found.freed == (__file__, line)
    assert f"It would raise: the backward call at {__file__}:{line} freed" in " ".join(str(found).split())
    assert found.saved_bytes == 0


def test_a_list_of_losses_that_keeps_graphs_alive():
    x = leaf(1.0, 2.0)
    hidden = x.exp()
    losses = [hidden.sum() for _ in range(2)]
    found = rl.explain(hidden)
    assert sorted(found.kept_alive_by) == ["`losses[0]` (shape [])", "`losses[1]` (shape [])"]
    assert rl.explain(losses[0]).name == "losses[0]"
    assert sorted(rl.explain(losses[0]).kept_alive_by) == ["`hidden` (shape [2])", "`losses[1]` (shape [])"]


def test_a_deep_graph():
    y = leaf(1.0)
    for _ in range(20_000):
        y = y + 1
    assert rl.explain(y).nodes == 20_001


# ---------------------------------------------------------------- modules


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.forgotten, self.fixed = nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1)
        self.fixed.requires_grad_(False)

    def forward(self, x):
        return self.fixed(self.used(x))


def test_a_module_before_and_after_backward():
    net = Two()
    found = rl.explain(net)
    assert found.name == "`net`"
    assert found.parameters == 9 + 12 + 4 and found.bytes == 100
    assert found.with_gradient == []
    assert "No parameter has a gradient" in str(found)
    net(rl.ones(1, 2)).sum().backward()
    line = line_above()
    found = rl.explain(net)
    assert found.frozen == ["fixed.weight", "fixed.bias"]
    assert found.without_gradient == ["forgotten.weight", "forgotten.bias"]
    assert found.unreached_modules == ["forgotten"]
    assert f"{__file__}:{line}" in str(found)


def test_a_module_with_nan_and_zero_gradients():
    net = nn.Linear(2, 2)
    net(rl.zeros(1, 2)).sum().backward()
    net.bias.grad[0] = float("inf")
    found = rl.explain(net)
    assert (found.with_nan, found.with_zero) == (["bias"], ["weight"])
    assert "find_nonfinite" in str(found)


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="takes a tensor or a module, not list\nhint: "):
        rl.explain([1.0])


def test_looking_at_the_callers_variables_keeps_none_of_them_alive():
    import weakref

    x = leaf(1.0)
    reference = weakref.ref(x)
    rl.explain(rl.ones(1))
    del x
    assert reference() is None


def test_a_module_with_stale_gradients():
    heads = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1), nn.Linear(2, 1, bias=False)])
    x = rl.ones(1, 2)
    heads[0](x).backward()
    line = line_above()
    assert not rl.explain(heads).stale
    heads[1](x).backward(retain_graph=True)
    found = rl.explain(heads)
    assert list(found.stale) == ["0.weight", "0.bias"] and f"{__file__}:{line}" in str(found)
    heads.zero_grad(set_to_none=False)
    heads[2](x).backward()
    assert not rl.explain(heads).stale  # zeros do no harm
    sum(head(x) for head in heads).backward()
    assert not rl.explain(heads).stale
    heads[0].weight.grad = rl.ones(1, 2)  # the user's own
    assert not rl.explain(heads).stale
