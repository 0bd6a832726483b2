"""A process group of one process: results, errors and what is written, as PyTorch's gloo gives them."""

import importlib
import sys
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (torch, rushlight)

CALLS = [
    "d.all_reduce(x)", "(work := d.all_reduce(x, async_op=True)).wait() and work.result()", "d.all_reduce(i, op=d.ReduceOp.AVG)",
    *(f"d.all_reduce({v}, op=d.ReduceOp.{op})" for v in "xic" for op in ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")),
    "d.all_reduce([1])", "d.all_reduce(x, op='SUM')", "d.all_reduce(x.bool())", "d.all_reduce(x.bfloat16())",
    "d.reduce(x, 0)", "d.reduce(x, 2)", "d.broadcast(x, 0)", "d.broadcast(x, 1)", "d.broadcast(x)",
    "d.all_gather([y], x)", "d.all_gather([y, y], x)", "d.all_gather([i], x)", "d.all_gather(3, x)", "d.all_gather([y[:2]], x)",
    "d.all_gather_into_tensor(y, x)", "d.all_gather_into_tensor(y[:3], x)", "d.all_gather_into_tensor(y.view(2, 2), x)",
    "d.all_gather_into_tensor(y.view(1, 4), x)",
    "d.gather(x, [y], 0)", "d.gather(x, [y])", "d.gather(x)", "d.gather(x, [y, y], 0)", "d.gather(x, [y[:3]], 0)",
    "d.scatter(y, [x], 0)", "d.scatter(y)", "d.scatter(y, [x, x])", "d.scatter(y[:3], [x], 0)",
    "d.reduce_scatter(y, [x])", "d.reduce_scatter(y, [x, x])", "d.reduce_scatter_tensor(y, x)",
    "d.all_to_all([y], [x])", "d.all_to_all([y, y], [x, x])", "d.all_to_all([y[:3]], [x])",
    "d.all_to_all_single(y, x)", "d.all_to_all_single(y, x, [4], [4])", "d.all_to_all_single(y, x, [3], [3])",
    "d.barrier()", "d.monitored_barrier()", "d.send(x, 0)", "d.get_rank()", "d.get_world_size()", "d.get_backend()",
    "d.get_backend_config()", "d.new_group([1])", "d.new_group([0, 1])", "d.new_group([0]).size()",
    "d.get_process_group_ranks(d.group.WORLD)", "d.get_global_rank(d.group.WORLD, 0)", "d.get_group_rank(d.group.WORLD, 0)",
    "d.get_node_local_rank()", "d.get_node_local_rank(3)", "d.is_initialized()", "d.GroupMember.NON_GROUP_MEMBER",
    "d.Backend('GLOO')", "d.Backend(3)", "d.supports_complex(d.ReduceOp.MAX)", "str(d.ReduceOp.AVG)",
    "d.init_process_group('gloo', store=d.HashStore(), rank=0, world_size=1)",
    "str(d.get_debug_level())", "d.set_debug_level(1)", "(d.set_debug_level(d.DebugLevel.OFF), d.DebugLevel(2).value, d.DebugLevel.INFO.name)",
    "d.scatter_object_list([None], None, 0)", "d.gather_object(3, None, 0)", "d.broadcast_object_list([1], 1)",
]  # fmt: skip
BEFORE = [
    "d.all_reduce(x)", "d.get_rank()", "d.barrier()", "d.new_group()", "d.destroy_process_group()", "d.init_process_group()",
    "d.init_process_group('gloo')", "d.init_process_group('nccl', store=d.HashStore(), rank=0, world_size=1)",
    "d.init_process_group('gloo', rank=0, world_size=1, init_method='foo://x')",
    "d.init_process_group('gloo', store=d.HashStore())", "d.init_process_group(5)",
    "d.init_process_group('gloo', init_method='a', store=d.HashStore())", "d.is_initialized()", "d.group.WORLD",
    "d.init_process_group('gloo', init_method='tcp://localhost:29333', rank=0)",
]  # fmt: skip


def found(library, text):
    """What a call gives or raises, and what it leaves in its tensors."""
    m, x, y = library, library.arange(4.0), library.zeros(4)
    names = {"d": m.distributed, "x": x, "y": y, "i": m.arange(4), "c": m.arange(4.0) + 1j}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, names)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0].partition("group <")[0], y.tolist()
    if isinstance(result, list):
        result = [each.tolist() if hasattr(each, "tolist") else each for each in result]
    return result, y.tolist()


@pytest.fixture
def groups(monkeypatch):
    """A group in both libraries, ended after the test."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for library in LIBRARIES:
        d = library.distributed
        d.init_process_group("gloo", store=d.HashStore(), rank=0, world_size=1)
    yield
    for library in LIBRARIES:
        if library.distributed.is_initialized():
            library.distributed.destroy_process_group()


@pytest.mark.parametrize("text", CALLS)
def test_calls(groups, text):
    assert found(rushlight, text) == found(torch, text)


@pytest.mark.parametrize("text", BEFORE)
def test_before_there_is_a_group(monkeypatch, text):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert found(rushlight, text) == found(torch, text)


def test_environment(monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    d = rushlight.distributed
    d.init_process_group()
    assert (d.get_rank(), d.get_world_size(), d.get_backend()) == (0, 1, "undefined")
    sampler = rushlight.utils.data.DistributedSampler(range(4), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3]
    d.destroy_process_group()
    assert not d.is_initialized()


def test_mpi_that_is_not_installed_is_refused_as_in_pytorch(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert found(rushlight, "d.init_process_group('mpi')") == found(torch, "d.init_process_group('mpi')")
    assert not rushlight.distributed.is_mpi_available() and not rushlight.distributed.is_backend_available("mpi")


def test_what_to_install_for_more_processes(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")
    d = rushlight.distributed
    with pytest.raises(RuntimeError, match=r"cannot be loaded.*\nhint: pip install 'rushlight\[mpi\]'"):
        d.init_process_group("gloo", store=d.HashStore(), rank=1, world_size=2)
    assert not d.is_initialized()


def test_objects_are_copies(groups):
    for library in LIBRARIES:
        d, sent, received = library.distributed, {"a": [1]}, [None]
        d.all_gather_object(received, sent)
        assert received == [sent] and received[0] is not sent
        d.scatter_object_list(received, ["q"], 0)
        assert received == ["q"]
        kept = [sent]
        d.broadcast_object_list(kept, 0)
        assert kept == [sent]


def test_collectives_with_gradients(groups):
    stories = []
    for library in LIBRARIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from_functional = importlib.import_module(f"{library.__name__}.distributed.nn.functional")
            x, story = library.arange(4.0, requires_grad=True), []
            for call in (lambda f: f.all_reduce(x), lambda f: f.all_gather(x)[0], lambda f: f.broadcast(x, 0)):
                made = call(from_functional)
                (gradient,) = library.autograd.grad((made * made).sum(), x)
                story.append((made.tolist(), type(made.grad_fn).__name__, gradient.tolist()))
        stories.append(story)
    assert stories[0] == stories[1]


def test_names_that_are_not_there_yet():
    from rushlight.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    from rushlight.distributed.fsdp import FSDPModule
    from rushlight.distributed.tensor import DTensor
    from rushlight.distributed.tensor.device_mesh import DeviceMesh

    assert not isinstance(rushlight.ones(1), (DTensor, FSDPModule)) and not isinstance(1, ShardedGradScaler)
    assert DeviceMesh is rushlight.distributed.DeviceMesh
    with pytest.raises(NotImplementedError, match="ShardedGradScaler is not in this version"):
        ShardedGradScaler()
    with pytest.raises(AttributeError):
        _ = rushlight.distributed.fsdp.nonsense
