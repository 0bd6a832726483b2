"""utils.checkpoint against PyTorch: gradients, random numbers, how often the function runs, errors."""

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")


def alike(story):
    found = []
    for m in (torch, rl):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(str(story(m)))
            except Exception as error:
                found.append((type(error).__name__, str(error).splitlines()[0]))
    assert found[1] == found[0]


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_and_random_numbers(reentrant):
    def story(m):
        m.manual_seed(0)
        net = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.ReLU(), m.nn.Dropout(0.5), m.nn.Linear(4, 2))
        x = m.ones(2, 3).requires_grad_()
        m.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant).sum().backward()
        return x.grad, [p.grad for p in net.parameters()], m.rand(2)

    alike(story)


@pytest.mark.parametrize("reentrant", [False, True])
def test_sequential(reentrant):
    def story(m):
        m.manual_seed(0)
        net = m.nn.Sequential(*[m.nn.Sequential(m.nn.Linear(3, 3), m.nn.Tanh()) for _ in range(5)])
        x = m.ones(2, 3).requires_grad_()
        m.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=reentrant).sum().backward()
        return x.grad, [p.grad for p in net.parameters()]

    alike(story)


def test_nested_runs_as_often():
    def story(m):
        checkpoint, runs = m.utils.checkpoint.checkpoint, [0, 0]

        def inner(a):
            runs[0] += 1
            return a.sin().exp()

        def outer(a):
            runs[1] += 1
            return checkpoint(inner, a.cos(), use_reentrant=False).tanh()

        x = m.ones(2, requires_grad=True)
        checkpoint(outer, x, use_reentrant=False).sum().backward()
        return x.grad, runs

    alike(story)


def test_backward_twice_and_double_backward():
    def story(m):
        x = m.ones(2, requires_grad=True)
        y = m.utils.checkpoint.checkpoint(lambda a: a.sin().cos(), x, use_reentrant=False).sum()
        y.backward(retain_graph=True)
        (g,) = m.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
        return x.grad, g.detach()

    alike(story)


def test_early_stop():
    def story(m, stop):
        after = []

        def function(a):
            b = a.sin()
            after.append(1)
            return b + 1

        with m.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = m.utils.checkpoint.checkpoint(function, m.ones(2, requires_grad=True), use_reentrant=False)
        y.sum().backward()
        return len(after)

    for stop in (True, False):
        alike(lambda m, stop=stop: story(m, stop))


@pytest.mark.parametrize("second", ["a.sin()", "a[:1].sin().cos()"])
def test_another_path_is_refused(second):
    def story(m):
        runs = []

        def function(a):
            runs.append(1)
            return a.sin().cos() if len(runs) == 1 else eval(second, {"a": a})

        m.utils.checkpoint.checkpoint(function, m.ones(2, requires_grad=True), use_reentrant=False).sum().backward()

    alike(story)


def test_refused_arguments():
    alike(lambda m: m.utils.checkpoint.checkpoint(abs, m.ones(1), use_reentrant=True, foo=1))
    alike(lambda m: m.utils.checkpoint.checkpoint(abs, m.ones(1), use_reentrant=True, debug=True))
    alike(lambda m: m.utils.checkpoint.checkpoint(abs, m.ones(1), use_reentrant=False, determinism_check="x"))


def test_silence_about_the_method_warns():
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        rl.utils.checkpoint.checkpoint(abs, rl.ones(1, requires_grad=True))


def test_hooks_module():
    assert rl.utils.hooks.RemovableHandle.__name__ == torch.utils.hooks.RemovableHandle.__name__
