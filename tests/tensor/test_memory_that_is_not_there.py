"""Results that no memory can hold: PyTorch's RuntimeError with the number of bytes, on the first calls and on the short paths."""

import pytest

import rushlight as torch

x = torch.zeros(1).expand(2**45)
y = torch.zeros(3)
F = torch.nn.functional
CALLS = {
    "empty": lambda: torch.empty(2**50), "zeros": lambda: torch.zeros(2**50), "full": lambda: torch.full((2**50,), 1.0),
    "ones_like": lambda: torch.ones_like(x), "new_zeros": lambda: y.new_zeros(2**50), "rand_like": lambda: torch.rand_like(x),
    "add": lambda: x + x, "number": lambda: x + 1, "equal": lambda: x == 1, "exp": lambda: x.exp(), "relu": lambda: F.relu(x),
    "clone": lambda: x.clone(), "contiguous": lambda: x.contiguous(), "double": lambda: x.double(), "half": lambda: x.half(),
    "cat": lambda: torch.cat([x, x]), "stack": lambda: torch.stack([x, x]), "where": lambda: torch.where(x > 0, x, x),
    "clamp": lambda: x.clamp(0, 1), "softmax": lambda: F.softmax(x, 0), "cumsum": lambda: x.cumsum(0), "flip": lambda: x.flip(0),
    "repeat": lambda: y.repeat(2**50),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_no_memory(name):
    for _ in range(3):  # tests take the short path at once
        with pytest.raises(
            RuntimeError, match=r"DefaultCPUAllocator: can't allocate memory: you tried to allocate \d+ bytes"
        ):
            CALLS[name]()


@pytest.mark.parametrize(
    "kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Rprop", "ASGD"]
)
def test_no_memory_for_the_state_of_an_optimizer(kind):
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.data = x
    with pytest.raises(RuntimeError, match=r"you tried to allocate \d+ bytes"):
        optimizer = getattr(torch.optim, kind)([parameter], **({"momentum": 0.9} if kind == "SGD" else {}))
        parameter.grad = x
        optimizer.step()
