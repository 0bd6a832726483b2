"""Parts of PyTorch that are not here: imports and questions get PyTorch's answer, and use an error that names the part."""

import importlib
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")


def both(module, text):
    """What an expression over a module ``m`` gives under each framework: a value's text, or the error."""
    said = []
    for framework in (torch, rushlight):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = eval(text, {"m": module_of(framework, module), "torch": framework})
            said.append(repr(found).replace("rushlight", "torch"))
        except Exception as error:
            said.append((type(error).__name__, str(error).split("\n")[0]))
    return said


def module_of(framework, path):
    """The module ``torch.<path>``, or ours."""
    for place in (framework.__name__, "rushlight.compat.inside"):
        try:
            return importlib.import_module(f"{place}.{path}")
        except ModuleNotFoundError:
            if framework is torch or place.endswith("inside"):
                raise


SAID = {
    "autograd.profiler": "m.record_function('a').name|m.record_function('a')(len)([1])|m.record_function('a').__enter__().name|m.profile(enabled=False).__enter__()",
    "profiler": "[m.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)(i).name for i in range(8)]|[m.schedule(wait=0, warmup=1, active=1)(i).name "
    "for i in range(4)]|sorted(a.name for a in m.ProfilerAction)|m.record_function('a').name",
    "utils._python_dispatch": "m.is_in_torch_dispatch_mode()|m._get_current_dispatch_mode()|m._get_current_dispatch_mode_stack()|m._len_torch_dispatch_stack()"
    "|m.is_traceable_wrapper_subclass(torch.ones(1))|m.is_traceable_wrapper_subclass(3)|m.TorchDispatchMode.is_infra_mode()|m._disable_current_modes().__enter__()",
    "utils.flop_counter": "m.FlopCounterMode(display=False).get_total_flops()",
    "fx.experimental.symbolic_shapes": "m.statically_known_true(True)|m.statically_known_true(3)|m.guard_or_false(True)|m.guard_or_true(3 > 4)|m.guard_or_true(3)"
    "|m.guard_size_oblivious(True)|list(m.free_symbols(3))|m.has_free_symbols(3)|m.is_symbolic(3)|m.sym_eq((1, 2), (1, 2))|m.GuardOnDataDependentSymNode.__mro__[1]",
    "fx.experimental.proxy_tensor": "m.get_proxy_mode()",
    "_tensor_str": "m.PRINT_OPTS.edgeitems|m.PRINT_OPTS|m._str(torch.ones(2))|m.PRINT_OPTS.frob",
    "_subclasses.fake_tensor": "list(m.unset_fake_temporarily().__enter__() or [])|m.maybe_get_fake_mode(torch.ones(1))",
    "_guards": "m.active_fake_mode()|m.detect_fake_mode([torch.ones(1)])|m.TracingContext.try_get()|m.TracingContext.get()",
    "utils._contextlib": "m.context_decorator(__import__('contextlib').nullcontext, abs)(-2)"
    "|m.context_decorator(len, int)|isinstance(torch.no_grad(), m._DecoratorContextManager)|m._DecoratorContextManager().__enter__()"
    "|m._NoParamDecoratorContextManager().clone().__class__.__name__|m._NoParamDecoratorContextManager(abs)(1)",
    "utils._pytree": "m._list_flatten_with_keys([1, 2])|m.is_namedtuple(torch.ones(2).max(0))|m.is_namedtuple_class(tuple)|m._is_leaf([])|m._is_leaf(3)",
    "nn.utils._named_member_accessor": "[m.swap_tensor(torch.nn.ReLU(), 'a', None, allow_missing=True) is m._MISSING]|m.swap_tensor(3, 'a', None)"
    "|m.swap_tensor(torch.nn.Linear(1, 1), 'a.b', None)|m.swap_tensor(torch.nn.Linear(1, 1), '', None)|m.swap_tensor(torch.nn.ReLU(), 'a', None)"
    "|m.swap_tensor(torch.nn.ReLU(), 'a', 3)|m.swap_tensor(torch.nn.Linear(1, 1), 'in_features', None)"
    "|m.swap_tensor(torch.nn.Linear(1, 1), 'bias', torch.zeros(1)).shape|list(m.swap_tensor(torch.nn.BatchNorm1d(2), 'running_var', m._MISSING))",
    "cuda": "m._initialized",
    "utils._triton": "m.has_triton()",
    "utils.cpp_extension": "m.CUDA_HOME|m.is_ninja_available()",
    "utils.checkpoint": "m.get_device_states(torch.ones(1))|m.set_device_states([], [])",
    "autograd": "m._profiler_enabled()|m.profiler.__name__",
    "nn.modules.transformer": "m._get_activation_fn('tanh')",
    "_C": "m.TensorType()|m.Value()|m.ScriptObject()|torch.JITException is torch.jit.Error|m.Future is torch.Future|m.TensorType is torch.TensorType|m.frob",
    "futures": "m.collect_all([]).wait()|m.wait_all([])|m.Future().done()|m.Future().set_exception(3)|m.Future[int].__class__.__name__[:0]",
    "distributed.constants": "m.default_pg_timeout|m.default_pg_nccl_timeout",
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "text"), [(module, text) for module, texts in SAID.items() for text in texts.split("|")]
)
def test_says_the_same(module, text):
    theirs, ours = both(module, text)
    assert ours == theirs


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("autograd.profiler", "m.load_nvprof('x')"), ("utils.cpp_extension", "m.load('x', [])"),
        ("utils.cpp_extension", "m.CUDAExtension('x', [])"), ("utils.cpp_extension", "m.BuildExtension()"),
    ],
)  # fmt: skip
def test_use_is_refused_with_the_way_out(module, text):
    with pytest.raises(NotImplementedError, match=r"not implemented\nhint: "):
        eval(text, {"m": module_of(rushlight, module)})


def futures(framework):
    """The life of a few futures."""
    told = []
    one, two = framework.futures.Future(), framework.futures.Future()
    then = one.then(lambda done: told.append(done.wait()) or 7)
    failing = one.then(lambda done: 1 / 0)
    both = framework.futures.collect_all([one, two])
    told.append((one.done(), both.done()))
    one.set_result(3)
    two.add_done_callback(lambda done: told.append("two"))
    two.set_exception(ValueError("told"))
    told += [one.wait(), one.value(), then.wait(), framework.futures.wait_all([one, one])]
    for wait in (two.wait, both.wait, failing.wait, lambda: one.set_result(4)):
        try:
            wait()
        except Exception as error:
            told.append((type(error).__name__, str(error).split("\n")[0][:60]))
    return told


def test_futures():
    assert futures(rushlight) == futures(torch)
