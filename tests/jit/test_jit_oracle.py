"""``torch.jit`` says what PyTorch's says: classes, attributes, state, results, warnings, errors; and it runs Python."""

import copy
import io  # noqa: F401  # the expressions name it, and the two below
import pickle  # noqa: F401
import typing  # noqa: F401
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")


def scale(x, n: int = 2):
    """What it says of itself."""
    return x * n


def namespace(framework):
    """`made` of a framework, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(framework)


def made(framework):
    """A module of layers, what `script` and `trace` make of it, and functions."""
    nn, jit = framework.nn, framework.jit

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.drop = nn.Dropout(0.5)
            self.bn = nn.BatchNorm1d(2)
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
            self.limit, self.label = 3, "n"
            self.register_buffer("b", framework.zeros(2))
            self.seq = nn.Sequential(nn.Linear(2, 2))
            self.same = self.seq

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.drop(x) + self.limit

        @jit.export
        def more(self, x):
            return x + 1

        @jit.ignore
        def ignored(self, x):
            return x + 2

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)
            self.q = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))

        def forward(self, x):
            return self.q(self.l(x))

    class Old(jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(framework.ones(2))
            self.a = jit.Attribute(3, int)

        @jit.script_method
        def forward(self, x):
            return x + self.w

    def raising(x):
        raise ValueError("told")

    framework.manual_seed(0)
    m, plain, x = Net(), Plain(), framework.ones(1, 2)
    s, t = jit.script(m), jit.trace(plain.eval(), x)
    g, h, old = jit.script(scale), jit.trace(scale, x), Old()
    return {**globals(), **locals(), "torch": framework, "nn": nn, "f": scale, "jit": jit}


def said(text, names):
    """The repr of an expression's value, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = repr(eval(text, names))
        except Exception as error:
            found = (type(error).__name__, str(error).split("\n")[0].replace("rushlight.", "torch."))
    shown = {(one.category.__name__, str(one.message)) for one in told if "trace_method" not in str(one.message)}
    return found, shown


@pytest.fixture(scope="module")
def sides():
    return namespace(torch), namespace(rushlight)


SCRIPTED = """s|s.conv|s.layers|len(s.layers)|s.layers[0]|list(s.layers)|s.seq[0]|s.original_name|s.limit|s.label|s.more(x)|s.ignored(x)|s.b
list(s.state_dict())|[n for n, _ in s.named_parameters()]|[n for n, _ in s.named_modules()]|s.conv.weight is m.conv.weight|s.nope
isinstance(s, nn.Module), isinstance(s, jit.ScriptModule), isinstance(s, jit.RecursiveScriptModule), isinstance(s.conv, jit.ScriptModule)
(s.training, s.eval().training, s.drop.training, m.training, s.train().training)|s.drop.p|s.conv.kernel_size|jit.script(s) is s
copy.deepcopy(s).conv|copy.deepcopy(s).conv.weight is s.conv.weight|copy.copy(s).conv.weight is s.conv.weight|s.eval()(x).detach()|s.extra_repr()
(setattr(s, 'limit', 4), s.limit, m.limit, setattr(s, 'limit', 3))|(setattr(s, 'other', 4), s.other)|setattr(s, 'conv', nn.Linear(2, 2))
s.conv.extra_repr()|[type(c).__name__ for c in s.children()]|type(s).__name__|type(s).__mro__[1].__name__|s.train(False) is s|s.same is s.seq
list(jit.freeze(s.eval()).state_dict())|jit.freeze(s)|jit.freeze(s)(x)|jit.freeze(s.train())|jit.freeze(m)|jit.freeze(f)|jit.freeze(s.eval(), ['nope'])
jit.freeze(s, ['more']).more(x)|jit.optimize_for_inference(m)|jit.optimize_for_inference(s.eval())|s.load_state_dict(m.state_dict())
g.name|g.__doc__|g.qualified_name|g(x)|g(x, 3)|g(x, n=4)|pickle.dumps(g)|copy.deepcopy(g)|jit.script(g) is g|type(g).__name__|isinstance(g, jit.ScriptFunction)
hash(g) == hash(g)|jit.ScriptFunction()|jit.script(nn.Linear)|jit.script(3)|jit.script('a')|jit.script(None)|jit.script((1,))|jit.script(len)|jit.script()
jit.script(f, frob=1)|jit.script({'a': 1})['a']|jit.script([1, 2])|jit.script(f, optimize=True)(x)|old|old(x)|old.a|list(old.state_dict())|jit.script(old) is old
isinstance(old, jit.ScriptModule)|s.to(torch.float64).conv.weight.dtype|m.conv.weight.dtype|s.float().b.dtype|pickle.dumps(jit.script(nn.ReLU()))""".replace("\n", "|").split("|")  # fmt: skip
TRACED = """t|t.l|t.q|t(x).shape|t.original_name|t.training|t.train().training|t.nope|type(t).__name__|type(t.l).__name__|type(t).__mro__[1].__name__
list(t.state_dict())|t.l.weight is plain.l.weight|bool((t.train()(x) == t.eval()(x)).all())|plain.training|h(x)|h.name|type(h).__name__|jit.is_tracing()
jit.trace(f)|jit.trace(m, example_kwarg_inputs=[x])|jit.trace(m)|jit.trace(m, 3)|jit.trace(m, (3,))|jit.trace(3, x)|jit.trace(f, 3)|jit.trace(f, (x, x, x))
jit.trace(lambda x: 3, x)|jit.trace(lambda x: {'a': x}, x)|jit.trace(lambda x: {'a': x}, x, strict=False)(x)|jit.trace(lambda x: [x], x)(x)
jit.trace(lambda x: None, x)|jit.trace(lambda x: (x, [x, x]), x)(x)|jit.trace(lambda x: (x, 3), x)|jit.trace(lambda x: 'a', x)
jit.trace(plain.forward, x)(x).shape|jit.trace(m.more, x)|jit.trace(plain, x, frob=1)|jit.trace(f, (x, True))|jit.trace(f, (x, None))|jit.trace(f, 'a')
jit.trace(f, [x])(x)|jit.trace(f, ())|jit.trace(plain, ())|jit.trace(nn.Linear, x)|jit.trace(plain, x, optimize=True)(x).shape
jit.trace(f, example_kwarg_inputs={'x': x})(x)|jit.trace(plain, example_kwarg_inputs={'x': x})(x).shape|jit.trace(raising, x)
jit.trace(lambda x: x if jit.is_tracing() else -x, x, check_trace=False)(x)|jit.trace_module(f, {'forward': x})|jit.trace_module(plain, {'forward': x})
jit.trace_module(m, [x])|jit.trace_module(m, {'nope': x})|jit.trace(torch.relu, x)(x)|jit.script_if_tracing(f)(x)|jit.script_if_tracing(f).__name__""".replace("\n", "|").split("|")  # fmt: skip
OTHERS = """jit.export(f) is f|jit.export(3)|jit.ignore(f) is f|jit.ignore(drop=True)(f) is f|jit.ignore(drop=3)|jit.ignore()(f) is f
jit.ignore(drop_on_export=True)(f) is f|jit.unused(f) is f|jit.unused(3)|jit.interface(f)|jit.annotate(int, 3)|jit.is_scripting()|jit._unwrap_optional(None)
jit._unwrap_optional(3)|jit.isinstance([1], list[int])|jit.isinstance([1], list[float])|jit.isinstance([], list[int])|jit.isinstance(3, (int, float))
jit.isinstance({'a': 1}, dict[str, int])|jit.isinstance({'a': 1}, dict[str, str])|jit.isinstance((1, 'a'), tuple[int, str])|jit.isinstance((1,), tuple[int, int])
jit.isinstance(None, typing.Optional[int])|jit.isinstance(3, typing.Union[int, str])|jit.isinstance([1], list)|jit.isinstance([1], typing.List)
jit.isinstance([1], typing.Dict)|jit.isinstance([1], typing.Tuple)|jit.isinstance([1], typing.Optional)|jit.isinstance([1], dict)|jit.isinstance([1], tuple)|jit.isinstance([1], list[list])|jit.isinstance([[1]], list[list[int]])|jit.isinstance([x], typing.List[torch.Tensor])|jit.isinstance(3, int)
jit.isinstance([1], (str, list[int]))|jit.set_fusion_strategy([('STATIC', 2)])|jit.set_fusion_strategy([('STATIC', 2), ('DYNAMIC', 10)])
jit.set_fusion_strategy([('FOO', 2)])|jit.set_fusion_strategy(3)|jit.wait(jit.fork(f, x))|jit.wait(jit.fork(raising, x))|jit.fork(3)|jit.wait(3)
jit.enable_onednn_fusion(True)|jit.onednn_fusion_enabled()|jit.enable_onednn_fusion(False)|type(jit.strict_fusion()).__name__|jit.Attribute(3, int)
jit.Final is typing.Final|jit.load('/nowhere/nope.pt')|jit.load('/')|jit.load(3)|jit.save(m, io.BytesIO())|jit.Error.__mro__[1]|jit.Future.__name__
sorted(jit.__all__)|torch.ScriptModule.__name__|torch._jit_internal.is_ignored_fn(m.ignored)|torch._jit_internal.is_optional(typing.Optional[int])
torch._jit_internal.get_torchscript_modifier(m.more)|torch.futures.wait_all([jit.fork(f, x)])|jit.frontend.get_default_args(f)""".replace("\n", "|").split("|")  # fmt: skip


ALL = [*SCRIPTED, *TRACED, *OTHERS]


@pytest.mark.parametrize("text", ALL)
def test_says_the_same(text, sides):
    theirs, ours = (said(text, names) for names in sides)
    assert ours == theirs


def test_what_is_not_here_says_so_and_names_the_way_out(sides, tmp_path):
    names = sides[1]
    for text, way in (
        ("s.graph", "symbolic_trace"),
        ("g.inlined_graph", "symbolic_trace"),
        ("s.save('file')", "state_dict"),
        ("jit.save(s, 'file')", "state_dict"),
        ("g.save('file')", "state_dict"),
        ("s.define('')", "class"),
        ("jit.CompilationUnit('def f(): pass')", "Python"),
        ("jit.export_opnames(s)", "symbolic_trace"),
        ("jit.load(io.BytesIO(b'PK'))", "state_dict"),
    ):
        with pytest.raises(NotImplementedError, match=f"torch.jit.*is not implemented\nhint: .*{way}"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                eval(text, names)
    assert "self.layers" in names["s"].code and "x * n" in names["g"].code and "self.q" in names["t"].code


def test_a_scripted_module_trains_like_the_module():
    rushlight.manual_seed(0)
    module = rushlight.nn.Sequential(rushlight.nn.Linear(2, 3), rushlight.nn.BatchNorm1d(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = rushlight.jit.script(module)
    twin = copy.deepcopy(module)
    for one in (scripted, twin):
        optimizer = rushlight.optim.SGD(one.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            one(rushlight.arange(8.0).view(4, 2)).square().sum().backward()
            optimizer.step()
    for name, value in twin.state_dict().items():
        assert (scripted.state_dict()[name] == value).all() and (module.state_dict()[name] == value).all()


def test_the_note_is_told_once_and_is_no_warning(monkeypatch, caplog):
    from rushlight.base import notes

    monkeypatch.setattr(notes, "_told", set())
    with warnings.catch_warnings(), caplog.at_level("WARNING", "rushlight"):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, message="`torch.jit")
        for _ in range(2):
            rushlight.jit.script(scale)
            rushlight.compile(scale)
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "there is no TorchScript here", "there is no compiler here yet"
    ]  # fmt: skip


def test_switched_off(monkeypatch):
    monkeypatch.setattr(rushlight.jit._state._enabled, "enabled", False)
    assert rushlight.jit.script(scale) is scale and rushlight.jit.trace(scale, rushlight.ones(1)) is scale


def test_a_file_of_pytorch_is_refused_with_the_way_out(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "m.pt")
        with pytest.raises(NotImplementedError, match=r"torch\.jit\.load is not implemented\nhint: .*state_dict"):
            rushlight.jit.load(tmp_path / "m.pt")
