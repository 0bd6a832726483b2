"""Nodes that no gradient reaches: what they kept must be there and unwritten all the same, as in PyTorch."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

OPERATIONS = {
    "product": lambda m, x: x * x,
    "quotient": lambda m, x: x / x,
    "by a number": lambda m, x: x * 2,
    "sum of two": lambda m, x: x + x,
    "neg": lambda m, x: -x,
    "view": lambda m, x: x.view(3),
    "power": lambda m, x: x**3,
    "exp": lambda m, x: x.exp(),
    "relu": lambda m, x: x.relu(),
    "clamp": lambda m, x: x.clamp(min=0.1),
    "cumprod": lambda m, x: x.cumprod(0),
    "softmax": lambda m, x: x.softmax(0),
    "sort": lambda m, x: x.sort().values,
    "where": lambda m, x: m.where(x > 0, x, x * 2),
    "cat": lambda m, x: m.cat([x, x])[:3],
    "gather": lambda m, x: x.gather(0, m.tensor([0, 1, 2])),
    "linear": lambda m, x: m.nn.functional.linear(x, m.outer(x, x)),
    "norm": lambda m, x: x.norm() * x,
    "written view": lambda m, x: (lambda copy: (copy[:2].mul_(x[:2]), copy)[1])(x.clone()),
}
AFTERWARDS = {
    "nothing": lambda m, x, y: None,
    "the operand is written": lambda m, x, y: m.no_grad()(x.add_)(1),
    "the result is written": lambda m, x, y: m.no_grad()(y.add_)(1),
    "freed": lambda m, x, y: y.sum().backward(),
    "heard": lambda m, x, y: y.grad_fn.register_hook(lambda grads, outputs: None),
}


@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_was_kept_is_looked_at(operation, afterwards):
    def outcome(m):
        class First(m.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2, None

        leaf, other = (m.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
        x = other.clone()
        y = OPERATIONS[operation](m, x)
        end = First.apply(leaf, y).sum()
        AFTERWARDS[afterwards](m, x, y)
        try:
            end.backward()
        except RuntimeError as error:
            return str(error).split("\n")[0]
        return leaf.grad.tolist(), other.grad is None

    assert outcome(rl) == outcome(torch)
