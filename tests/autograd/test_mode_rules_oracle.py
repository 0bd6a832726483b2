"""Grad modes against PyTorch: contexts, decorators of everything, generators, coroutines, threads."""

import asyncio
import inspect
import threading

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def contexts(torch, note):

    def st():
        return (torch.is_grad_enabled(), torch.is_inference_mode_enabled())

    for nm in ("no_grad", "enable_grad", "inference_mode"):
        M = getattr(torch, nm)
        note(nm, lambda: type(M()).__name__)
        with torch.no_grad():
            with M() as v:
                note(nm + " as", lambda: (v, st()))
        note(nm + " bare", lambda: M(lambda: st())())
        note(nm + " call", lambda: M()(lambda: st())())

        def g():
            note(nm + " g1", st)
            x = yield 1
            note(nm + " g2", lambda: (st(), x))
            try:
                yield 2
            except ValueError:
                note(nm + " g3", st)
                yield 3
            finally:
                note(nm + " g4", st)
            return 5

        def drive():
            it = M()(g)()
            out = [next(it), st(), it.send("s"), it.throw(ValueError("q"))]
            try:
                next(it)
            except StopIteration as e:
                out.append(e.value)
            return out

        note(nm + " gen", drive)

        def closing():
            it = M()(g)()
            next(it)
            next(it)
            it.close()
            return st()

        note(nm + " gen close", closing)

        def unstarted():
            it = M()(g)()
            it.close()
            return st()

        note(nm + " gen unstarted", unstarted)
        note(nm + " isgen", lambda: (inspect.isgeneratorfunction(M()(g)), M()(g).__name__))

        async def co():
            a = st()
            await asyncio.sleep(0)
            return (a, st())

        note(nm + " co", lambda: asyncio.run(M()(co)()))
        note(nm + " isco", lambda: inspect.iscoroutinefunction(M()(co)))

        async def ag():
            note(nm + " a1", st)
            yield 1
            note(nm + " a2", st)
            yield 2

        async def run():
            return [(v, st()) async for v in M()(ag)()]

        note(nm + " async gen", lambda: asyncio.run(run()))
        note(nm + " isag", lambda: inspect.isasyncgenfunction(M()(ag)))

        async def two():

            async def t1():
                with M():
                    await asyncio.sleep(0)
                    a = st()
                    await asyncio.sleep(0)
                return a

            async def t2():
                a = st()
                await asyncio.sleep(0)
                return (a, st())

            return await asyncio.gather(t1(), t2())

        note(nm + " tasks", lambda: asyncio.run(two()))
        note(nm + " after", st)

        class C:
            def __init__(self):
                note(nm + " init", st)

            def m(self):
                return st()

        note(nm + " class", lambda: M()(C)().m())
        note(nm + " bare class", lambda: M(C)().m())

        class D:
            @M()
            def m(self):
                return st()

            @staticmethod
            @M()
            def s():
                return st()

            @classmethod
            @M()
            def c(cls):
                return st()

            @property
            @M()
            def p(self):
                return st()

        note(nm + " methods", lambda: (D().m(), D.s(), D.c(), D().p))
        note(nm + " raise", lambda: M()(lambda: 1 / 0)())
        note(nm + " after raise", st)
        m = M()

        def nest():
            with m:
                a = st()
                with m:
                    b = st()
                c = st()
            return (a, b, c, st())

        note(nm + " clone", lambda: type(M().clone()).__name__)

        def rec(n):
            return [st()] + (M()(rec)(n - 1) if n else [])

        note(nm + " recursive", lambda: M()(rec)(2))
        for bad in (3, "x"):
            note(f"{nm} bad {bad!r}", lambda: type(M(bad)).__name__)
    note("st", st)


def set_by_a_bool(torch, note):
    S = torch.set_grad_enabled

    def st():
        return torch.is_grad_enabled()

    note("fn", lambda: (S(False), st())[1])
    note("kept", st)
    S(True)

    def ctx():
        with S(False) as v:
            a = st()
        return (v, a, st())

    note("ctx", ctx)
    note("dec", lambda: (S(False)(lambda: st())(), st()))

    @S(False)
    def g():
        yield st()

    note("gen", lambda: (list(g()), st()))
    note("object", lambda: (lambda o: (st(), o.__enter__(), st(), o.__exit__(None, None, None), st()))(S(False)))
    note("repr", lambda: repr(S(True)).split(" at")[0] if "at" in repr(S(True)) else repr(S(True)))
    note("str", lambda: str(S(True)))
    for bad in (1, None, "x", torch.tensor(True)):
        note(f"bad {type(bad).__name__}", lambda: (type(S(bad)).__name__, st()))
    S(True)
    note("kw", lambda: (S(mode=False), st())[1])
    S(True)
    note("clone", lambda: (S(False).clone(), st())[1])
    S(True)
    with torch.no_grad():
        S(True)
        note("in no_grad", st)
    note("after no_grad", st)


def inference(torch, note):
    I = torch.inference_mode

    def st():
        return (torch.is_grad_enabled(), torch.is_inference_mode_enabled())

    def f():
        with I(False):
            return st()

    note("false", f)

    def f():
        with I():
            with I(False):
                a = st()
            with torch.enable_grad():
                b = st()
            with torch.set_grad_enabled(True):
                c = st()
            return (a, b, c, st())

    note("nested", f)

    def f():
        with torch.no_grad():
            with I(False):
                a = st()
            return (a, st())

    note("false in no_grad", f)

    def f():
        with torch.no_grad():
            with I(True):
                a = st()
            return (a, st())

    note("true in no_grad", f)
    note("mode kw", lambda: I(mode=False)(lambda: st())())
    note("mode attr", lambda: (I().mode, I(False).mode))


def threads(torch, note):

    def st():
        return (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_anomaly_enabled(),
            torch.autograd.is_multithreading_enabled(),
        )

    def inthread(f):
        out = []
        t = threading.Thread(target=lambda: out.append(f()))
        t.start()
        t.join()
        return out[0]

    with torch.no_grad():
        note("no_grad", lambda: (st(), inthread(st)))
    with torch.inference_mode():
        note("inference", lambda: (st(), inthread(st)))
    torch.set_grad_enabled(False)
    note("set", lambda: inthread(st))
    torch.set_grad_enabled(True)
    with torch.autograd.set_multithreading_enabled(False):
        note("mt", lambda: (st(), inthread(st)))
    note("mt after", st)
    torch.autograd.set_multithreading_enabled(False)
    note("mt set", st)
    torch.autograd.set_multithreading_enabled(True)
    note("mt deco", lambda: torch.autograd.set_multithreading_enabled(False)(lambda: st())())
    torch.autograd.set_multithreading_enabled(True)  # other tests look at it: making the decorator has switched it
    with torch.autograd.graph.saved_tensors_hooks(lambda t: note("packed", lambda: t), lambda t: t):

        def f():
            x = torch.ones(2, requires_grad=True)
            y = x * x
            return y.grad_fn._saved_self is x

        note("hooks per thread", lambda: inthread(f))
    with torch.autograd.graph.disable_saved_tensors_hooks("no"):

        def f():
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                return "fine"

        note("disable per thread", lambda: inthread(f))
        note("disable here", f)
    note("gradcheck", lambda: callable(torch.autograd.gradcheck))
    with torch.autograd.detect_anomaly(check_nan=False):
        note("nan", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        note("nan", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
    note("nan after", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))

    def nanb():
        x = leaf(torch, 0.0)
        y = x.sqrt()
        with torch.autograd.set_detect_anomaly(True):
            return torch.autograd.grad(y * 0, x)

    note("nan found", nanb)

    def fail():

        class A(torch.autograd.Function):
            forward = staticmethod(lambda c, a: a * 1)
            backward = staticmethod(lambda c, g: 1 / 0)

        with torch.autograd.set_detect_anomaly(True):
            return torch.autograd.grad(A.apply(leaf(torch, 1.0)), leaf(torch, 1.0), allow_unused=True)

    note("error", fail)
    note(
        "grad mode in backward",
        lambda: (
            lambda x: (
                (
                    x.register_hook(lambda g: note("h", lambda: (st(), g.requires_grad))),
                    (x * x).backward(),
                    (x * x).backward(create_graph=True),
                )[0]
                and None
            )
        )(leaf(torch, 1.0)),
    )
    with torch.no_grad():
        pass

    def ng():
        x = leaf(torch, 1.0)
        y = x * x
        with torch.no_grad():
            return torch.autograd.grad(y, x, create_graph=True)

    note("create_graph in no_grad", ng)


STORIES = [contexts, set_by_a_bool, inference, threads]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
