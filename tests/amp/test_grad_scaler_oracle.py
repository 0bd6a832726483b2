"""GradScaler against PyTorch: scales, skipped steps, state, errors, optimizers that unscale by themselves."""

import pickle

import pytest
from autocast_stories import told

import rushlight as rl

torch = pytest.importorskip("torch")


def alike(story):
    found, expected = (told(story, module, (RuntimeWarning,)) for module in (rl, torch))
    assert found == expected


def made(m, **options):
    weight = m.nn.Parameter(m.tensor([1.0, -2.0]))
    return weight, m.optim.SGD([weight], lr=0.5), m.amp.GradScaler("cpu", **options)


def step(weight, optimizer, scaler, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * weight * factor).sum()).backward()
    found = scaler.step(optimizer)
    scaler.update()
    return found, weight.detach().tolist(), scaler.get_scale(), scaler._get_growth_tracker()


def test_growth_and_backoff():
    def story(m):
        parts = made(m, init_scale=8.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2)
        factors = (1.0, 1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0)
        return [step(*parts, factor) for factor in factors], parts[2].state_dict()

    alike(story)


def test_a_scale_does_not_grow_beyond_float32():
    def story(m):
        parts = made(m, init_scale=2.0**126, growth_factor=4.0, growth_interval=1)
        return [step(*parts, 0.0) for _ in range(3)]

    alike(story)


def test_defaults_and_settings():
    def story(m):
        scaler = m.amp.GradScaler("cpu")
        told = [scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()]
        scaler.set_growth_factor(3.0)
        scaler.set_backoff_factor(0.1)
        scaler.set_growth_interval(7)
        return told, scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()

    alike(story)


def test_a_disabled_scaler_steps_alone():
    def story(m):
        parts = made(m, enabled=False)
        scaler = parts[2]
        scaler.unscale_(parts[1])
        scaler.load_state_dict({})
        return step(*parts, 1.0), scaler.state_dict(), scaler.is_enabled(), scaler.scale([1])

    alike(story)


def test_scaling_many_outputs():
    def story(m):
        scaler = m.amp.GradScaler("cpu", init_scale=2.0)
        x = m.ones(2)
        nested = scaler.scale([x, (x, [x.half()])])
        return nested, type(nested[1]).__name__, [each.tolist() for each in scaler.scale(iter([x, x]))]

    alike(story)
    alike(lambda m: m.amp.GradScaler("cpu").scale([3]))
    alike(lambda m: m.amp.GradScaler("cpu").scale(3))


def test_unscaled_gradients_can_be_clipped():
    def story(m):
        weight, optimizer, scaler = made(m, init_scale=1024.0)
        scaler.scale((weight * weight).sum()).backward()
        scaler.unscale_(optimizer)
        norm = m.nn.utils.clip_grad_norm_([weight], 1.0)
        scaler.step(optimizer)
        scaler.update()
        return norm, weight.grad, weight

    alike(story)


@pytest.mark.parametrize(
    "calls",
    [
        "scaler.unscale_(optimizer)",
        "scaler.step(optimizer)",
        "scaler.update()",
        "scale(); scaler.step(optimizer, closure=abs)",
        "scale(); scaler.unscale_(optimizer); scaler.unscale_(optimizer)",
        "scale(); scaler.step(optimizer); scaler.unscale_(optimizer)",
        "scale(); scaler.step(optimizer); scaler.step(optimizer)",
        "scale(); scaler.update()",
        "scale(); optimizer.zero_grad(); scaler.step(optimizer)",
        "scale(); pickle.dumps(scaler._per_optimizer_states and scaler)",
        "scaler.load_state_dict({})",
        "scale(); scaler.step(optimizer); scaler.update(3.0)",
        "scale(); scaler.step(optimizer); scaler.update(m.tensor([5.0]))",
        "scale(); scaler.step(optimizer); scaler.update(m.tensor([5.0, 6.0]))",
        "scale(); scaler.step(optimizer); scaler.update(m.ones(1, requires_grad=True))",
        "scale(); scaler.unscale_(optimizer); pickle.dumps(scaler)",
    ],
)
def test_the_order_of_calls(calls):
    def story(m):
        weight, optimizer, scaler = made(m, init_scale=4.0)
        names = {
            "m": m,
            "pickle": pickle,
            "scaler": scaler,
            "optimizer": optimizer,
            "scale": lambda: scaler.scale((weight * weight).sum()).backward(),
        }
        exec(calls, names)
        return scaler.state_dict(), weight

    alike(story)


def test_half_gradients():
    def story(m):
        weight = m.nn.Parameter(m.ones(2, dtype=m.float16))
        optimizer, scaler = m.optim.SGD([weight], lr=0.5), m.amp.GradScaler("cpu", init_scale=2.0)
        scaler.scale((weight * weight).sum()).backward()
        found = scaler._check_inf_per_device(optimizer)
        told = [[each.item() for each in found.values()], weight.grad]
        scaler.unscale_(optimizer)
        return told

    alike(story)


def test_gradients_whose_sum_overflows_are_finite():
    def story(m):
        weight = m.nn.Parameter(m.ones(4))
        optimizer, scaler = m.optim.SGD([weight], lr=0.0), m.amp.GradScaler("cpu", init_scale=1.0)
        told = []
        for numbers in ([3e38] * 4, [3e38, float("inf"), -float("inf"), 0.0], [3e38, -3e38, float("nan"), 0.0]):
            weight.grad = m.tensor(numbers)
            scaler.scale(m.ones(1))
            scaler.unscale_(optimizer)
            told.append([found.item() for found in scaler._found_inf_per_device(optimizer).values()])
            scaler.update()
        return told

    alike(story)


def test_two_optimizers():
    def story(m):
        one, two = m.nn.Parameter(m.ones(2)), m.nn.Parameter(m.ones(2))
        first, second = m.optim.SGD([one], lr=0.5), m.optim.SGD([two], lr=0.25)
        scaler = m.amp.GradScaler("cpu", init_scale=4.0)
        told = []
        for factor in (1.0, float("inf")):
            scaler.scale((one * factor).sum() + two.sum()).backward()
            scaler.step(first)
            scaler.step(second)
            scaler.update()
            told += [one.tolist(), two.tolist(), scaler.get_scale()]
        return told

    alike(story)


def test_state_goes_over():
    def story(m):
        parts = made(m, init_scale=4.0, growth_interval=3)
        step(*parts)
        others = made(m)
        others[2].load_state_dict(parts[2].state_dict())
        step(*others)
        others[2].load_state_dict(parts[2].state_dict())
        return others[2].state_dict(), step(*others)

    alike(story)


def test_pickles():
    for module in (rl, torch):
        parts = made(module, init_scale=4.0)
        step(*parts)
        copy = pickle.loads(pickle.dumps(parts[2]))
        assert copy.state_dict() == parts[2].state_dict()
        assert step(*parts[:2], copy)[2] == 4.0


@pytest.mark.parametrize("takes_scaler", [False, True])
@pytest.mark.parametrize("unscales_before", [False, True])
def test_optimizers_that_unscale_by_themselves(takes_scaler, unscales_before):
    def story(m):
        told = []

        class Own(m.optim.SGD):
            _step_supports_amp_scaling = True

            if takes_scaler:

                def step(self, closure=None, *, grad_scaler=None):
                    told.append(grad_scaler.get_scale())
            else:

                def step(self, closure=None):
                    told.append((self.grad_scale, self.found_inf))

        weight = m.nn.Parameter(m.ones(2))
        optimizer, scaler = Own([weight], lr=0.5), m.amp.GradScaler("cpu", init_scale=4.0)
        for factor in (1.0, float("inf")):
            scaler.scale((weight * factor).sum()).backward()
            if unscales_before:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            if not takes_scaler:
                scaler.update()
            elif factor == 1.0:
                scaler._per_optimizer_states.clear()
        return told, weight.grad, scaler.get_scale(), hasattr(optimizer, "found_inf")

    alike(story)
