"""Names of PyTorch's inside that libraries reach for say what PyTorch's say."""

import collections
import inspect
import warnings

import pytest

import rushlight
from rushlight.compat.inside import ops as inside_ops

torch = pytest.importorskip("torch")
Pair = collections.namedtuple("Pair", "a b")


class Standing:
    """Rushlight as it is found under the name of torch: `ops` is another thing there."""

    ops = inside_ops

    def __getattr__(self, name):
        return getattr(rushlight, name)


OURS = Standing()


def both(text, **names):
    """What an expression gives under each framework: a value's text, or the error."""
    said = []
    for framework in (torch, OURS):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = eval(text, {"torch": framework, **names})
            said.append(f"{type(found).__name__} {found!r}")
        except Exception as error:
            said.append((type(error).__name__, str(error).split("\n")[0]))
    return said


@pytest.mark.parametrize(
    "text",
    [
        *(f"torch._check{kind}({given})" for kind in ("", "_index", "_value", "_type", "_not_implemented")
          for given in ("True", "False", "False, lambda: 'told'", "False, 'told'", "1")),
        *(f"torch._check_tensor_all({given})" for given in ("torch.tensor([True, False])", "torch.tensor([True])", "True", "torch.ones(2)")),
        "torch._check_tensor_all_with(ValueError, torch.tensor([False]), lambda: 'told')",
        "torch._check_with(ValueError, False, lambda: 'told')", "torch._check_is_size(-1)", "torch._check_is_size(3, max=2)",
        "torch._check_is_size(3)", "torch._assert(False, 'told')", "torch._assert_async(torch.tensor(False), 'told')",
        "torch._assert_async(torch.tensor(0.0))", "torch._assert_async(torch.ones(1))", "torch.sym_int(-2.5)", "torch.sym_float(2)",
        "torch.sym_max(2, 3.0)", "torch.sym_max(3.0, 2)", "torch.sym_min(2, 3.0)", "torch.sym_not(True)", "torch.sym_ite(True, 1, 2)",
        "torch.sym_ite(1, 2, 3)", "torch.sym_sum([1, 2])", "torch.sym_sum([])", "torch.sym_sqrt(4)",
        "torch._shape_as_tensor(torch.ones(2, 3))", "torch.detach(torch.ones(2, requires_grad=True))",
        "torch.ops.aten.add(torch.ones(1), 2)", "torch.ops.aten.add.Tensor(torch.ones(1), 2)", "torch.ops.aten.relu.default",
        "torch.ops.aten.relu", "str(torch.ops.aten.relu.default)", "torch.ops.aten.frobnicate", "torch.ops.frobnicate.x",
        "torch.ops.aten.add.Tensor.name()", "torch.ops.aten.relu.default.name()", "torch.ops.aten.add.__name__",
        "torch.ops.load_library('x.so')", "torch.classes.load_library('x.so')", "torch.classes.frob.Nicate", "torch.ops.loaded_libraries",
        *(f"torch._utils._get_device_index({given})" for given in ("'cuda:1'", "torch.device('cpu')", "None, True", "3", "'cuda'",
          "'cuda', optional=True", "'cpu', False, True", "'cpu', optional=True")),
        "torch._utils._element_size(torch.float64)", "torch._utils._element_size(3)",
        "torch.library.custom_op('frob', lambda x: x, mutates_args=())", "torch.library.Library('frob', 'NICATE')",
        *(f"torch.finfo(torch.{name})" for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "bfloat16",
          "float16", "float32", "float64", "complex64", "complex32")),
        "torch.version.cuda", "torch.version.hip", "torch.version.debug",
    ],
)  # fmt: skip
def test_says_the_same(text):
    theirs, ours = both(text)
    assert ours == theirs


QUESTIONS = """_get_accelerator() _log_api_usage_once('x') _get_privateuse1_backend_name() _jit_can_fuse_on_cpu()
_jit_set_profiling_mode(False) _jit_set_profiling_executor(True) _are_functorch_transforms_active() _has_cuda has_lapack
_get_tracing_state() _is_torch_function_enabled() _is_torch_function_all_disabled() _len_torch_dispatch_stack() _GLIBCXX_USE_CXX11_ABI
_nn._parse_to('cpu') _nn.gelu(torch.zeros(1)) _functorch.is_batchedtensor(torch.ones(1)) _functorch.is_legacy_batchedtensor(torch.ones(1))
_functorch.maybe_current_level() _LinAlgError.__mro__[1]  Generator.__name__"""


@pytest.mark.parametrize("question", QUESTIONS.split())
def test_native_questions(question):
    theirs, ours = both(f"torch._C.{question}")
    assert ours == theirs


def test_marks_leave_functions_as_they_are():
    dynamo = rushlight._dynamo
    for name in ("disable", "allow_in_graph", "assume_constant_result", "forbid_in_graph", "disallow_in_graph"):
        assert getattr(dynamo, name)(both) is both
    assert dynamo.disable(recursive=False)(both) is both
    for name in ("mark_dynamic", "maybe_mark_dynamic", "mark_static", "mark_static_address"):
        theirs = inspect.signature(getattr(__import__("torch._dynamo")._dynamo, name))
        assert list(inspect.signature(getattr(dynamo, name)).parameters) == list(theirs.parameters)
    assert dynamo.mark_dynamic(rushlight.ones(2), 0) is None and not dynamo.is_compiling()


def test_settings_are_kept_and_restored():
    config = rushlight._dynamo.config
    before = config.cache_size_limit
    with config.patch(cache_size_limit=99, frobnicate=1):
        assert (config.cache_size_limit, config.frobnicate) == (99, 1)
    assert config.cache_size_limit == before and not hasattr(config, "frobnicate")
    with config.patch("cache_size_limit", 98), config.patch({"verbose": True}):
        assert (config.cache_size_limit, config.verbose) == (98, True)
    assert config.patch(verbose=True)(lambda: config.verbose)() and not config.verbose


# ---------------------------------------------------------------- torch.library


def defined(framework):
    """An operation with a derivative, of two tensors in a list and a number."""

    def combine(xs: list[framework.Tensor], scale: float = 2.0) -> framework.Tensor:
        return scale * xs[0] * xs[1]

    operation = framework.library.custom_op("suite::combine", combine, mutates_args=())

    def setup_context(ctx, inputs, output):
        xs, ctx.scale = inputs
        ctx.save_for_backward(*xs)

    def backward(ctx, grad):
        first, second = ctx.saved_tensors
        return [grad * ctx.scale * second, grad * ctx.scale * first], None

    operation.register_autograd(backward, setup_context=setup_context)
    return operation


def test_custom_operations():
    said = []
    for framework in (torch, OURS):
        operation = defined(framework)
        xs = [framework.tensor([1.0, 2.0], requires_grad=True), framework.tensor([3.0, 4.0], requires_grad=True)]
        made = operation(xs, scale=3.0)
        made.sum().backward()
        named = framework.ops.suite.combine(xs)
        plain = operation([x.detach() for x in xs])
        said.append([repr(made), *(x.grad.tolist() for x in xs), named.tolist(), plain.requires_grad, repr(operation)])
    assert said[0] == said[1]


def test_a_custom_operation_without_a_derivative():
    said = []
    for framework in (torch, OURS):

        def square(x: framework.Tensor) -> framework.Tensor:
            return x * x

        made = framework.library.custom_op("suite::square", square, mutates_args=())(
            framework.ones(1, requires_grad=True)
        )
        with pytest.raises(RuntimeError) as error:
            made.sum().backward()
        said.append((repr(made), str(error.value).split("\n")[0]))
    assert said[0] == said[1]


def test_a_library_of_schemas():
    for framework in (torch, OURS):
        library = framework.library.Library("suite_library", "DEF")
        assert library.define("thrice(Tensor x) -> Tensor") == "thrice"
        with pytest.raises(
            NotImplementedError, match="Could not run 'suite_library::thrice' with arguments from the 'CPU' backend"
        ):
            framework.ops.suite_library.thrice(framework.ones(1))
        library.impl("thrice", lambda x: 3 * x, "CPU")
        assert framework.ops.suite_library.thrice(framework.ones(1)).tolist() == [3.0]
        with pytest.raises(RuntimeError, match="Tried to register an operator"):
            library.define("thrice(Tensor x) -> Tensor")


# ---------------------------------------------------------------- torch.overrides

CALLS = [
    "torch.ones(2)",
    "x.exp()",
    "torch.add(x,1)",
    "x+1",
    "F.relu(x)",
    "F.linear(x,x)",
    "x[0]",
    "torch.cat([x,x])",
    "x.sum().backward()",
    "x.detach()",
    "len(x)",
    "x.view(4)",
    "-x",
    "x.size()",
    "x.to(torch.float64)",
    "torch.randn(2)",
    "torch.zeros_like(x)",
    "torch.arange(3)",
    "F.dropout(x)",
    "F.layer_norm(x,(2,))",
    "x.mean(0)",
    "F.conv2d(x[None,None],x[None,None])",
    "torch.matmul(x,x)",
    "torch.tensor([1.0])",
    "F.cross_entropy(x,torch.tensor([0,1]))",
]


def test_functions_that_ran_often_are_seen():
    for _ in range(40):
        rushlight.ones(2).square()
    seen = []

    class Told(rushlight.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    for _ in range(40):
        with Told():
            rushlight.ones(2).square().cosh()
    assert seen == ["ones", "square", "cosh"] * 40


@pytest.mark.parametrize("call", CALLS)
def test_a_mode_sees_whole_calls(call):
    said = []
    for framework in (torch, OURS):
        overrides = framework.overrides
        log = []

        class Told(overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.append((func.__name__, len(args)))
                return func(*args, **(kwargs or {}))

        x = framework.ones(2, 2, requires_grad=True)
        with Told():
            eval(call, {"torch": framework, "F": framework.nn.functional, "x": x})
        eval(call, {"torch": framework, "F": framework.nn.functional, "x": x})
        said.append(log)
    assert said[0] == said[1]


def test_modes_nest_and_may_answer_themselves():
    said = []
    for framework in (torch, OURS):
        overrides = framework.overrides

        class Adding(overrides.TorchFunctionMode):
            def __init__(self, number):
                super().__init__()
                self.number = number

            def __torch_function__(self, func, types, args=(), kwargs=None):
                if self.number == 0:
                    return "mine"
                return [self.number, func(*args, **(kwargs or {}))]

        x = framework.ones(1)
        with Adding(0), Adding(1), Adding(2):
            said.append(x.exp())
    assert said[0] == said[1] == [2, [1, "mine"]]


# ---------------------------------------------------------------- torch.utils._pytree


class Box:
    def __init__(self, inside):
        self.inside = inside

    def __eq__(self, other):
        return type(other) is Box and self.inside == other.inside

    def __repr__(self):
        return f"Box({self.inside!r})"


TREES = [
    {"a": [1, (2, None)], "b": collections.OrderedDict(x=1)}, 3, [], (), {}, None, Pair(1, [2, 3]), collections.defaultdict(list, {"q": [1]}),
    collections.deque([1, 2], 3), {1: {2: 3}}, [Box([1, 2])], "text", [Pair(1, 2), {"z": 0, "a": Box(1)}],
]  # fmt: skip
OTHERS = [
    ([1, 2], [1]),
    ([1, 2], (1, 2)),
    ({"a": 1}, {"b": 1}),
    ({"a": 1, "b": 2}, {"b": 5, "a": 6}),
    ({"a": 1}, {}),
    (1, [2]),
]


def pytrees():
    from torch.utils import _pytree as theirs

    from rushlight.utils import _pytree as ours

    for tree in (theirs, ours):
        if Box not in tree.SUPPORTED_NODES:
            tree.register_pytree_node(
                Box, lambda box: ([box.inside], "box"), lambda inside, context: Box(*inside), serialized_type_name="suite.Box",
                flatten_with_keys_fn=lambda box, tree=tree: ([(tree.GetAttrKey("inside"), box.inside)], "box"),
            )  # fmt: skip
            tree._register_namedtuple(Pair, serialized_type_name="suite.Pair")
    return theirs, ours


def described(tree, value):
    leaves, structure = tree.tree_flatten(value)
    text = tree.treespec_dumps(structure)
    assert tree.treespec_loads(text) == structure == tree.tree_structure(value)
    assert tree.tree_unflatten(leaves, structure) == value
    ways = tree.tree_leaves_with_path(value)
    assert all(tree.key_get(value, way) is leaf for way, leaf in ways)
    return [
        leaves, repr(structure), text, structure.num_nodes, structure.num_leaves, structure.num_children, structure.is_leaf(),
        [(tree.keystr(way), repr(way), leaf) for way, leaf in ways], tree.tree_map(repr, value), tree.tree_is_leaf(value),
        tree.tree_map_only(int, lambda leaf: leaf + 1, value), tree.tree_all(lambda leaf: leaf is not None, value),
        tree.tree_leaves(value, is_leaf=lambda part: isinstance(part, list)), tree._get_node_type(value),
    ]  # fmt: skip


@pytest.mark.parametrize("value", TREES, ids=str)
def test_trees(value):
    theirs, ours = pytrees()
    assert described(ours, value) == described(theirs, value)


@pytest.mark.parametrize("value, other", OTHERS, ids=str)
def test_trees_of_another_form(value, other):
    said = []
    for tree in pytrees():
        try:
            said.append(tree.tree_map(lambda *leaves: leaves, value, other))
        except Exception as error:
            said.append((type(error).__name__, str(error).split("\n")[0]))
    assert said[0] == said[1]


def test_an_optimizer_that_wraps_another():
    """Libraries make subclasses of Optimizer that never call its ``__init__``."""
    for framework in (torch, OURS):

        class Wrapped(framework.optim.Optimizer):
            def __init__(self, inner):
                self.inner = inner

            @property
            def param_groups(self):
                return self.inner.param_groups

            def step(self, closure=None):
                self.inner.step(closure)

            def zero_grad(self, set_to_none=True):
                self.inner.zero_grad(set_to_none)

        weight = framework.ones(1, requires_grad=True)
        optimizer = Wrapped(framework.optim.SGD([weight], lr=0.5))
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        assert weight.tolist() == [0.5] and weight.grad is None
