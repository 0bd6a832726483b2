"""Every public function, called with proxies, becomes the same node as in PyTorch, and the graph gives what the call gives."""

import os

import pytest

from opinfo_calls import Skip, known_operations, rushlight, sampled_calls, torch
from rushlight import fx

ENTRIES = {entry.name: entry for entry in reversed(list(known_operations()))}
PARTS = 8
ASKED = (
    PARTS if int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) >= 300 else 2
)  # of the sweep over all, which takes two minutes


def recorded(call, module):
    """The nodes of a graph that makes the call with proxies for its tensors, and the module that runs it."""
    args, kwargs = call.arguments(module)
    function = call.function(module)
    given = [value for value in args if isinstance(value, module.Tensor)]

    def calling(*proxies):
        rest = iter(proxies)
        return function(*[next(rest) if isinstance(value, module.Tensor) else value for value in args], **kwargs)

    names = ", ".join(f"x{number}" for number in range(len(given)))
    scope = {"calling": calling}
    exec(f"def traced({names}): return calling({names})", scope)
    library = torch.fx if module is torch else fx
    made = library.symbolic_trace(scope["traced"])
    nodes = [
        (node.op, getattr(node.target, "__name__", node.target), len(node.args), sorted(node.kwargs))
        for node in made.graph.nodes
        if node.op != "output"
    ]
    return nodes, made, given


def outcome_of(call, module):
    try:
        return recorded(call, module)
    except Exception as error:  # the comparison is what is tested
        return type(error).__name__


def first_call(entry):
    for dtype in (torch.float32, torch.int64, torch.complex64):
        for call in sampled_calls(entry, dtype, 1):
            return call
    return None


# Here one function does what PyTorch dispatches to two, or is public under another name than the one that it is written by.
OTHER_NAMES = ("_max_pool", "max_pool", "upsample_", "logsigmoid", "threshold", "__r")


def kinds(nodes):
    rooms = ("linalg_", "fft_", "special_")
    return [
        (op, next((name.removeprefix(room) for room in rooms if name.startswith(room)), name)) for op, name, *_ in nodes
    ]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, ASKED))])
def test_functions_become_the_nodes_that_pytorch_makes(part):
    compared = 0
    for name in sorted(ENTRIES)[part::PARTS]:
        call = first_call(ENTRIES[name])
        if call is None:
            continue
        try:
            expected, found = outcome_of(call, torch), outcome_of(call, rushlight)
        except Skip:
            continue
        if isinstance(expected, str):
            continue
        assert not isinstance(found, str) or name in ("index_put", "index_put_", "zero_", "nn.functional.multi_head_attention_forward"), (name, found)  # fmt: skip
        if isinstance(found, str) or any(each in name for each in OTHER_NAMES):
            continue
        assert kinds(found[0]) == kinds(expected[0]), name
        compared += 1
    assert compared > 40
