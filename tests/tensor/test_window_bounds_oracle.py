"""No view, storage or result reaches outside of its memory: errors as PyTorch's, for every way to make a window."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
FOREIGN = "from_numpy(np.zeros(2, np.float32))"
CALLS = [
    *(f"torch.zeros({n}).as_strided({rest})" for n in ("0", "4", "0, 3") for rest in (
        "(64,), (1,)", "(0,), (1,)", "(5,), (1,)", "(4,), (1,), 1", "(), (), 4", "(2, 2), (2**40, 1)", "(2, 2), (2**61 - 1, 1)",
        "(2, 2), (2**62, 1)", "(2, 2), (1, 1), 2**62", "(2,), (-1,)", "(2,), (1,), -1", "(-2,), (1,)", "(2**33, 2**33), (0, 0)",
    )),
    "torch.zeros(0, dtype=torch.bfloat16).as_strided((5,), (1,))", "torch.zeros(0).as_strided_((64,), (1,))",
    "torch.as_strided_scatter(torch.zeros(0), torch.ones(3), (3,), (1,))", "torch.as_strided_copy(torch.zeros(0), (3,), (1,))",
    "torch.empty(0).set_(torch.zeros(4), 2, (3,))", "torch.empty(0).set_(torch.zeros(4), 0, (2,), (-1,))",
    "torch.empty(0).set_(torch.zeros(4), 0, (-2,))", "torch.empty(0).set_(torch.zeros(4), 0, (2**62,), (1,))",
    "torch.empty(0).set_(torch.UntypedStorage(7))", "torch.empty(0).set_(torch.UntypedStorage(7), 0, (2,))",
    "torch.empty(2**62)", "torch.empty(2**60)", "torch.zeros(2**33, 2**33)", "torch.zeros(4).expand(2**62, 4)", "torch.UntypedStorage(-1)",
    "torch.zeros(4).transpose(2**62, 0)", "torch.zeros(4, 4).diagonal(2**62)", "torch.ones(2, 2).tril(-2**63)",
    "torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), 0)", "torch.nn.functional.pad(torch.ones(5), (-7, 9))",
    *(f"torch.nn.functional.unfold(torch.ones(1, 1, 4, 4), 2, {name}={n})" for name, n in (
        ("stride", 0), ("stride", -1), ("padding", -1), ("dilation", 0))),
    *(f"torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2), {name}={n})" for name, n in (
        ("stride", 0), ("stride", -1), ("padding", -1), ("dilation", -1), ("groups", "2**62"))),
    "torch.nn.grad.conv2d_input((1, 1, 9, 9), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3))",
    "torch.nn.grad.conv2d_weight(torch.ones(1, 1, 4, 4), (7, 1, 2, 2), torch.ones(1, 1, 3, 3))",
    "torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), 2, 2**31)", "torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), -1)",
    *(f"torch.{FOREIGN}.{rest}" for rest in ("resize_(4)", "resize_(1)", "detach().resize_(4)", "clone().resize_(4)",
        "untyped_storage().resizable()", "set_(torch.ones(4)).resize_(8)")),
    *(f"torch.{call}, out=torch.{FOREIGN})" for call in (
        "add(torch.ones(4), 1", "cat([torch.ones(4)]", "zeros(4", "mm(torch.ones(4, 4), torch.ones(4, 4)")),
]  # fmt: skip


def outcome(module, call):
    try:
        found = eval(call, {"torch": module, "np": np})
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return (tuple(found.shape), found.untyped_storage().nbytes()) if hasattr(found, "shape") else found


@pytest.mark.parametrize("call", CALLS)
def test_as_in_pytorch(call):
    assert outcome(rl, call) == outcome(torch, call)


def test_memory_from_outside_is_read_where_it_lies():
    """Arrays on foreign memory, with gaps, or expanded: windows on them reach all of it."""
    whole = torch.arange(24.0).reshape(4, 6)
    for view in (whole[:, :3], whole[::2], whole[1:, 2:].t(), whole[:1].expand(3, 6), whole[:, 2:3].expand(4, 5)):
        array = view.numpy()
        ours = rl.from_numpy(array)
        assert ours.tolist() == view.tolist()
        assert ours.repeat_interleave(2, 0).tolist() == view.repeat_interleave(2, 0).tolist()
        assert ours.unfold(1, 2, 1).tolist() == view.unfold(1, 2, 1).tolist()
