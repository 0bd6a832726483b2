"""Lists of events, drawn at random, give PyTorch's tables, averages, stacks and traces, to the character."""

import json

import pytest
from drawn_events import draw_events

from rushlight.autograd import profiler_util as ours

theirs = pytest.importorskip("torch.autograd.profiler_util")

GROUPS = {
    "events": lambda events: events,
    "averages": lambda events: events.key_averages(),
    "by shapes": lambda events: events.key_averages(True),
    "by stack": lambda events: events.key_averages(group_by_stack_n=1),
    "by all": lambda events: events.key_averages(True, 2, True),
}
TABLES = (
    {},
    {"sort_by": "self_cpu_time_total", "row_limit": 2},
    {"sort_by": "cpu_memory_usage", "time_unit": "ms", "header": "HEAD"},
    {"row_limit": -1, "max_name_column_width": 20, "max_src_column_width": 9, "max_shapes_column_width": None},
    {"top_level_events_only": True, "max_name_column_width": None, "time_unit": "us"},
    {"sort_by": "nothing"},
)


def outcome(call):
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def check_seed(seed, folder):
    made = draw_events(ours, seed), draw_events(theirs, seed)
    for name, group in GROUPS.items():
        if isinstance(outcome(lambda: group(made[1])), tuple):
            continue  # PyTorch does not join some names
        mine, other = (group(events) for events in made)
        assert repr(list(mine)) == repr(list(other)), name
        for options in TABLES:
            assert outcome(lambda: mine.table(**options)) == outcome(lambda: other.table(**options)), (name, options)
    assert str(made[0]) == str(made[1])
    assert repr(made[0].total_average()) == repr(made[1].total_average())
    assert made[0].self_cpu_time_total == made[1].self_cpu_time_total
    written = []
    for events in made:
        events.export_stacks(folder / "stacks", "self_cpu_time_total")
        events.export_chrome_trace(folder / "trace")
        written.append(((folder / "stacks").read_text(), json.loads((folder / "trace").read_text())))
    assert written[0] == written[1]


@pytest.mark.parametrize("seed", range(12))
def test_drawn_lists(seed, tmp_path):
    check_seed(seed, tmp_path)


@pytest.mark.slow
def test_many_drawn_lists(tmp_path):
    for seed in range(12, 400):
        check_seed(seed, tmp_path)


def test_no_events_make_no_table():
    assert ours.EventList().table() == theirs.EventList().table() == ""


def stories(module):
    """What calls that are refused say."""
    event = lambda name, **options: module.FunctionEvent(1, name, 1, 0, 1, **options)
    average = module.FunctionEventAvg()
    average.add(event("a"))
    for call in (
        lambda: module.EventList([event("a")]).key_averages(),
        lambda: module.EventList([event("a")]).export_stacks("nowhere", "time"),
        lambda: average.add(event("b")),
        lambda: event("a", device_type=module.DeviceType.CUDA).append_kernel("k", 0, 1),
        lambda: event("a").append_cpu_child(3),
        lambda: event("a").append_cpu_child(event("b", device_type=module.DeviceType.CUDA)),
        lambda: event("a").set_cpu_parent(average),
        lambda: event("a", device_type=module.DeviceType.CUDA, use_device="cuda").device_time_total,
        lambda: event("a", device_type=module.DeviceType.MPS, use_device="cuda").device_time_total,
        lambda: module.Interval(2, 5).elapsed_us(),
        lambda: average.cpu_time_str,
        lambda: module.FunctionEventAvg().cpu_time,
    ):
        try:
            yield call()
        except Exception as error:
            yield type(error).__name__, str(error).partition("\n")[0]


def test_refusals():
    assert list(stories(ours)) == list(stories(theirs))


@pytest.mark.parametrize(
    "name", ["cuda_time", "cuda_time_total", "self_cuda_time_total", "self_cuda_memory_usage", "metadata_json"]
)
def test_old_names_warn(name):
    said = []
    for module in (ours, theirs):
        event = module.FunctionEvent(1, "a", 1, 0, 1)
        with pytest.warns(FutureWarning) as caught:
            assert getattr(event, name) in (0, None)
        said.append(str(caught[0].message).partition("\n")[0])
    assert said[0] == said[1]


def test_times_on_a_device():
    """Events of a device have columns of their own."""
    tables = []
    for module in (ours, theirs):
        events = [
            module.FunctionEvent(
                1, "launch", 1, 0, 50, use_device="cuda", device_memory_usage=2048, overload_name="", stack=[], flops=0
            ),
            module.FunctionEvent(
                2,
                "kernel",
                7,
                10,
                40,
                use_device="cuda",
                device_type=module.DeviceType.CUDA,
                overload_name="",
                stack=[],
                flops=0,
            ),
        ]
        events[0].append_kernel("kernel", 0, 30)
        made = module.EventList(events, use_device="cuda", profile_memory=True)
        made._build_tree()
        tables.append((made.table(), made.key_averages().table(sort_by="self_cuda_time_total"), repr(events)))
    assert tables[0] == tables[1]
