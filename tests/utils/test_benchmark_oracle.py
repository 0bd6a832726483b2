"""utils.benchmark beside PyTorch's: measurements and comparisons of given times to the character, draws for a seed, refusals."""

import importlib
import random
import re

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
ours, theirs = (importlib.import_module(f"{library.__name__}.utils.benchmark") for library in LIBRARIES)

STATEMENTS = ("x + y", "a = 1\nb = 2", "")


def draw_measurement(module, draw, label=None):
    spec = module.TaskSpec(
        stmt=draw.choice(STATEMENTS),
        setup=draw.choice(["pass", "", "x = 1", "x = 1\ny = 2"]),
        label=label if label is not None else draw.choice([None, "sums"]),
        sub_label=draw.choice([None, "small", "a large one"]),
        description=draw.choice(["first", "second", "third one"]),
        env=draw.choice([None, None, "branch", "main"]),
        num_threads=draw.choice([1, 1, 2, 4]),
    )
    base = 10 ** draw.uniform(-9, 1)
    spread = draw.choice([0, 0.001, 0.1, 0.5])
    times = [base * (1 + spread * draw.random()) for _ in range(draw.choice([1, 2, 5, 30]))]
    return module.Measurement(draw.choice([1, 10, 100]), times, spec)


def described(measured):
    text = re.sub("0x[0-9a-f]+", "", repr(measured))
    facts = ("title", "as_row_name", "env", "significant_figures", "has_warnings", "label", "num_threads")
    numbers = measured.median, measured.mean, measured.iqr, measured.times
    return (
        text,
        [outcome(lambda name=name: getattr(measured, name)) for name in facts],
        numbers,
        measured.meets_confidence(),
    )


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


def test_measurements():
    for seed in range(200):
        mine, other = (described(draw_measurement(module, random.Random(seed))) for module in (ours, theirs))
        assert mine[:2] == other[:2], seed
        assert mine[2][:3] == pytest.approx(other[2][:3], rel=1e-12, abs=1e-24) and mine[2][3] == other[2][3]
        assert mine[3] == other[3]


def compared(module, seed, trims, warns, colours):
    draw = random.Random(seed)
    made = module.Compare([draw_measurement(module, draw, draw.choice(["sums", "products"])) for _ in range(9)])
    if trims:
        made.trim_significant_figures()
    if warns:
        made.highlight_warnings()
    if colours:
        made.colorize(rowwise=colours == "rows")
    return outcome(lambda: str(made))


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("warns", [False, True])
@pytest.mark.parametrize("colours", [None, "rows", "columns"])
def test_comparisons(trims, warns, colours):
    for seed in range(25):
        mine, other = (compared(module, seed, trims, warns, colours) for module in (ours, theirs))
        assert mine == other, seed


def test_helpers():
    for module_name, values in {
        "select_unit": [(t,) for t in (1e-9, 3e-8, 1e-6, 9.99e-4, 1e-3, 0.5, 1.0, 1000.0)],
        "unit_to_english": [("us",), ("s",), ("h",)],
        "trim_sigfig": [(x, n) for x in (1234.5, 0.00123456, 9.99, 1e-9) for n in (1, 2, 3, 4)] + [(1.0, 1.5)],
        "ordered_unique": [([3, 1, 3, 2, 1],)],
    }.items():
        for given in values:
            mine, other = (outcome(lambda: getattr(module, module_name)(*given)) for module in (ours, theirs))
            assert mine == other, (module_name, given)


def test_merging():
    draw = random.Random(1)
    spec = {"stmt": "x", "setup": "pass"}
    found = []
    for module in (ours, theirs):
        several = [
            module.Measurement(2, [1.0, 3.0], module.TaskSpec(**spec)),
            module.Measurement(1, [5.0], module.TaskSpec(**spec)),
        ]
        found.append([(each.number_per_run, each.raw_times) for each in module.Measurement.merge(several)])
    assert found[0] == found[1] == [(1, [0.5, 1.5, 5.0])] and draw


def clocked(module):
    """A Timer whose clock goes on by a second, or as the statement says, and what it measures."""
    now = [0.0]

    def clock():
        now[0] += 1e-3
        return now[0]

    def work():
        now[0] += 1e-4

    called = []
    timer = module.Timer("work()", globals={"work": work}, timer=clock, label="clocked", num_threads=1)
    once = timer.timeit(50)
    blocked = timer.blocked_autorange(callback=lambda number, seconds: called.append(number), min_run_time=2.0)
    adaptive = timer.adaptive_autorange(max_run_time=5.0)
    return [(each.number_per_run, [round(t, 9) for t in each.raw_times]) for each in (once, blocked, adaptive)], called


def test_timers():
    assert clocked(ours) == clocked(theirs)


def test_timers_set_threads_and_globals():
    seen = []
    before = rushlight.get_num_threads()
    ours.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(2)
    assert set(seen) == {1} and rushlight.get_num_threads() == before
    copied = ours.CopyIfCallgrind(3)
    ours.Timer("seen.append(value)", globals={"seen": seen, "value": copied}).timeit(2)
    assert seen[-1] == 3 and ours.timer() > 0


def refusals(module):
    for call in (
        lambda: module.Timer(3),
        lambda: module.Timer("x", global_setup="y"),
        lambda: module.Timer("x", language="rust"),
        lambda: module.Timer("x").repeat(),
        lambda: module.Timer("x").autorange(),
        lambda: module.Timer("pass").collect_callgrind(repeats=0),
        lambda: module.Compare([3]),
        lambda: module.FuzzedParameter("n", 1, 2, "normal"),
        lambda: module.FuzzedParameter("n", distribution={1: -0.5}),
        lambda: module.Fuzzer([module.FuzzedParameter("n", 1, 2, "uniform")], [module.FuzzedTensor("n", ("n",))]),
        lambda: next(module.Fuzzer([module.FuzzedParameter("n", 1, 2, "uniform")], [], [lambda p: False]).take(1)),
        lambda: repr(module.ParameterAlias("n")),
        lambda: [each.name for each in module.Language],
        lambda: [each.value for each in module.Colorize],
    ):
        yield outcome(call)


def test_refusals():
    assert list(refusals(ours)) == list(refusals(theirs))


def test_callgrind_is_refused(monkeypatch):
    timer = ours.Timer("pass")
    with pytest.raises(NotImplementedError if importlib.import_module("shutil").which("valgrind") else OSError):
        timer.collect_callgrind()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="Could not find `valgrind`"):
        timer.collect_callgrind()
    with pytest.raises(NotImplementedError, match="C\\+\\+"):
        ours.Timer("x", language="c++")


def drawn(module, library, seed):
    fuzzer = module.Fuzzer(
        parameters=[
            [module.FuzzedParameter(f"k{i}", minval=1, maxval=40, distribution="loguniform") for i in range(3)],
            module.FuzzedParameter("dim", minval=1, maxval=3, distribution="uniform", strict=True),
            module.FuzzedParameter("step", minval=1, maxval=2, distribution="uniform"),
            module.FuzzedParameter("scale", minval=0.5, maxval=1.5, distribution="uniform"),
        ],
        tensors=[
            module.FuzzedTensor("x", size=("k0", "k1", "k2"), steps=("step",), dim_parameter="dim", max_elements=4000),
            module.FuzzedTensor("i", size=("k0", 2), dtype=library.int64, min_elements=4, max_allocation_bytes=10000),
        ],
        constraints=[lambda parameters: parameters["k0"] != 3],
        seed=seed,
    )
    return [
        (
            parameters,
            {n: (t.tolist(), t.stride()) for n, t in tensors.items()},
            {n: {**p, "order": list(p["order"])} for n, p in properties.items()},
        )
        for tensors, properties, parameters in fuzzer.take(5)
    ], fuzzer.rejection_rate


@pytest.mark.parametrize("seed", [0, 7])
def test_draws(seed):
    assert drawn(ours, rushlight, seed) == drawn(theirs, torch, seed)
