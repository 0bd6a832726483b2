"""Gradients through operations on tensors of a subclass: rules see plain tensors, and no ``__torch_function__`` is asked."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

LOSSES = """
x * s
x.exp() * s.sigmoid()
x / s
x ** s
x @ s
F.mse_loss(x, s)
F.smooth_l1_loss(x, s)
F.huber_loss(x, s)
F.binary_cross_entropy_with_logits(x, s)
F.binary_cross_entropy(x.sigmoid(), s)
F.softmax(x * s, 0)
F.gelu(x * s)
F.layer_norm(s * x, (3,))
torch.where(s > 0.5, x, s)
torch.stack([x, s]).max()
torch.maximum(x, s)
torch.atan2(x, s)
torch.lerp(x, s, 0.3)
F.linear(s, w) * x
F.cross_entropy(w, i)
F.nll_loss(w, i)
F.embedding(i, w)
F.conv1d(s.view(1, 1, 3), w.view(3, 1, 3))
""".strip().split("\n")


def run(library, loss):
    """The gradients, whether they are of the subclass, and which functions were asked for while they were computed."""
    asked = []

    class Own(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    library.manual_seed(0)
    x, w = library.rand(3).requires_grad_(), library.rand(3, 3).requires_grad_()
    names = {"torch": library, "F": library.nn.functional, "x": x, "w": w}
    names |= {"s": library.rand(3).as_subclass(Own), "i": library.tensor([2, 0, 1]).as_subclass(Own)}
    found = eval(loss, names).as_subclass(library.Tensor).sum()
    asked.clear()
    found.backward()
    gradients = [each.grad for each in (x, w) if each.grad is not None]
    return [each.tolist() for each in gradients], [type(each) is library.Tensor for each in gradients], asked


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients(loss):
    (theirs, *rest), (ours, *own) = run(torch, loss), run(rushlight, loss)
    assert own == rest == [[True] * len(theirs), []]
    for one, other in zip(theirs, ours, strict=True):
        torch.testing.assert_close(torch.tensor(other), torch.tensor(one))


def test_double_gradients_and_writes():
    class Own(rushlight.Tensor):
        pass

    x = rushlight.tensor([2.0], requires_grad=True)
    s = rushlight.tensor([3.0]).as_subclass(Own).requires_grad_()
    (first,) = rushlight.autograd.grad((x * s * s).as_subclass(rushlight.Tensor), x, create_graph=True)
    assert rushlight.autograd.grad(first.sum(), s)[0].tolist() == [6]
    y = x * s
    with rushlight.no_grad():
        s.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
