"""``torch.compile``, ``torch.compiler`` and ``torch._dynamo`` say what PyTorch's say, and the functions run as they are."""

import copy
import inspect
import pickle  # noqa: F401  # the expressions name it
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")


def scale(x, n=2):
    """What it says of itself."""
    return x * n


class Standing:
    """Rushlight as it is found under the name of torch."""

    def __getattr__(self, name):
        return getattr(rushlight, name)


def namespace(framework):
    """Functions and modules, and what ``torch.compile`` makes of them."""
    nn = framework.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.n = nn.Linear(2, 2), 3

        def forward(self, x):
            return self.a(x)

        def other(self):
            return self.n

        def __len__(self):
            return 7

    framework.manual_seed(0)
    net = Net()
    c, cf = framework.compile(net, backend="eager"), framework.compile(scale, backend="eager")
    m, x, dynamo, f = nn.Linear(2, 2), framework.ones(1, 2), framework._dynamo, scale
    return {**globals(), **locals(), "torch": framework if framework is torch else Standing()}


def said(text, names):
    """The repr of an expression's value, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(text, names)).replace("rushlight", "torch")
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]


@pytest.fixture(scope="module")
def sides():
    return namespace(torch), namespace(rushlight)


COMPILE = """torch.compile(f, mode='default', options={})|torch.compile(f, mode='nope')|torch.compile(f, options=[1])|torch.compile(f, options=3)
torch.compile(f, backend='nope')|torch.compile(f, backend=3).__name__|torch.compile(f, backend='eager', mode='nope').__name__|torch.compile(3)|torch.compile('a')
torch.compile(f, backend='eager', options=3).__name__|torch.compile(len).__name__|torch.compile(Net, backend='eager') is Net|torch.compile(f, dynamic='a')
torch.compile(f, disable=True) is f|torch.compile(m, disable=True) is m|torch.compile(m, frob=1)|torch.compile()(f).__name__|torch.compile()(None)
torch.compile(backend='eager')(f)(x)|torch.compile(f, True)|callable(torch.compile(mode='nope'))|callable(torch.compile(backend='nope'))
torch.compile(mode='default', options={})(f)|torch.compile(mode='nope')(f)|torch.compile(classmethod(f))|torch.compile(fullgraph=True, backend='eager')(f)(x)
c|type(c).__name__|isinstance(c, Net)|isinstance(c, dynamo.OptimizedModule)|list(c.state_dict())|[n for n, _ in c.named_parameters()]|c.n|c.other()|len(c)
(setattr(c, 'n', 5), c.other(), c._orig_mod.n)|(setattr(c, 'k', nn.ReLU()), c, delattr(c, 'k'))|c.nope|c.training|c.eval() is c|c._orig_mod.training
c.train().training|c(x).shape|c.a|c._orig_mod is net|c.load_state_dict(net.state_dict())|c.load_state_dict(c.state_dict())|(delattr(c, 'n'), c.n)
type(pickle.loads(pickle.dumps(torch.compile(nn.Linear(2, 2), backend='eager')))).__name__|len(torch.compile(m, backend='eager'))|c.parameters().__next__() is net.a.weight
cf.__name__|cf.__doc__|cf.__wrapped__ is f|cf._torchdynamo_orig_callable is f|cf(x)|cf(x, 3)|cf(x, n=4)|inspect.signature(cf)|cf is f
m.compile(backend='eager')|m(x).shape|m|m._compiled_call_impl is not None|m.compile(mode='a', options={})|m.compile(mode='a')|m.compile(backend='nope')
copy.deepcopy(m)._compiled_call_impl|pickle.loads(pickle.dumps(m))._compiled_call_impl|nn.Linear(2, 2)._compiled_call_impl""".replace("\n", "|").split("|")  # fmt: skip
COMPILER = """torch.compiler.list_backends()|torch.compiler.reset()|torch.compiler.is_compiling()|torch.compiler.is_dynamo_compiling()|torch.compiler.is_exporting()
torch.compiler.disable(f)(x)|torch.compiler.disable()(f)(x)|torch.compiler.disable(recursive=False)(f)(x)|torch.compiler.disable(f, reason='r').__name__
torch.compiler.disable(m)|torch.compiler.disable(3)|torch.compiler.allow_in_graph(f) is f|torch.compiler.allow_in_graph(3)|torch.compiler.allow_in_graph([f])[0] is f
torch.compiler.assume_constant_result(f) is f|torch.compiler.assume_constant_result(3)|torch.compiler.set_stance('eager_on_recompile', force_backend='eager')
torch.compiler.set_stance('default')(f)(x)|torch.compiler.cudagraph_mark_step_begin()|torch.compiler.wrap_numpy(lambda a: a + 1)(x)
torch.compiler.wrap_numpy(lambda a, b: (a, [b]))(x, b=x)|torch.compiler.get_default_backend()|torch.compiler.set_default_backend('nope')|torch.compile(f)
(torch.compiler.set_default_backend('eager'), torch.compiler.get_default_backend())|torch.compiler.set_default_backend(3)|torch.compiler.set_default_backend(None)
torch.compiler.set_enable_guard_collectives(True)|torch.compiler.set_enable_guard_collectives(False)|torch.compiler.keep_portable_guards_unsafe([])
torch.compiler.skip_all_guards_unsafe([1, 2])|torch.compiler.nested_compile_region(f)(x)|torch.compiler.substitute_in_graph(3)|sorted(torch.compiler.__all__)
torch.compiler.substitute_in_graph(len)(f)|dynamo.optimize('eager')(f)(x)|dynamo.optimize('nope')|dynamo.optimize('eager', nopython=True)(m)|dynamo.lookup_backend(3)
dynamo.lookup_backend('eager').__name__|dynamo.lookup_backend('nope')|dynamo.register_backend(f, name='mine') is f|dynamo.register_backend(f, name='mine')
'mine' in dynamo.list_backends()|dynamo.register_backend(3)|dynamo.run(f)(x)|dynamo.forbid_in_graph(f) is f|dynamo.disallow_in_graph(f) is f|dynamo.graph_break()
dynamo.skip_frame()|dynamo.mark_dynamic(x, 0)|dynamo.mark_static(x, 0)|dynamo.mark_static_address(3)|dynamo.maybe_mark_dynamic(x, 0)|dynamo.reset()
dynamo.reset_code_caches()|dynamo.config.nope|str(dynamo.exc.InvalidBackend('x'))[:20]|dynamo.exc.InvalidBackend.__mro__[1].__name__|dynamo.step_unsupported()
dynamo.set_recursion_limit(100)|dynamo.get_recursion_limit()|dynamo.set_recursion_limit(0)|dynamo.backends.registry.list_backends is dynamo.list_backends
dynamo.eval_frame.OptimizedModule is dynamo.OptimizedModule|type(dynamo.utils.counters).__name__|dynamo.disable(f)(x)""".replace("\n", "|").split("|")  # fmt: skip
ALL = [*COMPILE, *COMPILER]


def test_says_the_same(sides):
    """In one test: compiled modules and registered backends change as the expressions go on."""
    differing = {
        text: found for text in ALL if len(set(map(repr, found := [said(text, names) for names in sides]))) > 1
    }
    assert not differing


def test_signatures_are_pytorchs():
    names = [
        *torch.compiler.__all__,
        *(f"_dynamo.{name}" for name in ("disable", "mark_dynamic", "mark_static", "set_stance")),
    ]
    for name in names:
        theirs, ours = torch.compiler, rushlight.compiler
        if name.startswith("_dynamo."):
            theirs, ours, name = torch._dynamo, rushlight._dynamo, name.partition(".")[2]
        if callable(getattr(theirs, name)) and name != "compile":
            wanted = list(inspect.signature(getattr(theirs, name)).parameters)
            assert list(inspect.signature(getattr(ours, name)).parameters)[: len(wanted)] == wanted, name
    assert list(inspect.signature(rushlight.compile).parameters) == list(inspect.signature(torch.compile).parameters)


def test_a_backend_that_is_not_called_is_told(monkeypatch, caplog):
    from rushlight.base import notes

    monkeypatch.setattr(notes, "_told", set())
    with caplog.at_level("WARNING", "rushlight"):
        found = rushlight.compile(scale, backend=lambda graph, inputs: pytest.fail("called"))(rushlight.ones(1))
    assert found.item() == 2 and "is not called" in caplog.text


def test_what_is_not_here_says_so_and_names_the_way_out():
    for call in (
        lambda: rushlight._dynamo.explain(scale),
        lambda: rushlight._dynamo.export(scale),
        lambda: rushlight.compiler.load_compiled_function(None),
    ):
        with pytest.raises(NotImplementedError, match=r"is not implemented\nhint: "):
            call()


def test_compiled_modules_train_and_are_copied():
    rushlight.manual_seed(0)
    module = rushlight.nn.Linear(2, 3)
    twin = copy.deepcopy(module)
    compiled = rushlight.compile(module)
    for one in (compiled, twin):
        optimizer = rushlight.optim.SGD(one.parameters(), lr=0.1)
        one(rushlight.ones(4, 2)).square().sum().backward()
        optimizer.step()
    assert (compiled.weight == twin.weight).all() and (copy.deepcopy(compiled).weight == twin.weight).all()
    again = rushlight.compile(rushlight.nn.Linear(2, 3))
    again.load_state_dict(compiled.state_dict())
    assert (again.weight == twin.weight).all()
