"""Gradient modes against PyTorch: contexts, decorators, threads."""

import asyncio
import threading

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def contexts(torch, note):
    def state():
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    note("start", state)
    with torch.no_grad():
        note("no_grad", state)
        with torch.enable_grad():
            note("enable_grad", state)
            with torch.set_grad_enabled(False):
                note("set_grad_enabled", state)
        note("back", state)
    torch.set_grad_enabled(False)
    note("function", state)
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        note("inference", state)
        with torch.enable_grad():
            note("enable inside", state)
        with torch.inference_mode(False):
            note("inference off", state)
        note("back", state)
    with torch.inference_mode(False):
        note("off", state)
    with torch.no_grad(), torch.inference_mode(mode=False):
        note("off in no_grad", state)
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        note("after an error", state)
    note("argument", lambda: torch.set_grad_enabled("a"))
    torch.set_grad_enabled(True)
    note("entered", lambda: torch.no_grad().__enter__())
    torch.set_grad_enabled(True)
    note("with as", lambda: type(torch.set_grad_enabled(True).__enter__()))
    torch.set_grad_enabled(True)


def decorators(torch, note):
    def state():
        return torch.is_grad_enabled()

    for name, mode in {"no_grad": torch.no_grad, "no_grad()": torch.no_grad(), "enable_grad": torch.enable_grad, "enable_grad()": torch.enable_grad(),
                       "inference_mode": torch.inference_mode, "inference_mode()": torch.inference_mode(), "set": torch.set_grad_enabled(False),
                       "inference off": torch.inference_mode(False)}.items():  # fmt: skip

        @mode
        def plain(x, *, y=1):
            "doc"
            return state(), x, y

        @mode
        def generator():
            log = [state()]
            try:
                log.append((yield state()))
                log.append((yield state()))
            except KeyError:
                log.append(("caught", state()))
                yield "after"
            finally:
                log.append(state())
                note(f"{name} generator log", lambda: log)

        @mode
        async def coroutine():
            await asyncio.sleep(0)
            return state()

        note(f"{name} plain", lambda: (plain(3, y=2), plain.__name__, plain.__doc__))
        made = generator()
        note(f"{name} generator", lambda: (next(made), state(), made.send("sent"), state(), made.throw(KeyError())))
        made.close()
        note(f"{name} list", lambda: list(generator()))
        made = None
        note(f"{name} outside", state)
    note("set acts at once", lambda: torch.set_grad_enabled(False) and state())
    torch.set_grad_enabled(True)

    def decorate_class():
        @torch.no_grad()
        class Decorated:
            def __init__(self):
                self.inside = state()

            def method(self):
                return state()

        return Decorated().inside, Decorated().method()

    note("class", decorate_class)

    class Holder:
        @torch.no_grad()
        def method(self):
            return state()

        @staticmethod
        @torch.no_grad()
        def static():
            return state()

        @torch.no_grad()
        def recursive(self, depth):
            return state() if depth == 0 else self.recursive(depth - 1)

    note("methods", lambda: (Holder().method(), Holder.static(), Holder().recursive(3), state()))


def threads(torch, note):
    log = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: log.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    note("per thread", lambda: log)
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).exp()
    errors = []

    def work():
        try:
            (x * 2).exp().sum().backward()
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    note("own graphs", lambda: (errors, x.grad / 8))
    grads = []
    workers = [
        threading.Thread(target=lambda: grads.append(torch.autograd.grad(y.sum(), x, retain_graph=True)[0]))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    note("shared graph", lambda: grads)


STORIES = [contexts, decorators, threads]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
