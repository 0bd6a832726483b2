"""Schedules, steps and refusals of the profiler, beside PyTorch's."""

import importlib
import itertools
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def profiler_of(library):
    return importlib.import_module(f"{library.__name__}.profiler")


PLANS = [
    {
        "wait": wait,
        "warmup": warmup,
        "active": active,
        "repeat": repeat,
        "skip_first": skip,
        "skip_first_wait": skip_wait,
    }
    for wait, warmup, active, repeat, skip, skip_wait in itertools.product(
        (0, 2), (0, 1), (1, 3), (0, 2), (0, 1), (0, 1)
    )
]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_schedules():
    for options in PLANS:
        plans = [profiler_of(library).schedule(**options) for library in LIBRARIES]
        ours, theirs = ([plan(step).name for step in range(25)] for plan in plans)
        assert ours == theirs, options


def walked(library, plan):
    """What each step of a profiled loop led to."""
    profiling, story = profiler_of(library), []

    def ready(profiler):
        events = profiler.key_averages()
        found = sorted(event.key for event in events if event.key in ("aten::sin", "ProfilerStep*"))
        story.append((profiler.step_num, found, [event.count for event in events if event.key == "ProfilerStep*"]))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schedule = profiling.schedule(**plan) if plan else None
        cpu = [profiling.ProfilerActivity.CPU]
        with profiling.profile(activities=cpu, schedule=schedule, on_trace_ready=ready, acc_events=True) as profiler:
            for _ in range(7):
                library.ones(2).sin()
                profiler.step()
                story.append(profiler.current_action.name)
    return story, [str(each.message).partition("\n")[0] for each in caught]


@pytest.mark.parametrize("plan", [None, PLANS[0], PLANS[5], PLANS[21], PLANS[36], PLANS[62]])
def test_loops(plan):
    assert walked(rushlight, plan) == walked(torch, plan)


def refusals(library, folder):
    profiling, automatic = profiler_of(library), importlib.import_module(f"{library.__name__}.autograd.profiler")
    profile, cpu = profiling.profile, profiling.ProfilerActivity.CPU
    done = profile(activities=[cpu])
    done.start()
    done.stop()
    devices = [getattr(profiling.ProfilerActivity, name) for name in ("CPU", "CUDA")]
    on_devices = profile(activities=devices)
    twice, itt = automatic.profile(), automatic.emit_itt()
    for call in (
        lambda: profiling.schedule(wait=-1, warmup=1, active=1),
        lambda: profiling.schedule(wait=0, warmup=1, active=0),
        lambda: profiling.schedule(wait=0, warmup=1, active=1)(-1),
        lambda: profiling.schedule(wait=0, warmup=0, active=1)(0).name,
        lambda: profile(activities=[1]),
        lambda: profile(activities=[cpu, {cpu: []}]),
        lambda: profile(activities=[]),
        lambda: profile(schedule=lambda step: profiling.ProfilerAction.DEVICE_STOPPED),
        lambda: profile(use_cuda=False) and None,
        lambda: automatic.profile().__exit__(None, None, None),
        lambda: profile(activities=[cpu]).stop(),
        lambda: (done.stop(), done.start(), done.start(), done.stop(), done.stop(), len(done.events())),
        lambda: profile(activities=[cpu]).step(),
        lambda: on_devices.start(),
        lambda: on_devices.stop(),
        lambda: profile(activities=[profiling.ProfilerActivity.XPU]).start(),
        lambda: profile().key_averages(),
        lambda: profile().events(),
        lambda: profile().export_chrome_trace("trace"),
        lambda: profile().export_stacks("stacks"),
        lambda: profile().get_trace_id(),
        lambda: done.export_stacks(str(folder / "stacks")),
        lambda: done.events().export_stacks(str(folder / "stacks"), "bad"),
        lambda: done.export_memory_timeline(str(folder / "x.html")),
        lambda: repr(twice),
        lambda: twice.__enter__() and None,
        lambda: twice.__enter__(),
        lambda: twice.__exit__(None, None, None),
        lambda: automatic.profile(enabled=False).__enter__(),
        lambda: automatic.profile(use_device="cuda") and None,
        lambda: automatic.profile(use_device="fish") and None,
        lambda: automatic.profile(use_cuda=True) and None,
        lambda: automatic.profile(use_cpu=False),
        lambda: automatic.profile(use_cpu=False, use_kineto=True),
        lambda: automatic.profile(post_processing_timeout_s=-1),
        lambda: (
            profiling.itt.is_available(),
            profiling.itt.range_push("a"),
            profiling.itt.range_pop(),
            profiling.itt.mark("b"),
        ),
        lambda: profiling.itt.range("a{}", 1).__enter__(),
        lambda: itt.__enter__() is itt,
        lambda: itt.__enter__(),
        lambda: itt.__exit__(None, None, None) and None,
        lambda: automatic.emit_nvtx().__enter__(),
        lambda: automatic.emit_nvtx(enabled=False).__enter__(),
        lambda: profiling.record_function(3).__enter__(),
        lambda: profiling.record_function("a").__exit__(None, None, None),
        lambda: automatic.EnforceUnique().see(1),
        lambda: profiling.supported_activities() == {cpu},
        lambda: automatic.kineto_available(),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = call()
            except Exception as error:
                found = type(error).__name__, str(error).partition("\n")[0]
        said = [(each.category.__name__, str(each.message).partition("\n")[0]) for each in caught]
        if not any("USDT" in line for _, line in said):
            yield found, said


def test_refusals(tmp_path):
    for number, (ours, theirs) in enumerate(zip(*(refusals(library, tmp_path) for library in LIBRARIES), strict=True)):
        assert ours == theirs, number


@pytest.mark.parametrize("name", ["ProfilerActivity", "ProfilerAction", "DeviceType"])
def test_enumerations(name):
    members = [
        {
            key: (int(each.value), str(each), repr(each).partition(":")[0])
            for key, each in getattr(profiler_of(library), name).__members__.items()
        }
        for library in LIBRARIES
    ]
    assert members[0] == members[1]


def events_of(library, call):
    with profiler_of(library).profile(with_flops=True) as profiler:
        call(library, library.ones(3, 4))
    return [(event.name, event.flops) for event in profiler.events() if event.cpu_parent is None]


CALLS = {
    "add": lambda t, a: a + a,
    "in place": lambda t, a: a.add_(1).mul_(2),
    "numbers": lambda t, a: 2 - a / 2,
    "product": lambda t, a: a @ a.t(),
    "mm": lambda t, a: t.mm(a, a.t()),
    "sums": lambda t, a: (a.sum(), a.mean(0), a.std(), a.var(0), a.max(1), a.argmax(), a.cumsum(0)),
    "views": lambda t, a: (a.view(12), a.reshape(12), a.transpose(0, 1), a.permute(1, 0), a.flatten(), a[0], a[1:], a.unsqueeze(0)),
    "joined": lambda t, a: (t.cat([a, a]), t.stack([a, a]), a.chunk(2), a.split(2), a.repeat(2, 2), a.expand(2, 3, 4)),
    "compared": lambda t, a: (t.where(a > 0, a, a), a == a, a.clamp(0, 1), t.allclose(a, a)),
    "made": lambda t, a: (t.zeros(3), t.full((3,), 1.0), t.arange(3), t.rand(3), t.randint(0, 3, (3,)), t.zeros_like(a), a.clone()),
    "layers": lambda t, a: (t.nn.functional.linear(a, a), t.nn.functional.layer_norm(a, (4,)), t.nn.functional.dropout(a, 0.5)),
    "functions": lambda t, a: (t.nn.functional.softmax(a, -1), a.softmax(-1), t.nn.functional.gelu(a), a.relu(), t.relu_(a)),
    "convolution": lambda t, a: t.nn.functional.conv2d(a.view(1, 1, 3, 4), a.view(1, 1, 3, 4)[..., :2]),
    "picked": lambda t, a: (a.topk(2), a.sort(), a.index_select(0, t.zeros(1, dtype=t.int64)), a[a > 0]),
    "algebra": lambda t, a: (t.linalg.inv(t.eye(3)), t.fft.fft(a), t.einsum("ij,kj->ik", a, a), a.exp()),
    "attention": lambda t, a: t.nn.functional.scaled_dot_product_attention(a.view(1, 1, 3, 4), a.view(1, 1, 3, 4), a.view(1, 1, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_outermost_events_are_pytorchs(name):
    """Names and floating-point operations; what happens within differs."""
    assert events_of(rushlight, CALLS[name]) == events_of(torch, CALLS[name])
