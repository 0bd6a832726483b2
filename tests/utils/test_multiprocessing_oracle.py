"""torch.multiprocessing: what becomes of processes and their errors, and tensors that two processes see."""

import multiprocessing
import os
import pickle
import re
import sys
import warnings

import processes
import pytest

import rushlight
import rushlight.multiprocessing

torch = pytest.importorskip("torch")
pytest.importorskip("torch.multiprocessing")
LIBRARIES = (rushlight, torch)
forking = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def outcome(library, function, **options):
    """The result or the error of ``start_processes``, without ids, addresses and places."""
    try:
        return library.multiprocessing.start_processes(function, (library.__name__,), start_method="fork", **options)
    except library.multiprocessing.ProcessRaisedException as error:
        text = re.sub(r'  File ".*multiprocessing/spawn.py", line .*\n.*\n( +[~^]+\n)?', "", error.msg)
        return "raised", error.error_index, error.error_pid > 0, text
    except library.multiprocessing.ProcessExitedException as error:
        return "exited", error.error_index, str(error), error.exit_code, error.signal_name


@forking
@pytest.mark.parametrize(
    ("function", "count"),
    [("nothing", 2), ("fails", 2), ("exits", 1), ("dies", 1), ("interrupted", 1), ("nothing", 0)],
)
def test_ends(function, count):
    ours, theirs = (outcome(library, getattr(processes, function), nprocs=count) for library in LIBRARIES)
    assert ours == theirs


@forking
def test_contexts():
    for library in LIBRARIES:
        m = library.multiprocessing
        context = m.start_processes(processes.nothing, ("none",), nprocs=2, join=False, start_method="fork")
        assert type(context) is m.ProcessContext and len(context.pids()) == 2
        while not context.join(timeout=10):
            pass
        assert context.join() is True
        with pytest.warns(UserWarning, match="SpawnContext is renamed to ProcessContext since 1.4 release."):
            assert isinstance(m.SpawnContext([], []), m.ProcessContext)


def test_errors_travel():
    for library in LIBRARIES:
        m = library.multiprocessing
        for error in (m.ProcessRaisedException("text", 1, 20), m.ProcessExitedException("text", 1, 20, 3, "SIGKILL")):
            other = pickle.loads(pickle.dumps(error))
            assert (type(other), str(other), other.error_index, other.error_pid) == (type(error), "text", 1, 20)
        assert issubclass(m.ProcessExitedException, m.spawn.__globals__["ProcessException"])


def test_spawn_starts_by_spawn():
    told = []
    for library in LIBRARIES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            context = library.multiprocessing.spawn(processes.nothing, nprocs=0, join=False, start_method="fork")
        assert context.join()
        told.append([(each.category, str(each.message)) for each in caught])
    assert told[0] == told[1]


def test_names_and_strategies():
    ours, theirs = (library.multiprocessing for library in LIBRARIES)
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    assert ours.get_sharing_strategy() == "file_descriptor" and "file_system" in ours.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'other', expected one of"):
        ours.set_sharing_strategy("other")


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
def test_written_in_a_spawned_process(library):
    if sys.platform == "win32":
        pytest.skip("tensors go by value there")
    tensor, module = library.zeros(3).share_memory_(), library.nn.Linear(2, 1)
    assert module.share_memory() is module and module.weight.is_shared()
    library.multiprocessing.spawn(processes.writes, (library.__name__, tensor, module), nprocs=2)
    assert tensor.tolist() == [0, 3, 3] and module.weight.tolist() == [[7, 7]]


@forking
def test_through_queues():
    stories = []
    for library in LIBRARIES:
        context = library.multiprocessing.get_context("fork")
        questions, replies = context.Queue(), context.Queue()
        child = context.Process(target=processes.answers, args=(library.__name__, questions, replies), daemon=True)
        child.start()
        story = []
        sent = [
            library.arange(6.0).reshape(2, 3).t(), library.zeros(0, 2), library.nn.Parameter(library.ones(2)),
            library.arange(4)[1:], library.ones(2, dtype=library.bfloat16), library.tensor(3.5), library.ones(2, requires_grad=True),
            library.tensor([1 + 2j, 3j]), library.tensor([True, False]),
        ]  # fmt: skip
        for tensor in sent:
            questions.put(tensor)
            story += [
                replies.get(timeout=60),
                replies.get(timeout=60).tolist(),
                tensor.tolist(),
                tensor.is_shared() or not tensor.numel(),
            ]
        questions.put(None)
        child.join()
        stories.append(story)
    assert stories[0] == stories[1]


def test_graphs_do_not_travel():
    texts = []
    for library in LIBRARIES:
        tensor = library.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError) as caught:
            multiprocessing.reduction.ForkingPickler.dumps(tensor)
        texts.append(str(caught.value).split("\nhint:")[0])
    assert texts[0] == texts[1]


def test_descriptors_are_closed():
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        rushlight.ones(100).share_memory_()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
