"""What random programs on autograd's machinery found: flags of computed tensors, lists with leaves, what hooks see, unfinished derivatives."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def details(torch, note):
    x = leaf(torch, 1.0, 2.0, 3.0)
    note("computed", lambda: setattr(x * 2, "requires_grad", True))
    note("computed, off", lambda: setattr(x * 2, "requires_grad", False))
    note("other shape, no graph", lambda: torch.ones(2).backward(torch.ones(3)))
    note("no graph", lambda: torch.ones(2).backward(torch.ones(2)))
    others = [torch.zeros(3), leaf(torch, 1.0, 2.0)]
    note("a leaf in a list", lambda: torch._foreach_add_(others, 2))
    note("nothing was written", lambda: others[0])
    seen = []
    condition, ones = x > 1, torch.ones(3)
    for call in (lambda: torch.where(condition, x, ones), lambda: torch.lerp(x, x, 0.3), lambda: x * ones, lambda: x + 2, lambda: x**2,
                 lambda: torch.addcmul(x, ones, ones)):  # fmt: skip
        end = call()
        end.grad_fn.register_hook(lambda inputs, outputs: seen.append([each is None for each in inputs]))
        end.sum().backward()
    note("what hooks of nodes see", lambda: seen)
    for call in (
        lambda: torch.where(condition, 1.0, x),
        lambda: torch.where(condition, x, 1.0),
        lambda: x.where(condition, 0),
    ):
        note(
            "edges beside a number",
            lambda call=call: [each and each.name() for each, _ in call().grad_fn.next_functions],
        )
    query, mask = leaf(torch, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0).reshape(1, 1, 3, 2), torch.zeros(3, 3)
    attended = torch.nn.functional.scaled_dot_product_attention(query, query, query, attn_mask=mask)
    note("edges of attention", lambda: [each.name() for each, _ in attended.grad_fn.next_functions])
    index = torch.tensor([0, 2, 0])
    for reduce in ("add", "multiply"):
        end = x.scatter(0, index, x * 2, reduce=reduce)
        note("scatter", lambda end=end: (end.detach(), end.grad_fn.name()))
        note("its gradient", lambda end=end: end.sum().backward())
        note("in place", lambda reduce=reduce: (x * 1).scatter_(0, index, 2.0, reduce=reduce).sum().backward())


def test_same_story():
    assert_same_story(details, torch)
