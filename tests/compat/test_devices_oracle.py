"""Modules of devices that are not there: each function answers, or fails, as in PyTorch's build for the CPU."""

import contextlib
import importlib
import inspect
import sys
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
if torch.version.cuda or torch.accelerator.is_available():
    pytest.skip("this PyTorch is no build for the CPU alone", allow_module_level=True)

MODULES = [
    "cuda", "cuda.random", "cuda.memory", "cuda.profiler", "cuda.streams", "xpu", "mtia", "mps", "accelerator", "cpu", "backends.cuda",
    "backends.mps", "backends.opt_einsum", "backends.cusparselt", "backends.kleidiai",
]  # fmt: skip
# The answers depend on the machine, or come from objects of PyTorch's inside.
OTHER = {
    "get_capabilities", "make_graphed_callables", "attach_out_of_memory_observer", "check_error", "preferred_blas_library",
    "preferred_linalg_library", "preferred_rocm_fa_library", "can_use_flash_attention", "can_use_efficient_attention",
    "can_use_cudnn_attention", "allow_fp16_bf16_reduction_math_sdp", "use_mem_pool", "get_opt_einsum", "set_stream", "init",
    "cudaStatus", "CudaError", "GreenContext", "CUDAPluggableAllocator", "XPUPluggableAllocator", "graph", "jiterator", "gds",
}  # fmt: skip
GIVEN = {
    "new_states": lambda rl: [], "new_state": lambda rl: rl.zeros(16, dtype=rl.uint8), "stream": lambda rl: None,
    "source": lambda rl: "source", "fraction": lambda rl: 0.5, "seed": lambda rl: 1,
}  # fmt: skip


def first_line(error):
    lines = str(error).splitlines()
    return lines[0].strip("'\"") if lines else ""


def outcome(framework, function, signature):
    """What a call says: a plain value, the class of another, or the error."""
    values = [
        GIVEN.get(each.name, lambda rl: 0)(framework)
        for each in signature.parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*values)
    except Exception as error:
        return type(error).__name__, first_line(error)
    plain = isinstance(found, (bool, int, str, list, dict, type(None)))
    return (type(found).__name__, repr(found)) if plain else contextlib.AbstractContextManager in type(found).__mro__


def modules(name):
    return importlib.import_module(f"torch.{name}"), importlib.import_module(f"rushlight.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_functions_answer_alike(name):
    theirs, ours = modules(name)
    differing, asked = [], 0
    for each in sorted({*getattr(theirs, "__all__", []), *(n for n in dir(theirs) if not n.startswith("_"))}):
        function = getattr(theirs, each)
        home = getattr(function, "__module__", None) or ""
        if (
            each in OTHER
            or not callable(function)
            or inspect.isclass(function)
            or (home != theirs.__name__ and each not in getattr(theirs, "__all__", []))
        ):
            continue
        if not hasattr(ours, each):
            differing.append((each, "missing"))
            continue
        try:
            signature = inspect.signature(function)
        except ValueError:
            continue
        asked += 1
        if list(signature.parameters) != list(inspect.signature(getattr(ours, each)).parameters):
            differing.append((each, str(inspect.signature(getattr(ours, each)))))
        expected, found = outcome(torch, function, signature), outcome(rushlight, getattr(ours, each), signature)
        if expected != found:
            differing.append((each, expected, found))
    assert not differing
    assert asked or name in ("cuda.streams", "backends.opt_einsum")


STATEMENTS = [
    "x = torch.DEVICE.device(0); x.__enter__()",
    "torch.DEVICE.StreamContext(None).__enter__()",
    "torch.DEVICE.stream(None).__enter__()",
    "torch.DEVICE.Stream()",
    "torch.DEVICE.Event(enable_timing=True)",
    "torch.DEVICE.default_generators",
    "torch.DEVICE.device_of(torch.ones(1)).__enter__()",
    "torch.ones(1, device='DEVICE')",
    "torch.ones(1).to('DEVICE:0')",
    "torch.nn.Linear(2, 2).to('DEVICE')",
    "torch.ones(1).DEVICE()",
    "torch.nn.Linear(2, 2).DEVICE()",
    "torch.ones(1).is_DEVICE",
    "torch.Stream('DEVICE')",
    "torch.Event('DEVICE')",
    "torch.get_device_module('DEVICE').is_available()",
    "torch.DEVICE.FloatTensor([1.0])",
    "torch.DEVICE.FloatStorage()",
    "isinstance(torch.ones(1), torch.DEVICE.FloatTensor)",
    "torch.DEVICE.CUDAGraph()",
    "torch.DEVICE.XPUGraph()",
    "torch.DEVICE.MTIAGraph()",
    "torch.DEVICE.MemPool()",
    "torch.DEVICE.nvtx.range_push('x')",
]


@pytest.mark.parametrize("device", ["cuda", "xpu", "mtia"])
def test_uses_fail_alike(device):
    differing = []
    for statement in STATEMENTS:
        text = statement.replace("DEVICE", device)
        said = []
        for framework in (torch, rushlight):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(text, {"torch": framework})
                said.append("fine")
            except AttributeError as error:
                said.append(("AttributeError", "no attribute" in str(error)))
            except Exception as error:
                said.append((type(error).__name__, first_line(error)))
        if said[0] != said[1] and said[0] != ("AttributeError", True):
            differing.append((text, *said))
    assert not differing


def test_streams_and_events_of_the_cpu():
    for text in ("Stream()", "Event()", "Stream('cpu').query()", "Event().query()", "Event().record()", "Stream().device.type",
                 "Stream().record_event()", "get_device_module()", "get_device_module('frob')"):  # fmt: skip
        said = []
        for framework in (torch, rushlight):
            try:
                found = eval(f"torch.{text}", {"torch": framework})
                said.append(repr(found) if not inspect.ismodule(found) else found.__name__.partition(".")[2])
            except Exception as error:
                said.append((type(error).__name__, first_line(error)))
        assert said[0] == said[1], text


@pytest.mark.parametrize("name", ["cudnn", "mkldnn", "miopen", "opt_einsum", "nnpack", ""])
def test_switches_are_kept_and_restored(name):
    theirs, ours = modules(f"backends.{name}".rstrip("."))
    names = [each for each in ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "immediate", "strategy",
             "fp32_precision", "depthwise_kernel") if name not in ("nnpack",) and hasattr(theirs, each)]  # fmt: skip
    before = {each: getattr(ours, each) for each in names}
    assert before == {each: getattr(theirs, each) for each in names}
    with ours.flags():
        if name == "cudnn":
            assert (ours.enabled, ours.benchmark_limit) == (False, 10)
    with ours.flags(**dict.fromkeys(names[:1], 3)):
        assert all(getattr(ours, each) == 3 for each in names[:1])
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            ours.set_flags(frobnicate=1)
    assert before == {each: getattr(ours, each) for each in names}
    assert "torch" in sys.modules
