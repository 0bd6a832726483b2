"""`enforce_grad_layout_policy` beside PyTorch's: how the gradients of leaves lie in memory."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def strides(module, *, enable=None, decorate=False):
    """The strides of the gradient of a transposed leaf, where what comes back lies row by row."""
    leaf = module.ones(2, 3).t().requires_grad_()

    def run():
        module.autograd.backward(leaf * 1, module.arange(6.0).reshape(3, 2))

    policy = module.autograd.enforce_grad_layout_policy
    if enable is None:
        run()
    elif decorate:
        policy(enable)(run)()
    else:
        with policy(enable):
            run()
    return leaf.grad.stride(), leaf.grad.tolist()


@pytest.mark.parametrize("decorate", [False, True])
@pytest.mark.parametrize("enable", [None, True, False])
def test_strides(enable, decorate):
    assert strides(rushlight, enable=enable, decorate=decorate) == strides(torch, enable=enable, decorate=decorate)


def test_called_as_a_function():
    for module in (rushlight, torch):
        policy = module.autograd.enforce_grad_layout_policy
        policy(False)
        off = strides(module)[0]
        policy(True)
        assert (off, strides(module)[0]) == ((2, 1), (1, 3))
