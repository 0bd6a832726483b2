"""`nn.parallel.scatter_gather` without accelerators: what is no tensor is repeated, tensors are refused as PyTorch refuses them."""

from collections import namedtuple

import pytest

import rushlight

torch = pytest.importorskip("torch")
Pair = namedtuple("Pair", "a b")
CALLS = [
    *(f"scatter({given}, {devices})" for given in ("3", "'a'", "None", "()", "[]", "{}", "(1, 'a')", "[1, (2,)]", "{'a': 1, 'b': [2]}",
      "Pair(1, (2,))", "torch.ones(2)", "[1, torch.ones(2)]") for devices in ("[0]", "[0, 1]")),
    *(f"scatter_kwargs({given}, [0, 1])" for given in ("(1, 2), {'a': 3}", "(), {'a': 3}", "(1,), None", "(), None", "(1,), {}",
      "(torch.ones(1),), {}", "(1,), {'a': torch.ones(1)}")),
    *(f"gather({given}, 0)" for given in ("[None, None]", "[(None,), (None,)]", "[{'a': None}, {'a': None}]", "[[None], [None]]",
      "[{'a': None}, {}]", "[Pair(None, None)] * 2", "[torch.ones(2)] * 2", "[(torch.ones(1),)] * 2", "[{'a': torch.ones(1)}]")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call):
    said = []
    for framework in (torch, rushlight):
        module = __import__(f"{framework.__name__}.nn.parallel.scatter_gather", fromlist=["scatter"])
        try:
            said.append(repr(eval(call, {**vars(module), "torch": framework, "Pair": Pair})))
        except Exception as error:
            said.append((type(error).__name__, str(error).split("\n")[0]))
    assert said[0] == said[1]
