"""``torch.func.rearrange`` against PyTorch."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")

PATTERNS = (
    "a b c -> c b a", "a b c->(a b) c", "a b c -> b (a c) 1", "... c -> c ...", "a ... -> (...) a", "a ... c -> (a ...) c",
    "... a b c -> b ... c a", "a b c -> a b c 1", "a b c -> (a 1 c) b", "a b c -> () a b c", "a b c -> a b", "a b -> a b", "a b c",
    "a b c -> a b c -> c", "a b (c d) -> a b c d", "a b (c d e) -> a b c d e", "a a c -> a c", "a b c -> a b c c",
    "a b c -> a b ((c))", "a b c -> a b (c", "a b c -> a b c)", "a b 4 -> a b", "a b $ -> a b", "... a ... -> a",
    "a b c -> a b c ...", "(...) -> ...", "_a b c -> _a b c", "a_ b c -> c b a_", "a .. c -> c", "... a b c d -> a b c d ...",
    "a b c 1 -> a b c", "for b c -> b c for",
)  # fmt: skip
SPLITS = (
    ("a b (c d) -> a (b c) d", {"c": 2}),
    ("a b (c d) -> a (b c) d", {"d": 2}),
    ("a b (c d) -> a b c d", {"c": 3}),
    ("(a b) c d -> a b c d", {"a": 3}),
    ("a b c -> a b c", {"a": 5}),
    ("a b c -> a b c", {"d": 3}),
    ("a b (c d) -> a b c d", {"c": 4, "d": 1}),
    ("a b (c d) -> a b c d", {"c": 4, "d": 2}),
)


def patterns(torch, note):
    x = torch.arange(24.0).reshape(2, 3, 4)
    rearrange = torch.func.rearrange
    for pattern in PATTERNS:
        note(pattern, lambda: rearrange(x, pattern))
    for pattern, lengths in SPLITS:
        note(f"{pattern} {lengths}", lambda: rearrange(x, pattern, **lengths))
    note("unnamed", lambda: rearrange(x[:1], "1 b c -> c b"))
    note("sequence", lambda: rearrange([x, x + 1], "n a b c -> a b (c n)"))
    note("number", lambda: rearrange(3, "a b -> b a"))
    note("nothing", lambda: rearrange(torch.tensor(3.0), " -> "))
    note("mapped", lambda: torch.func.vmap(lambda v: rearrange(v, "b c -> c b"))(x))
    note("differentiated", lambda: torch.func.grad(lambda v: rearrange(v, "a b c -> (c b) a")[2].sum())(x))


def test_story():
    assert_same_story(patterns, torch, hints=False)
