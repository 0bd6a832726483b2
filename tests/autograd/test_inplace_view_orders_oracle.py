"""Second derivatives through operations that write into a view and keep what they wrote."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

WRITES = {
    "whole": lambda base, write: write(base.view(4)),
    "part": lambda base, write: write(base[1:]),
    "steps": lambda base, write: write(base[::2]),
    "two views": lambda base, write: (write(base[:1]), write(base.view(2, 2)[1])),
    "view of a view": lambda base, write: write(base.view(2, 2).t()[1]),
}
OPERATIONS = ["sigmoid_", "exp_", "tanh_", "sqrt_", "relu_", "reciprocal_", "rsqrt_", "square_", "sin_", "abs_"]


def derivatives(library, name, write):
    """The first and second derivative, as lists; the first line of the error where there is one."""
    x = library.tensor([0.5, 1.0, 1.5, 2.0], dtype=library.float64, requires_grad=True)
    base = x * 2
    try:
        WRITES[write](base, lambda view: getattr(view, name)())
        (first,) = library.autograd.grad((base * base).sum(), x, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum(), x)
    except RuntimeError as error:
        return str(error).splitlines()[0].partition(" is at version")[0]
    return first.tolist() + second.tolist()


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_second_derivatives_agree(name, write):
    ours, theirs = derivatives(rushlight, name, write), derivatives(torch, name, write)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_most_of_them_have_some():
    found = [derivatives(rushlight, name, write) for name in OPERATIONS for write in WRITES]
    assert sum(isinstance(each, list) for each in found) >= 0.8 * len(found)
