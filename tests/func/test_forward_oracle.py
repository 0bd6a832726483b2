"""``torch.autograd.forward_ad`` and ``torch.func.jvp`` against PyTorch: what they give, print and refuse."""

import gc

import pytest
from stories import assert_same_story

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def rows(torch):
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def levels(torch, note):
    fw = torch.autograd.forward_ad
    x, t = rows(torch)
    note("none open", lambda: fw.make_dual(x, t))
    note("unpack", lambda: fw.unpack_dual(x))
    note("exit", lambda: fw.exit_dual_level())
    note("current", lambda: fw._current_level)
    with fw.dual_level() as number:
        note("number", lambda: (number, fw._current_level))
        note("nested", lambda: fw.enter_dual_level())
        note("exit another", lambda: fw.exit_dual_level(level=3))
        note("level", lambda: fw.make_dual(x, t, level=2))
        note("negative", lambda: fw.make_dual(x, t, level=-2))
        note("unpack another", lambda: fw.unpack_dual(x, level=2))
        dual = fw.make_dual(x, t)
        product = dual * dual
        note("inside", lambda: fw.unpack_dual(product))
        note("jvp", lambda: torch.func.jvp(torch.sin, (x,), (t,)))
    note("outside", lambda: (fw.unpack_dual(product), product, fw._current_level))
    with fw.dual_level():
        note("next level", lambda: (fw.unpack_dual(product), dual))

    def fails():
        with fw.dual_level():
            raise ValueError("boom")

    note("raises", fails)
    note("closed", lambda: fw._current_level)

    @fw.dual_level()
    def decorated(x):
        return fw.unpack_dual(fw.make_dual(x, t) * 2)

    note("decorator", lambda: decorated(x))
    note("enter", lambda: fw.enter_dual_level())
    note("exit by number", lambda: fw.exit_dual_level(level=0))
    note("in jvp", lambda: torch.func.jvp(lambda v: fw.enter_dual_level(), (x,), (t,)))
    note("made in jvp", lambda: torch.func.jvp(lambda v: fw.make_dual(v, t), (x,), (t,)))
    note("unpacked in jvp", lambda: torch.func.jvp(lambda v: fw.unpack_dual(v).tangent, (x,), (t,)))


def making(torch, note):
    fw = torch.autograd.forward_ad
    x, t = rows(torch)
    with fw.dual_level():
        note("size", lambda: fw.make_dual(x, torch.ones(3)))
        note("no dimensions", lambda: fw.make_dual(x, torch.ones(())))
        note("integers", lambda: fw.make_dual(x.long(), t))
        note("integer tangent", lambda: fw.make_dual(x, t.long()))
        note("other float", lambda: fw.make_dual(x, t.double()))
        note("number", lambda: fw.make_dual(1.0, t))
        note("unpack number", lambda: fw.unpack_dual(1.0))
        dual = fw.make_dual(x, t)
        note("dual", lambda: (dual, dual._base is x, dual._is_view(), fw.unpack_dual(dual).tangent is t, x))
        note("dual primal", lambda: fw.make_dual(dual, t))
        note("dual tangent", lambda: fw.make_dual(x, dual))
        note("one element", lambda: dual.sum())
        note("wide", lambda: fw.make_dual(torch.ones(2, 2), torch.ones(2, 2)))
        note("outside the graph", lambda: (dual.detach(), dual.data, dual.clone(), dual.clone().detach_()))
        y = torch.ones(2, requires_grad=True)
        tracked = fw.make_dual(y, t)
        note("tracked", lambda: (tracked, tracked.is_leaf, tracked * tracked))
        primal = fw.unpack_dual(tracked).primal
        note("primal", lambda: (primal, primal._base is y, fw.unpack_dual(primal)))
        note("parameter", lambda: fw.make_dual(torch.nn.Parameter(x), t))
        for shape in ((3, 2), (2, 3)):
            primal = torch.ones(2, 3) if shape == (2, 3) else torch.ones(2, 3).t()
            for tangent in (torch.ones(shape), torch.ones(shape[::-1]).t(), torch.ones(1).expand(shape)):
                note("layout", lambda: fw.unpack_dual(fw.make_dual(primal, tangent)).tangent.stride())
        note("gaps", lambda: fw.unpack_dual(fw.make_dual(torch.ones(2, 3)[:, ::2], torch.ones(2, 2))).tangent.stride())
        note("expanded", lambda: fw.make_dual(torch.ones(3).expand(2, 3), torch.arange(6.0).view(2, 3)))


def operations(torch, note):
    fw = torch.autograd.forward_ad
    x, t = rows(torch)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        note("sort", lambda: tuple(dual.sort()))
        note("round", lambda: dual.round())
        note("comparison", lambda: dual > 1)
        note("conversion", lambda: (dual.long(), dual.half(), dual.double(), dual.to(torch.complex64)))
        note("floor", lambda: dual // 2)
        note("igamma", lambda: torch.igamma(dual, dual))
        note("nextafter", lambda: torch.nextafter(dual, dual))
        note("ones", lambda: torch.ones_like(dual))
        note("overwritten", lambda: (dual.clone().zero_(), dual.clone().fill_(2.0)))
        note("argmax", lambda: dual.argmax())
        note("view", lambda: (dual.chunk(2), dual.unsqueeze(0).t(), dual[1:], dual[torch.tensor([0, 0])]))
        note("complex", lambda: torch.view_as_complex(fw.make_dual(torch.ones(1, 2), torch.ones(1, 2) * 2)))
        places = {"even": torch.arange(6.0)[2:4], "odd": torch.arange(6.0)[1:3]}
        for here in places:
            for there in places:
                dual = fw.make_dual(places[here], places[there])
                note(f"{here}, {there}", lambda dual=dual: fw.unpack_dual(dual).tangent.storage_offset())
                note("pair", lambda dual=dual: fw.unpack_dual(torch.view_as_complex(dual)))
                note("two", lambda dual=dual: fw.unpack_dual(dual.as_strided((2,), (2,), 1)))
                given = (places[here],), (places[there],)
                note("transform", lambda given=given: torch.func.jvp(torch.view_as_complex, *given))
        note("out", lambda: torch.add(dual, dual, out=torch.empty(2)))
        note("out dual", lambda: torch.add(x, x, out=fw.make_dual(x.clone(), t)))
        note("resize", lambda: dual.clone().resize_(3))
        note("set", lambda: dual.clone().set_(x))
        note("in place", lambda: (dual.clone().unsqueeze_(0), dual.clone().unsqueeze(0).t_()))
        with torch.no_grad():
            note("no_grad", lambda: dual * 2)
        with torch.inference_mode():
            note("inference", lambda: (dual * 2, fw.make_dual(x, t)))
        with fw._set_fwd_grad_enabled(False):
            note("switched off", lambda: (fw.make_dual(x, t), dual, dual * 2, fw.unpack_dual(dual)))
        note("on again", lambda: (dual * 2, fw._is_fwd_grad_enabled()))
        note("grad", lambda: torch.func.grad(lambda v: (v**3).sum())(dual))
        note("vmap", lambda: torch.func.vmap(lambda v: v * v)(dual))
        linear = torch.nn.Linear(2, 1)
        for name, parameter in [*linear.named_parameters()]:
            delattr(linear, name)
            setattr(linear, name, fw.make_dual(parameter.detach(), torch.ones_like(parameter)))
        note("module", lambda: fw.unpack_dual(linear(x)).tangent)


def written(torch, note):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x, t = rows(torch)
        dual = fw.make_dual(x, t)
        dual.mul_(2)
        note("through", lambda: (dual, x, t))
        base = torch.zeros(4)
        front, middle = base[:2], base[1:3]
        front.copy_(fw.make_dual(*rows(torch)))
        note("plain base", lambda: (base, front, middle))
        base = torch.zeros(4)
        early = base[:2]
        base.copy_(fw.make_dual(torch.ones(4), torch.arange(4.0)))
        note("view made before", lambda: (base, early))
        early.mul_(3)
        note("written through", lambda: (base, early))
        early.zero_()
        note("without tangent", lambda: (base, early))
        dual = fw.make_dual(torch.zeros(4), torch.ones(4))
        primal = fw.unpack_dual(dual).primal
        part = primal[:2]
        part.copy_(fw.make_dual(*rows(torch)))
        note("view of a primal", lambda: (dual, primal, part))
        base = torch.zeros(4)
        dual = fw.make_dual(base, torch.ones(4))
        inside = dual[:2]
        inside.mul_(fw.make_dual(*rows(torch)))
        note("not of the base", lambda: (base, dual, inside, base[1:]))
        alias = dual.detach()
        alias.copy_(dual + 1)
        note("alias", lambda: (alias, dual))
        parts = fw.make_dual(torch.ones(4), torch.arange(4.0)).chunk(2)
        parts[0].mul_(2)
        parts[1][0] = fw.make_dual(torch.tensor(3.0), torch.tensor(9.0))
        note("several views", lambda: parts)
        number = fw.make_dual(torch.tensor([3.0]), torch.tensor([9.0]))
        note("index_put", lambda: parts[1].clone().index_put_((torch.tensor([1]),), number))
        note("integers", lambda: torch.arange(2).copy_(number))
        note("other float", lambda: torch.zeros(2).double().copy_(number))
        note("complex", lambda: torch.zeros(2, dtype=torch.complex64).copy_(number))
        with torch.no_grad():
            view = dual[0]
        view.mul_(2)
        note("view without graph", lambda: (dual, view))


def mixed(torch, note):
    fw = torch.autograd.forward_ad
    x, t = rows(torch)
    x.requires_grad_()
    t.requires_grad_()
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        primal, tangent = fw.unpack_dual((dual**3 * dual.sin()).sum() + dual.tanh()[0])
    note("double", lambda: torch.autograd.grad(tangent, (x, t), retain_graph=True))
    note("single", lambda: torch.autograd.grad(primal, x))
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = dual * 1
        y.mul_(dual)
        y[0] = dual[1]
        tangent = fw.unpack_dual(y).tangent
    note("in place", lambda: torch.autograd.grad(tangent.sum(), (x, t)))
    x, t = rows(torch)
    with fw.dual_level():
        for function in (
            torch.exp,
            torch.tanh,
            lambda a: a.softmax(0) * a[0],
            lambda a: a.clone().mul_(a),
            lambda a: a.clone().exp_(),
            lambda a: ((b := a * 2)[0].mul_(a[1]).exp_(), b)[1],
        ):
            leaf = x.clone().requires_grad_()
            total = (function(fw.make_dual(leaf, t)) / 8).pow(2).sum()
            note("forward over reverse", lambda: fw.unpack_dual(torch.autograd.grad(total, leaf)[0]))


def transform(torch, note):
    jvp = torch.func.jvp
    x, t = rows(torch)
    s = torch.tensor(2.0)
    note("list", lambda: jvp(torch.sin, [x], (t,)))
    note("tangent alone", lambda: jvp(torch.sin, (x,), t))
    note("more tangents", lambda: jvp(torch.sin, (x,), (t, t)))
    note("other structure", lambda: jvp(lambda a: a["k"], ({"k": x},), (t,)))
    note("nothing", lambda: jvp(torch.sin, (), ()))
    note("numbers", lambda: jvp(torch.sin, (1.0,), (1.0,)))
    note("number", lambda: jvp(torch.sin, (x,), (1.0,)))
    note("size", lambda: jvp(torch.sin, (x,), (torch.ones(3),)))
    note("integers", lambda: jvp(torch.sin, (x.long(),), (t,)))
    for result in (1.0, None, (), (x, 1)):
        note("result", lambda: jvp(lambda a, result=result: result, (x,), (t,)))
        note("with aux", lambda: jvp(lambda a, result=result: result, (x,), (t,), has_aux=True))
    note("three", lambda: jvp(lambda a: (a, a, a), (x,), (t,), has_aux=True))
    note("aux", lambda: jvp(lambda a: (a, {"b": [a * 2]}), (x,), (t,), has_aux=True))
    note("nested", lambda: jvp(lambda a: [a, {"k": a * 3}], (x,), (t,)))
    note("two", lambda: jvp(lambda a, b: a * b, (x, s), (t, s)))
    note("constant", lambda: jvp(lambda a: x, (x,), (t,)))
    note("strict", lambda: jvp(lambda a: x, (x,), (t,), strict=True))
    note("no tangent", lambda: jvp(lambda a: (a.long(), a > 0, a.detach() * a), (x,), (t,)))
    note("captured", lambda: jvp(lambda a: x.mul_(a), (x.clone(),), (t,)))
    note("fresh", lambda: jvp(lambda a: torch.zeros(2).add_(a), (x,), (t,)))
    note("written", lambda: jvp(lambda a: a.mul_(2), (x.clone(),), (t,)))
    note("shape in place", lambda: jvp(lambda a: (a * a).unsqueeze_(0).t_(), (x,), (t,)))
    note("out", lambda: jvp(lambda a: torch.add(a, a, out=torch.empty(2)), (x,), (t,)))
    note("branch", lambda: jvp(lambda a: a * a if a > 0 else a, (s,), (s,)))
    note("complex", lambda: jvp(lambda a: (a * 1j).exp().imag, (x,), (t,)))
    note("text", lambda: jvp(lambda a: note("inside", lambda: a) or a, (x,), (t,)))
    note(
        "nested text",
        lambda: torch.func.grad(lambda b: jvp(lambda a: note("in", lambda: a) or a, (b,), (t,))[0].sum())(x),
    )
    tracked = x.clone().requires_grad_()
    flags = lambda pair: [(each.detach(), each.requires_grad) for each in pair]
    note("tracked", lambda: flags(jvp(lambda a: note("flag", lambda: a.requires_grad) or a * a, (tracked,), (t,))))
    with torch.no_grad():
        note("no_grad", lambda: jvp(lambda a: a * a, (tracked,), (t,)))
    with torch.inference_mode():
        note("inference", lambda: jvp(torch.sin, (x,), (t,)))
    note("raises", lambda: jvp(lambda a: 1 / 0, (x,), (t,)))
    note("after", lambda: jvp(torch.sin, (x,), (t,)))


@pytest.mark.parametrize("story", [levels, making, operations, written, mixed, transform], ids=lambda s: s.__name__)
def test_story(story):
    assert_same_story(story, torch)


def test_tangents_are_let_go():
    forward_ad = rl.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(rl.ones(2), rl.ones(2))
        level = rl.ops.table.functions.interposers[-1]
        for _ in range(100):
            dual * 2
        gc.collect()
        assert len(level.carriers) == 1
    assert dual._tangent is None and not level.carriers
