"""``jacrev``, ``jacfwd``, ``hessian`` and ``linearize`` of torch.func against PyTorch."""

import warnings

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def both(torch, note):
    x, t, s = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor(2.0)
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        note("complex input", lambda: jacobian(lambda a: a)(x.to(torch.complex64)))
        note("complex output", lambda: jacobian(lambda a: a * 1j)(x))
        note("containers out", lambda: jacobian(lambda a: (a * a, {"k": a.sum()}))(x))
        note("containers in", lambda: jacobian(lambda a: a["p"] * a["q"])({"p": x, "q": s}))
        note("tuple of one", lambda: jacobian(lambda a: a["p"] * a["q"], argnums=(0,))({"p": x, "q": s}))
        for argnums in (1, 2, (0, 1), (1, 0), (0, 0), (), "a"):
            note(f"argnums {argnums}", lambda: jacobian(lambda a, b: (a * a * b, [a.sum()]), argnums=argnums)(x, s))
        note("aux", lambda: jacobian(lambda a: (a * a, {"z": a + 1}), has_aux=True)(x))
        note("aux missing", lambda: jacobian(lambda a: a, has_aux=True)(x))
        note("number", lambda: jacobian(lambda a: 1)(x))
        note("integers", lambda: jacobian(lambda a: a.sum())(x.long()))
        note("constant", lambda: jacobian(lambda a: torch.ones(2))(x))
        note("empty", lambda: jacobian(lambda a: a)(torch.ones(0)).shape)
        note("matrix", lambda: jacobian(lambda a: a @ a.T)(torch.arange(6.0).view(2, 3)))
        note("of itself", lambda: jacobian(jacobian(lambda a: a**3))(x))
        note("mapped", lambda: torch.func.vmap(jacobian(torch.sin))(torch.arange(6.0).view(3, 2)))
    note("last", lambda: torch.func.jacrev(lambda a, b: a * b, argnums=-1)(x, s))
    note("all", lambda: torch.func.jacfwd(lambda a: a, argnums=None)(x))
    note("random", lambda: torch.func.jacfwd(lambda a: torch.rand(2) * a)(x))
    note("randomness", lambda: torch.func.jacfwd(lambda a: a, randomness="bad")(x))


def chunks(torch, note):
    jacrev = torch.func.jacrev
    x = torch.tensor([1.0, 2.0])
    for size in (0, -1, 1, 2, 4, 6, 9, None):
        for copied in (False, True):
            note(
                f"{size} {copied}",
                lambda: jacrev(lambda a: (a.expand(3, 2) * a, a.sum()), chunk_size=size, _preallocate_and_copy=copied)(
                    x
                ),
            )


def second(torch, note):
    hessian = torch.func.hessian
    x, s = torch.tensor([1.0, 2.0]), torch.tensor(2.0)
    note("scalar", lambda: hessian(lambda a: (a**3).sum())(x))
    note("two", lambda: hessian(lambda a, b: (a**3).sum() * b, argnums=(0, 1))(x, s))
    note("vector", lambda: hessian(lambda a: a**3)(x))
    note("container", lambda: hessian(lambda p: (p["w"] ** 2).sum() * p["b"])({"w": x, "b": s}))


def linear(torch, note):
    def linearize(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's tracer
            return torch.func.linearize(*arguments)

    x, t, s = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor(2.0)
    note("value", lambda: linearize(lambda a: a**3, x)[0])
    note("product", lambda: linearize(lambda a: a**3, x)[1](t))
    note("more", lambda: linearize(lambda a: a**3, x)[1](t, t))
    note("size", lambda: linearize(lambda a: a**3, x)[1](torch.ones(3)))
    note("dtype", lambda: linearize(lambda a: a**3, x)[1](t.double()))
    note("containers", lambda: linearize(lambda a: {"k": a["x"] ** 3}, {"x": x})[1]({"x": t}))
    note("two", lambda: linearize(lambda a, b: (a * b, b), x, s)[1](t, s))
    note("integers", lambda: linearize(lambda a: a.sum(), x.long()))
    note("number beside", lambda: linearize(lambda a: (a, 3), x)[1](t))
    multiply = linearize(lambda a: a.sin() * a.sum(), x)[1]
    note("again", lambda: (multiply(t), multiply(t * 2)))


@pytest.mark.parametrize("story", [both, chunks, second, linear], ids=lambda s: s.__name__)
def test_story(story):
    assert_same_story(story, torch)
