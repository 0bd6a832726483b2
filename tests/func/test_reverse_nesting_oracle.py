"""Transforms in each other, in every order to depth three, against torch.func."""

import itertools

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's forward mode

X, V = [0.3, -0.6, 0.9], [1.0, 0.5, -2.0]


def tensor(library, values):
    return library.tensor(values, dtype=library.float64)


# Functions of vectors that give vectors of the same length; ``outside`` is a tensor that none of them takes as argument.
def smooth(library, x, outside):
    return x.sin() * x.exp() + outside * x


def written(library, x, outside):
    y = x.clone()
    y.mul_(outside).add_(x * x)
    y[0] = x[1] * x[2]
    y[1:].exp_()
    return y


def mixed(library, x, outside):
    matrix = library.stack([x, outside, x * outside])
    y = (matrix @ matrix.T).softmax(-1) @ x
    parts = library.cat([y[:1], y[1:].flip(0)])
    with library.no_grad():
        constant = parts**2
    return parts * x.sum() - constant + library.nn.functional.gelu(x).cumsum(0)


def chosen(library, x, outside):
    largest = x.max()
    return library.where(x > 0, x**3, x.abs().sqrt()) * largest + x.sort().values.prod()


FUNCTIONS = (smooth, written, mixed, chosen)

# Transforms of such functions into others.
TRANSFORMS = {
    "grad": lambda library, f: library.func.grad(lambda x: (f(x) * f(x)).sum()),
    "vjp": lambda library, f: lambda x: library.func.vjp(f, x)[1](tensor(library, V))[0],
    "jvp": lambda library, f: lambda x: library.func.jvp(f, (x,), (tensor(library, V),))[1],
    "vmap": lambda library, f: lambda x: library.func.vmap(lambda s: f(x * s))(tensor(library, [0.5, 2.0])).sum(0),
    "jacrev": lambda library, f: lambda x: library.func.jacrev(f)(x) @ x,
    "jacfwd": lambda library, f: lambda x: library.func.jacfwd(f)(x) @ x,
}


def value(library, function, names):
    outside = tensor(library, [0.7, 1.3, -0.4])
    transformed = lambda x: function(library, x, outside)
    for name in names:
        transformed = TRANSFORMS[name](library, transformed)
    return np.asarray(transformed(tensor(library, X)))


def check(function, names):
    try:
        expected = value(torch, function, names)
    except RuntimeError:  # PyTorch refuses writes that only some entries of a batch need
        assert function is written
        return
    assert np.allclose(value(rl, function, names), expected, rtol=1e-7, atol=1e-7)


def orders(depth):
    return ["-".join(names) for names in itertools.product(TRANSFORMS, repeat=depth)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [*orders(1), *orders(2)])
def test_to_depth_two(order, function):
    check(function, order.split("-"))


@pytest.mark.parametrize("order", orders(3))
def test_depth_three(order):
    names = order.split("-")
    check(smooth, names)
    if names == sorted(names):  # one order of each set
        check(mixed, names)
