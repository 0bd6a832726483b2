"""Gradients under create_graph hang on what PyTorch's backward functions take, though their values do not depend on it: the node's
name, and what a second backward brings there, zeros, nothing or an error."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = """
F.conv1d(x.view(1, 4, 4), torch.ones(2, 4, 2))
F.conv2d(x.view(1, 1, 4, 4), torch.ones(1, 1, 2, 2))
F.conv_transpose2d(x.view(1, 1, 4, 4), torch.ones(1, 1, 2, 2))
F.grid_sample(x.view(1, 1, 4, 4), torch.zeros(1, 2, 2, 2), align_corners=False)
F.nll_loss(x, torch.tensor([0, 1, 2, 0]))
F.nll_loss(x.view(1, 4, 2, 2), torch.zeros(1, 2, 2, dtype=torch.int64))
F.multi_margin_loss(x, torch.tensor([0, 1, 2, 0]))
F.multilabel_margin_loss(x, torch.tensor([[0, 1, 2, -1]] * 4))
F.pad(x, (1, 1), mode='reflect')
F.pad(x.view(1, 1, 4, 4), (1, 1, 1, 1), mode='replicate')
F.adaptive_avg_pool2d(x.view(1, 1, 4, 4), 2)
F.adaptive_max_pool2d(x.view(1, 1, 4, 4), 2)
F.max_pool1d(x, 2)
F.max_pool2d(x.view(1, 1, 4, 4), 2)
F.max_pool3d(x.view(1, 1, 1, 4, 4), (1, 2, 2))
F.max_pool2d(x.view(1, 1, 4, 4), 2, return_indices=True)[0]
F.avg_pool2d(x.view(1, 1, 4, 4), 2)
F.hardtanh(x)
F.relu6(x)
F.hardsigmoid(x)
F.hardshrink(x)
F.softshrink(x)
F.leaky_relu(x)
F.prelu(x, torch.tensor([0.2]))
F.rrelu(x)
""".strip().splitlines()


def outcome(module, call):
    module.manual_seed(0)
    x = (module.arange(16.0).reshape(4, 4).sin() * 2).requires_grad_()
    out = eval(call, {"torch": module, "F": module.nn.functional, "x": x})
    (gradient,) = module.autograd.grad(out.sum(), x, create_graph=True)
    names, node = [], gradient.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = next((found for found, _ in node.next_functions if found is not None), None)
    try:
        (second,) = module.autograd.grad(gradient.pow(2).sum(), x)
        found = second.tolist()
    except (RuntimeError, NotImplementedError) as error:
        found = type(error).__name__, str(error).split("\n")[0]
    return names, found


@pytest.mark.parametrize("call", CALLS)
def test_second_gradients_of_what_values_do_not_depend_on(call):
    assert outcome(rl, call) == outcome(torch, call)
