"""What a profile holds: operations, backward, named blocks, memory, stacks, kernels, steps; and that nothing stays on."""

import gzip
import json
import os
import sys
import threading

import pytest

import rushlight as torch
from rushlight import profiler as profiling
from rushlight.autograd.modes import state
from rushlight.kernels.machine.host import host
from rushlight.profiler import recorder
from rushlight.tensor.interposers import INTERPOSERS

profile, record_function = profiling.profile, profiling.record_function


def tree(events):
    """Names, each with those within it."""

    def of(parent):
        return [
            (event.name, of(event)) if event.cpu_children else event.name
            for event in events
            if event.cpu_parent is parent
        ]

    return of(None)


def named(events, name):
    return next(event for event in events if event.name == name)


def test_operations_stand_within_what_called_them():
    layer = torch.nn.Linear(3, 2)
    with profile() as profiler, record_function("block"):
        layer(torch.ones(4, 3)).relu()
    assert tree(profiler.events()) == [
        ("block", ["aten::ones", ("aten::linear", ["aten::addmm"]), "aten::relu"]),
    ]


def test_backward():
    x = torch.ones(3, requires_grad=True)
    with profile(record_shapes=True) as profiler:
        (x * 2).sum().backward()
    events = profiler.events()
    node = named(events, "MulBackward0")
    assert node.scope == 1 and node.input_shapes == [[3]]
    assert node.cpu_parent.name == "autograd::engine::evaluate_function: MulBackward0"
    assert node.sequence_nr == named(events, "aten::mul").sequence_nr >= 0
    assert [event.name for event in node.cpu_children] == ["aten::mul"]
    leaf = named(events, "torch::autograd::AccumulateGrad")
    assert leaf.cpu_parent.name.endswith("evaluate_function: torch::autograd::AccumulateGrad")
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_gradients_are_stolen_as_without():
    """The gradient of a leaf is taken over, not copied, with a profile, too."""
    addresses = []
    for context in (profile(), record_function("none")):
        x = torch.ones(3, requires_grad=True)
        seen = []
        y = x * 2
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].data_ptr()))
        with context:
            y.sum().backward()
        addresses.append(seen == [x.grad.data_ptr()])
    assert addresses[0] == addresses[1]


def test_arguments():
    with profile(record_shapes=True) as profiler:
        torch.cat([torch.ones(2, 3), torch.ones(1, 3)]).transpose(0, 1)
        torch.nn.functional.softmax(torch.ones(2), dim=0)
    events = profiler.events()
    joined = named(events, "aten::cat")
    assert joined.input_shapes == [[], []] and joined.structured_input_shapes == [[[2, 3], [1, 3]], []]
    assert joined.structured_input_strides == [[[3, 1], [3, 1]], []] and joined.input_dtypes == ["TensorList", "Scalar"]
    turned = named(events, "aten::transpose")
    assert turned.concrete_inputs == [None, 0, 1] and turned.input_shapes == [[3, 3], [], []]
    assert named(events, "aten::softmax").input_shapes[0] == [2]
    plain = profile()
    with plain:
        torch.ones(2).exp()
    assert all(event.input_shapes == [] for event in plain.events())


def test_memory():
    with profile(profile_memory=True) as profiler:
        x = torch.ones(1000)
        y = x.exp()
        view = y[:3]
        del y, view
        x = None
    averages = {event.key: event for event in profiler.key_averages()}
    assert averages["aten::ones"].cpu_memory_usage == averages["aten::exp"].self_cpu_memory_usage == 4000
    assert averages["[memory]"].cpu_memory_usage == -8000
    assert "CPU Mem" in profiler.key_averages().table()


def test_stacks(tmp_path):
    def called():
        return torch.ones(300).exp()

    with profile(with_stack=True) as profiler:
        called()
        x = torch.ones(2, requires_grad=True)
        x.exp().sum().backward()
    events = profiler.events()
    first = named(events, "aten::exp")
    assert first.stack[0].endswith("): called") and "test_profile.py(" in first.stack[1]
    assert named(events, "ExpBackward0").stack == [e for e in events if e.name == "aten::exp"][1].stack
    averages = profiler.key_averages(group_by_stack_n=2)
    assert sum(event.key == "aten::exp" for event in averages) == 2
    assert "Source Location" in averages.table()
    profiler.export_stacks(str(tmp_path / "stacks"))
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines and all(line.rpartition(" ")[2].isdigit() for line in lines)


def test_modules():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    with profile(with_modules=True) as profiler:
        model(torch.ones(1, 2))
    linear = [("aten::linear", ["aten::addmm"])]
    modules = [("nn.Module: Linear_0", linear), ("nn.Module: Linear_1", linear)]
    assert tree(profiler.events()) == ["aten::ones", ("nn.Module: Sequential_0", modules)]


def test_training_steps():
    x = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([x], 0.1)
    with profile() as profiler:
        x.grad = torch.ones(3)
        optimizer.step()
        optimizer.zero_grad()
        list(torch.utils.data.DataLoader([1, 2], batch_size=2))
    names = [event.name for event in profiler.events() if event.is_user_annotation]
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert names == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad", loader, loader]


@pytest.mark.skipif(host() is None, reason="no generated kernels here")
def test_kernels():
    x = torch.ones(256, 256)
    x @ x  # compiled
    with profile() as profiler:
        x @ x
        x.exp()
    product = named(profiler.events(), "kernel::matmul")
    assert product.cpu_parent.name == "aten::mm" and product.threads >= 1
    assert product.gigaflops == pytest.approx(2 * 256**3 / product.time_range.elapsed_us() / 1000)
    assert named(profiler.events(), "kernel::exp").gigaflops is None
    assert named(profiler.events(), "aten::mm").kernels[0].name == "kernel::matmul"
    table = profiler.kernel_table().splitlines()
    assert table[1].split() == [
        "Kernel",
        "#",
        "of",
        "Launches",
        "Threads",
        "Total",
        "us",
        "us",
        "avg",
        "GFLOP/s",
        "of",
        "peak",
    ]
    reached = {line.split()[0]: line.split()[-1] for line in table[3:-1]}
    assert reached.keys() == {"matmul", "exp"} and reached["exp"] == "--" and reached["matmul"].endswith("%")


def test_flops():
    with profile(with_flops=True) as profiler:
        torch.nn.functional.conv2d(torch.ones(2, 4, 8, 8), torch.ones(6, 2, 3, 3), groups=2, stride=2, padding=1)
        torch.ones(3, 4) @ torch.ones(4, 5)
        torch.ones(3, 4) * torch.ones(4)
    counted = {event.key: event.flops for event in profiler.key_averages() if event.flops}
    assert counted == {"aten::conv2d": 6912, "aten::mm": 120, "aten::mul": 12}


def test_traces(tmp_path):
    path = str(tmp_path / "trace.json")
    x = torch.ones(200, 200, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as profiler:
        with record_function("block"):
            (x @ x).sum().backward()
        profiler.add_metadata("who", 'a "test"')
        profiler.add_metadata_json("number", "[1, 2]")
    profiler.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    assert trace["who"] == 'a "test"' and trace["number"] == [1, 2] and trace["record_shapes"] == 1
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in slices)
    assert {"block", "aten::mm", "MmBackward0"} <= {event["name"] for event in slices}
    product = next(event for event in slices if event["name"] == "aten::mm")
    assert product["args"]["Input Dims"] == [[200, 200], [200, 200]] and product["cat"] == "cpu_op"
    arrows = [event for event in trace["traceEvents"] if event.get("cat") == "fwdbwd"]
    assert len(arrows) % 2 == 0 and {event["ph"] for event in arrows} == {"s", "f"}
    assert any(event["name"] == "[memory]" for event in trace["traceEvents"])
    profiler.export_chrome_trace(path + ".gz")
    with gzip.open(path + ".gz") as file:
        assert json.load(file)["trace_id"] == trace["trace_id"] == profiler.get_trace_id()
    profiling.tensorboard_trace_handler(str(tmp_path / "new" / "folder"), use_gzip=True)(profiler)
    assert [name.endswith(".pt.trace.json.gz") for name in os.listdir(tmp_path / "new" / "folder")] == [True]


def test_nothing_stays_on():
    functions = [torch.Tensor.reshape, torch.optim.Optimizer.zero_grad]
    left = set(recorder._around)  # where autocast has grafted upon them
    before = [(f.__code__, f.__kwdefaults__, f.__dict__.get("__wrapped__")) for f in functions]
    with profile(with_stack=True):
        assert [f.__code__ for f in functions] != [code for code, _, _ in before]
        assert torch.autograd._profiler_enabled()
    assert [(f.__code__, f.__kwdefaults__, f.__dict__.get("__wrapped__")) for f in functions] == before
    assert not INTERPOSERS and not recorder.RECORDERS and set(recorder._around) == left
    assert state.run_node is None and state.run_leaf is None and not torch.autograd._profiler_enabled()


def test_other_grafts_may_come_in_between():
    """Autocast, which is first used within a profile, grafts upon the profiler's: both work afterwards, and again."""
    for _ in range(2):
        with profile() as profiler:
            with torch.autocast("cpu"):
                y = torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
        assert y.dtype == torch.bfloat16
        assert [event.name for event in profiler.events()].count("aten::linear") == 1
    assert torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).dtype == torch.float32


def test_threads_are_apart():
    def work():
        torch.ones(300, 300).tanh()

    with profile() as profiler:
        other = threading.Thread(target=work)
        other.start()
        other.join()
        torch.ones(2).exp()
    assert [event.name for event in profiler.events()] == ["aten::ones", "aten::exp"]


def test_profiles_within_a_profile():
    with profile() as outer:
        torch.ones(2)
        with profile() as inner, record_function("both"):
            torch.ones(2).exp().reshape(2)
        torch.zeros(2)
    assert [e.name for e in inner.events()] == ["both", "aten::ones", "aten::exp", "aten::reshape", "aten::view"]
    assert [e.name for e in outer.events()] == ["aten::ones", *(e.name for e in inner.events()), "aten::zeros"]


def test_errors_end_events():
    with profile() as profiler:
        with pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(2, 3)
        torch.ones(1)
    assert [event.name for event in profiler.events() if event.cpu_parent is None][-1] == "aten::ones"
    assert all(event.time_range.elapsed_us() >= 0 for event in profiler.events())


def test_anomalies_are_found():
    x = torch.zeros(2, requires_grad=True)
    with profile() as profiler, pytest.warns(UserWarning), torch.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match="returned nan values"):
            (x.sqrt() * 0).sum().backward()
    assert "SqrtBackward0" in [event.name for event in profiler.events()]
    with pytest.raises(FloatingPointError), torch.find_nonfinite(), profile():
        (x.sqrt() * 0).sum().backward()


def test_decorator_and_recursion():
    @record_function("deep")
    def count(n):
        return n if n == 0 else count(n - 1)

    with profile() as profiler:
        count(2)
    assert [event.name for event in profiler.events()] == ["deep"]  # one within another of its name alone is one


def test_pausing():
    with profile() as profiler:
        torch.ones(1)
        profiler.toggle_collection_dynamic(False, [profiling.ProfilerActivity.CPU])
        torch.zeros(1)
        profiler.toggle_collection_dynamic(True, [profiling.ProfilerActivity.CPU])
        torch.ones(1).exp()
    assert [event.name for event in profiler.events()] == ["aten::ones", "aten::ones", "aten::exp"]


def test_transforms_are_seen():
    with profile() as profiler:
        torch.func.grad(lambda x: x.sin().sum())(torch.ones(3))
        torch.func.vmap(torch.cos)(torch.ones(2, 3))
    names = [event.name for event in profiler.events()]
    assert {"aten::sin", "aten::cos", "SinBackward0"} <= set(names)


def test_incorrect_schedules_warn():
    """PyTorch warns with the same words; its profiler does not survive some of these."""
    none, warm, record = list(profiling.ProfilerAction)[:3]
    plan = [warm, none, record, warm, record, none]
    with (
        pytest.warns(UserWarning, match="Incorrect schedule") as caught,
        profile(schedule=plan.__getitem__, acc_events=True) as profiler,
    ):
        for _ in plan[1:]:
            torch.ones(1)
            profiler.step()
    said = [
        str(each.message).partition("\n")[0].partition(": ")[2] for each in caught if "Incorrect" in str(each.message)
    ]
    assert said == ["WARMUP followed by NONE", "RECORD followed by WARMUP", "RECORD followed by NONE"]


@pytest.mark.parametrize(
    "name", ["graft", "ungraft", "register_module_forward_hook", "register_optimizer_step_pre_hook"]
)
def test_ctrl_c_leaves_nothing_on(name, monkeypatch):
    """An interrupt after the fifth, or the only, call of what begins or ends a profile."""
    function, left = getattr(recorder, name), [5 if "graft" in name else 1]

    def interrupted(*args, **options):
        found = function(*args, **options)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(recorder, name, interrupted)
    with pytest.raises(KeyboardInterrupt), profile(with_modules=True):
        torch.ones(2).reshape(2)
    monkeypatch.undo()
    assert torch.ones(2).reshape(2).tolist() == [1.0, 1.0]
    test_nothing_stays_on()


def test_attached_collectors_are_refused(monkeypatch):
    monkeypatch.setenv("INTEL_LIBITTNOTIFY64", "collector.so")
    for call in (lambda: profiling.itt.range_push("a"), torch.autograd.profiler.emit_itt().__enter__):
        with pytest.raises(NotImplementedError, match="attached collector"):
            call()


def outer_function(fails=False):
    if fails:
        raise KeyError("told")
    return inner_function() + 1


def inner_function():
    return torch.ones(2)


def test_calls_of_the_program_are_events():
    with profile(with_stack=True) as profiler:
        outer_function()
        with pytest.raises(KeyError):
            outer_function(fails=True)
        torch.zeros(1)
    outer, inner = (f"({f.__code__.co_firstlineno}): {f.__name__}" for f in (outer_function, inner_function))
    events = [
        event for event in profiler.events() if event.name.endswith((outer, inner)) or event.name.startswith("aten")
    ]
    story = [(event.name.partition("(")[2] or event.name, event.is_python_function) for event in events]
    assert story == [
        (outer[1:], True),
        (inner[1:], True),
        ("aten::ones", False),
        ("aten::add", False),
        (outer[1:], True),
        ("aten::zeros", False),
    ]
    assert events[2].cpu_parent is events[1] and events[1].cpu_parent is events[0] is events[3].cpu_parent
    assert events[0].name.startswith("test") and sys.getprofile() is None


def test_another_watcher_of_calls_stays():
    watcher = lambda frame, event, argument: None
    sys.setprofile(watcher)
    try:
        with profile(with_stack=True) as profiler:
            outer_function()
        assert sys.getprofile() is watcher
    finally:
        sys.setprofile(None)
    assert not any(event.is_python_function for event in profiler.events())


def test_beginning_twice_leaves_nothing_on():
    profiler = profile(acc_events=True)
    profiler.start()
    profiler.start()
    torch.ones(1)
    profiler.stop()
    assert "aten::ones" in [event.name for event in profiler.events()]
    test_nothing_stays_on()
