"""Ctrl-C while a context is entered or left, or within a transform or backward: the modes are afterwards what they were."""

import contextlib
import importlib
import mmap
import pkgutil
import threading
import traceback
import types

import pytest

import rushlight as torch
from interrupts import enter_and_leave, interrupted, of_contexts, of_package, switches
from rushlight import fx
from rushlight.autograd import forward_ad
from rushlight.base import contexts, exporting
from rushlight.compat import modes
from rushlight.func import reverse
from rushlight.kernels.compiler import lowering
from rushlight.nn.utils import parametrize
from rushlight.tensor import interposers, overrides, printing
from rushlight.tensor.nonfinite import find_nonfinite
from rushlight.utils import _python_dispatch, checkpoint, dispatching, flop_counter, module_tracker, recompute

graph = torch.autograd.graph
linear = torch.nn.Linear(2, 2)
hooked = torch.ones(2, requires_grad=True)
watcher = interposers.Interposer()


@contexts.contextmanager
def drawing():
    with torch.random.fork_rng():
        torch.rand(1)
        yield


# How to make each context; what `switches` shows differs inside.
CONTEXTS = {
    torch.no_grad: torch.no_grad,
    torch.enable_grad: torch.enable_grad,
    torch.set_grad_enabled: lambda: torch.set_grad_enabled(not torch.is_grad_enabled()),
    torch.inference_mode: torch.inference_mode,
    torch.sparse.check_sparse_tensor_invariants: torch.sparse.check_sparse_tensor_invariants,
    torch.autocast: lambda: torch.autocast("cpu"),
    torch.cpu.amp.autocast: lambda: torch.autocast("cpu", enabled=False, cache_enabled=False),
    torch.autograd.set_multithreading_enabled: lambda: torch.autograd.set_multithreading_enabled(False),
    torch.autograd.enforce_grad_layout_policy: lambda: torch.autograd.enforce_grad_layout_policy(False),
    torch.autograd.detect_anomaly: lambda: torch.autograd.detect_anomaly(),
    torch.autograd.set_detect_anomaly: lambda: torch.autograd.set_detect_anomaly(True),
    forward_ad.dual_level: forward_ad.dual_level,
    forward_ad._set_fwd_grad_enabled: lambda: forward_ad._set_fwd_grad_enabled(False),
    graph.saved_tensors_hooks: lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    graph.save_on_cpu: graph.save_on_cpu,
    graph.disable_saved_tensors_hooks: lambda: graph.disable_saved_tensors_hooks("none"),
    graph.allow_mutation_on_saved_tensors: graph.allow_mutation_on_saved_tensors,
    torch.random.fork_rng: lambda: drawing(),
    torch.draw.trace: torch.draw.trace,
    _python_dispatch.TorchDispatchMode: _python_dispatch.BaseTorchDispatchMode,
    overrides.DisableTorchDispatch: overrides.DisableTorchDispatch,
    modes.DisableTorchFunction: modes.DisableTorchFunction,
    dispatching.waiting: lambda: dispatching.waiting(None, None),
    torch.serialization.safe_globals: lambda: torch.serialization.safe_globals([slice]),
    torch.serialization.skip_data: torch.serialization.skip_data,
    torch.serialization.set_default_mmap_options: lambda: torch.serialization.set_default_mmap_options(mmap.MAP_SHARED),
    parametrize.cached: parametrize.cached,
    interposers.interposed: lambda: interposers.interposed(watcher),
    reverse.saving_plainly: reverse.saving_plainly,
    lowering._collector_at_rest: lowering._collector_at_rest,
    modes.TorchFunctionMode: modes.TorchFunctionMode,
    torch.overrides.BaseTorchFunctionMode: torch.overrides.BaseTorchFunctionMode,
    overrides.DisableTorchFunctionSubclass: overrides.DisableTorchFunctionSubclass,
    printing.printoptions: lambda: printing.printoptions(precision=7, profile="short"),
    find_nonfinite: find_nonfinite,
    flop_counter.FlopCounterMode: lambda: flop_counter.FlopCounterMode(display=False),
    module_tracker.ModuleTracker: module_tracker.ModuleTracker,
    recompute.random_state: lambda: recompute.random_state(torch.Generator().manual_seed(3).get_state()),
    recompute._operations: lambda: recompute._operations([]),
    exporting.exporting: lambda: exporting.exporting("torch.onnx"),
    checkpoint._setting: lambda: checkpoint.set_checkpoint_early_stop(False),
}
ELSEWHERE = {
    "tensor.interposers.below": "test_levels_survive_interrupts",
    "func.modules.replaced": "test_modules_survive_interrupts",
    "hub._Progress": "switches nothing: a bar of progress",
    "distributed.device_mesh.DeviceMesh": "switches nothing of operations: the mesh of calls that name none",
    "compat.inside._C._DisableTorchDispatch": "switches from when it is made, and back when it is gone",
    "fx.experimental.proxy_tensor.ProxyTorchDispatchMode": "a TorchDispatchMode",
    "overrides.enable_reentrant_dispatch": "base.contexts.contextmanager, around one assignment",
    **{
        f"testing._internal.common_utils.{name}": "for test cases"
        for name in ("freeze_rng_state", "set_default_dtype", "disable_gc")
    },
    "distributed.tensor.calls.implicit_replication": "base.contexts.contextmanager, around one assignment",
    "distributed.tensor.parallel.loss.loss_parallel": "base.contexts.contextmanager, around one assignment",
    "utils.hooks.RemovableHandle": "test_hooks_go_in_spite_of_interrupts",
    "autograd.graph._Handles": "several RemovableHandles",
    "utils.benchmark.utils.common.set_torch_threads": "the number of threads of a measurement",
    "utils.selective_checkpoint._Run": "the two runs of a checkpoint, which enters and leaves it as one of its contexts",
    "profiler.blocks.profile": "tests/profiler/test_profile.py: to begin takes thousands of steps",
    "profiler.profiler.profile": "the same",
    "profiler.blocks.record_function": "switches nothing: an event that is left open ends with its profile",
    "base.collecting.uncollected": "holds while the package is imported",
    "base.contexts._Context": "what all of generators are",
    "autograd.modes._Mode": "the base of others",
    "base.decorating.Decorating": "the base of others",
    "utils._contextlib._NoParamDecoratorContextManager": "the base of others",
    "optim.swapping.swap_in_optimizer_params_and_state": "switches nothing: the optimizer that it was given has its own again",
    "cuda.amp.autocast": "switches nothing without CUDA",
    "base.device.device": "switches nothing: there is one device",
    "backends.__allow_nonbracketed_mutation": "switches nothing",
    "backends.switches.define.<locals>.flags": "switches of machinery that is not here: restored, without effect",
    "backends.cuda.sdp_kernel": "switches nothing without CUDA",
    "nn.attention.sdpa_kernel": "switches nothing without CUDA",
    "compat.inside._logging.hide_warnings": "a filter of warnings that are shown, as PyTorch has it",
    **dict.fromkeys(
        (
            "accelerator.device_index",
            "base.streams.Stream",
            "compat.absent.StreamContext",
            "compat.absent.NoDevice",
            "cpu.StreamContext",
            "cuda.device",
            "cuda.device_of",
            "cuda.nvtx.range",
            "cuda.profiler.profile",
            "mtia.device",
            "xpu.device",
            "xpu.device_of",
            "compiler.marks._Unchanging",
            "compiler.marks.set_stance",
            "compiler.marks.error_on_graph_break",
            "jit._fuser.optimized_execution",
            "jit._fuser.fuser",
            "jit._fuser.strict_fusion",
            "profiler.itt.range",
            "profiler.steps.emit_itt",
            "profiler.steps.emit_nvtx",
            "utils._python_dispatch.BaseTorchDispatchMode",
            "utils._python_dispatch._disable_current_modes",
            "compat.settings._Patch",
            "compat.inside._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex",
        ),
        "switches nothing: such devices, compilers and profilers are not here",
    ),
    "fx.code.transformed": "changes a graph that is the program's own",
    "fx.graph._InsertPoint": "changes a graph that is the program's own",
    "fx._symbolic_trace._Exchanges": "not tested yet: holds while a graph is recorded",
    "tensor.buffers.SharedMap": "memory, which switches nothing",
    "kernels.compiler.showing.watching": "counts, switches nothing",
    "cli.graph.Watch": "its process ends with the script",
    "draw.play.Recorder": "test_hooks_go_in_spite_of_interrupts: its hooks are RemovableHandles",
    "nn.parallel.join.Join": "what it leaves is set in a finally; the processes of an interrupted job all end",
    "onnx.modes.select_model_mode_for_export": "what it leaves is set in a finally: modes of the program's own modules",
    "onnx.reports.Records": "writes a file when it is left, switches nothing",
    "serialization.files.readable": "opens a file, which closes itself",
    "serialization.files.writable": "test_interrupted_files.py",
    "vision.tv_tensors.set_return_type": "switches when it is made, also without a with; leaving it is one assignment",
    "vision.datasets.download.turn": "holds the lock of an open file, which closes itself",
}


def is_context(value):
    if isinstance(value, type):
        return hasattr(value, "__enter__")
    made = getattr(value, "__code__", None)
    return made in (contextlib.contextmanager(is_context).__code__, contexts.contextmanager(is_context).__code__)


def exported():
    """Every context of the package, with the name it has where it is made."""
    found = {}
    for info in pkgutil.walk_packages(torch.__path__, "rushlight."):
        # What tensorboard is needed for has a writer, which switches nothing.
        if info.name.rsplit(".", 1)[-1] != "__main__" and "utils.tensorboard" not in info.name:
            for value in vars(importlib.import_module(info.name)).values():
                ours = isinstance(value, (type, types.FunctionType)) and str(value.__module__).startswith("rushlight")
                if ours and is_context(value):
                    found[value] = f"{value.__module__}.{value.__qualname__}".removeprefix("rushlight.")
    return found


def test_every_context_is_here():
    missing = [name for value, name in exported().items() if value not in CONTEXTS and name not in ELSEWHERE]
    assert not missing, "say in CONTEXTS how to make it, or in ELSEWHERE where it is tested"


@pytest.fixture(autouse=True)
def ready():
    """What first uses make ready is no context's."""
    for _ in range(2):
        torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(torch.ones(2, 2))
        with torch.autocast("cpu"):
            pass


pytestmark = [
    pytest.mark.filterwarnings("ignore:Anomaly Detection"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
each_context = pytest.mark.parametrize("make", CONTEXTS.values(), ids=[each.__qualname__ for each in CONTEXTS])


@each_context
def test_switches_show_what_a_context_switches(make):
    with torch.set_grad_enabled(make is not torch.enable_grad):
        expected = switches()
        with make():
            assert switches() != expected
        assert switches() == expected


@pytest.mark.parametrize("outer", [torch.enable_grad, torch.no_grad, torch.inference_mode], ids=lambda c: c.__name__)
@each_context
def test_switches_survive_interrupts_at_every_place(make, outer):
    with outer():
        expected, number, error = switches(), 1, True
        while error:
            context = make()
            made = switches()  # some contexts act when they are made
            error = interrupted(lambda context=context: enter_and_leave(context), number, of_contexts)
            now = switches()
            assert now == expected or (error and now == made), number
            number += 1
            if now != expected:
                enter_and_leave(context)
        assert switches() == expected and 2 < number < 600


def at_places(run, most):
    """Interrupt ``run`` at all its places in the package, or at about ``most`` of them, and look at what they leave."""
    run()
    expected, end = switches(), 64
    while interrupted(run, end, of_package):
        assert switches() == expected, end
        end *= 2
    for number in range(1, end, max(1, end // most)):
        if not interrupted(run, number, of_package):
            break
        assert switches() == expected, number
    run()
    assert switches() == expected


vector = torch.linspace(-1, 1, 4)


def beside_a_thread(run):
    """What ``run`` gives while another thread is alive, for whose sake locks are taken."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        return run()
    finally:
        done.set()
        other.join()


TRANSFORMS = {
    "grad": lambda: torch.func.grad(lambda x: (x.sin() * x).sum())(vector),
    "vmap": lambda: torch.func.vmap(lambda x: x.sin() + x.sum())(torch.ones(2, 3)),
    "jvp": lambda: torch.func.jvp(lambda x: x.sin() * x, (vector,), (vector,)),
    "vjp": lambda: torch.func.vjp(lambda x: x.sin() * x, vector)[1](vector),
    "hessian": lambda: torch.func.hessian(lambda x: x.sin().sum())(vector),
    "per-sample gradients": lambda: torch.func.vmap(torch.func.grad(lambda x: x.exp().sum()))(torch.ones(2, 3)),
    "backward": lambda: hooked.sin().sum().backward(),
    "backward beside a thread": lambda: beside_a_thread(lambda: hooked.sin().sum().backward()),
    "created graph": lambda: torch.autograd.grad(hooked.exp().sum(), hooked, create_graph=True)[0].sum().backward(),
    "checkpoint": lambda: checkpoint.checkpoint(lambda x: x.sin().exp(), hooked, use_reentrant=False).sum().backward(),
    "re-entrant": lambda: checkpoint.checkpoint(lambda x: x.sin().exp(), hooked, use_reentrant=True).sum().backward(),
    "recording a graph": lambda: fx.symbolic_trace(torch.nn.Sequential(linear, torch.nn.ReLU())),
    "functional jvp": lambda: torch.autograd.functional.jvp(lambda x: x * x, vector, vector),
}


@pytest.mark.parametrize("most", [40, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", TRANSFORMS.values(), ids=TRANSFORMS)
def test_levels_survive_interrupts(run, most):
    at_places(run, most)


def test_modules_survive_interrupts():
    own = dict(linear.named_parameters())
    given = {name: torch.zeros_like(value) for name, value in own.items()}

    def run():
        torch.func.functional_call(linear, given, torch.ones(1, 2))

    number = 1
    while error := interrupted(run, number, of_package):
        assert all(value is own[name] for name, value in linear.named_parameters()), number
        assert not any(value is each for value in given.values() for each in own.values())
        number += 1
        del error
    assert number > 20


def test_hooks_go_in_spite_of_interrupts():
    number, error = 1, True
    while error:
        handle = hooked.register_hook(lambda grad: grad)
        error = interrupted(lambda handle=handle: enter_and_leave(handle), number, of_contexts)
        entered = error and "__exit__" in [each.name for each in traceback.extract_tb(error.__traceback__)]
        assert not (entered and hooked._backward_hooks), number
        handle.remove()
        number += 1
    assert number > 2


def test_tensors_are_marked_after_an_interrupt():
    for number in range(1, 30):
        interrupted(lambda: enter_and_leave(torch.inference_mode()), number, of_contexts)
    with torch.inference_mode():
        assert torch.ones(2).add(1).is_inference()
    assert not torch.ones(2).add(1).is_inference()
