"""Functions made of several operations look at kinds of arguments that they have not met: wrong ones are refused from the first call
to the last, whatever calls that fit came before."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = """
F.conv1d(x.view(1, 2, 2), torch.ones(1, 2, 1), stride={})
F.conv2d(x.view(1, 1, 2, 2), torch.ones(1, 1, 1, 1), None, {})
F.conv2d(x.view(1, 1, 2, 2), torch.ones(1, 1, 1, 1), padding={})
F.conv_transpose2d(x.view(1, 1, 2, 2), torch.ones(1, 1, 1, 1), dilation={})
F.max_pool1d(x, 1, {})
F.max_pool2d(x.view(1, 1, 2, 2), 1, stride={})
F.avg_pool2d(x.view(1, 1, 2, 2), {})
F.pairwise_distance(x, {})
torch.quantile(x, 0.5, keepdim={})
x.flatten({})
x.var(unbiased={})
torch.isclose(x, x, equal_nan={})
""".strip().splitlines()
VALUES = """
1
1.5
1.0
(1, 1)
(1.5, 1)
True
None
'a'
[]
torch.tensor(1)
torch.tensor(1.)
torch.ones(2, 2)
np.int64(1)
np.float32(1)
2j
{}
""".strip().splitlines()


def outcome(module, call):
    x = module.ones(2, 2)
    try:
        found = eval(call, {"torch": module, "F": module.nn.functional, "x": x, "np": np})
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return found.tolist()


@pytest.mark.parametrize("call", CALLS)
def test_every_kind_after_every_other(call):
    expected = {value: outcome(torch, call.format(value)) for value in VALUES}
    for order in (VALUES, VALUES[::-1]):
        for value in order:
            found = outcome(rl, call.format(value))
            if found != expected[value]:
                assert (call, value) in KNOWN, (call, value, found, expected[value])


# What still differs: a tensor of one element is told from others by nothing where one of the latter was refused before it.
KNOWN = {("F.avg_pool2d(x.view(1, 1, 2, 2), {})", "torch.tensor(1.)")}
