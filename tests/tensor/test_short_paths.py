"""The short paths that are written out of schemas: they take a call as its words say, or leave it as it came."""

import linecache
import threading
import traceback

import pytest

import rushlight as torch
from rushlight.ops.table import BINARY, CREATE, ELEMENTWISE, FUNCTION, INPLACE, TABLE, UNARY, VIEW
from rushlight.tensor import forms, short_elementwise, short_paths, short_text
from rushlight.tensor.compute import schema_of


def functions():
    """(name, what makes a function) of all that have texts."""
    for op in TABLE.values():
        kinds = {
            short_paths.short: op.kind in (FUNCTION, VIEW),
            short_elementwise.elementwise: op.kind == ELEMENTWISE,
            forms.creation: op.kind == CREATE,
            forms.inplace_only: op.kind == INPLACE,
            forms.inplace_form: op.kind in (UNARY, BINARY, ELEMENTWISE) and op.inplace,
        }
        for make, has_text in kinds.items():
            if has_text and hasattr(make(op), "path"):
                yield pytest.param(op, make, id=make(op).__name__)


@pytest.mark.parametrize(("op", "make"), [*functions()])
def test_the_text_of_every_operation_is_a_function_of_the_same_closure_and_of_known_names(op, make):
    function = make(op)
    short_paths.settle(function)
    code = function.__code__
    assert code.co_freevars == ("forward", "op", "slow")
    attributes = {"size", "run", "parsed", "track", "name", "recording", "_array", "_edge", "__class__", "DType"}
    attributes |= {
        "ready",
        "ready_for_writes",
        "large",
        "check",
        "base",
        "dtype",
        "shape",
        "ndim",
        "flags",
        "c_contiguous",
        "char",
        "refused_letters",
    }
    builtins = {
        "len",
        "getattr",
        "map",
        "int",
        "bool",
        "float",
        "str",
        "tuple",
        "NotImplemented",
        "ValueError",
        "Exception",
    }
    assert set(code.co_names) <= function.__globals__.keys() | attributes | builtins


@pytest.mark.parametrize(
    ("module", "paragraph", "text"),
    [
        (short_text, 2, ["def call(given0=MISSING, given1=MISSING, /, *rest, **options):",
                         *short_text.text_of(TABLE["mv"], schema_of(TABLE["mv"]), 1 << 62)[1]]),
        (short_elementwise, 2, short_elementwise.text_of(TABLE["lerp"], schema_of(TABLE["lerp"]), False)[1]),
    ],
)  # fmt: skip
def test_the_documentation_shows_a_text_as_it_is(module, paragraph, text):
    shown = [line.strip() for line in module.__doc__.split("\n\n")[paragraph].splitlines()[:-1]]
    begin = [line.strip() for line in text].index(shown[0])
    assert [line.strip() for line in text[begin : begin + len(shown)]] == shown


def test_arguments_by_name_by_place_and_left_out():
    x = torch.arange(6.0).reshape(2, 3)
    by_place = x.sum((1,), True)
    assert by_place.tolist() == [[3.0], [12.0]]
    for found in (
        x.sum(1, keepdim=True),
        x.sum(dim=[-1], keepdim=True),
        torch.sum(x, keepdim=True, dim=1),
    ):
        assert found.tolist() == by_place.tolist()
    assert x.sum(axis=0).tolist() == [3.0, 5.0, 7.0]
    assert x.sum(1, dtype=torch.float64).dtype is torch.float64
    assert x.flip(0, 1).tolist() == x.flip((0, 1)).tolist() == x.flip(dims=[0, 1]).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(1, True, False),
        lambda x: x.sum(1, dim=1),
        lambda x: x.sum(1, depth=2),
        lambda x: x.cumsum(),
        lambda x: x.cumsum("a"),
        lambda x: x.sum((1, 0.5)),
        lambda x: x.mv(3),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_the_general_way(call):
    x = torch.ones(2, 3)
    with pytest.raises(TypeError) as first:
        call(x)
    x.sum(1)
    x.cumsum(1)
    with pytest.raises(TypeError) as second:
        call(x)
    assert str(first.value) == str(second.value)
    assert "hint:" in str(second.value) or "multiple values" in str(second.value)


def test_overrides_see_arguments_as_they_were_given():
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append((len(args), dict(kwargs or {})))
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Watched)
    torch.cumsum(x, 1)
    torch.cumsum(x, dim=1)
    torch.gather(torch.ones(2, 3), 1, torch.zeros(2, 1, dtype=torch.int64).as_subclass(Watched))
    assert [(count, [*names]) for count, names in seen] == [(2, []), (1, ["dim"]), (3, [])]


def test_tracebacks_show_the_text():
    short_paths.settle(torch.mv)
    try:
        torch.ones(2).mv(torch.ones(2))
    except RuntimeError as error:
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if "<short path of mv>" in frame.filename
        ]
    assert "forward" in frames[0].line
    linecache.checkcache()
    assert linecache.getline(frames[0].filename, 1)


def test_first_calls_from_several_threads(monkeypatch):
    monkeypatch.setattr(short_paths, "GENERAL_CALLS", 3)
    op = TABLE["mv"]
    x, results = torch.eye(3), []
    for _ in range(20):
        function = short_paths.short(op)
        threads = [threading.Thread(target=lambda: results.append(function(x, x[0]).tolist())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [[1.0, 0.0, 0.0]] * 80


def test_the_text_is_written_after_some_calls(monkeypatch):
    monkeypatch.setattr(short_paths, "GENERAL_CALLS", 5)
    op, x = TABLE["mv"], torch.eye(3)
    function = short_paths.short(op)
    for _ in range(4):
        assert function(x, x[1]).tolist() == [0.0, 1.0, 0.0]
    assert "args" in function.__code__.co_varnames
    assert function(x, x[1]).tolist() == [0.0, 1.0, 0.0]
    assert "given0" in function.__code__.co_varnames
    assert function(x, x[2]).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.clone(torch.ones(2, 3), memory_format=torch.contiguous_format),
        lambda f: f.sum(torch.ones(2, 3), [1], keepdim=True),
        lambda f: f.flip(torch.ones(2, 3), (0, 1)),
        lambda f: f.cumsum(torch.ones(2, 3), dim=1),
        lambda f: f.select(torch.ones(2, 3), 0, index=1),
        lambda f: f.roll(torch.ones(2, 3), 1, 0),
        lambda f: f.interpolate_parts(torch.ones(1, 1, 4, 4), (8, 8), (2.0, 2.0), "bilinear", False, False),
        lambda f: f.layer_norm_parts(torch.ones(2, 3), (3,), None, None, 1e-5),
        lambda f: f.lerp(torch.ones(2, 3), torch.ones(3), 0.3),
        lambda f: f.clamp(torch.ones(2, 3), max=1),
        lambda f: f.where_select(torch.ones(3) > 0, 1, torch.ones(2, 3)),
        lambda f: f.softplus(torch.ones(2, 3), beta=2),
        lambda f: f.lerp_(torch.ones(2, 3), torch.ones(3), weight=0.3),
        lambda f: f.addcmul_(torch.ones(2, 3)[0], torch.ones(3), torch.ones(3), value=2),
        lambda f: f.exp_(torch.ones(2, 3)),
        lambda f: f.clamp_(torch.ones(2, 3), 0.0),
        lambda f: f.zeros(2, 3, dtype=torch.int64),
        lambda f: f.ones((2, 3), device="cpu", requires_grad=True),
        lambda f: f.full([2, 3], fill_value=1),
        lambda f: f.eye(n=3),
        lambda f: f.randn(4),
        lambda f: f.zero_(torch.ones(2, 3)),
        lambda f: f.uniform_(torch.ones(2, 3), 0.5, to=1.5),
        lambda f: f.index_add_(torch.ones(2, 3), 0, torch.tensor([1]), torch.ones(1, 3)),
    ],
)
def test_calls_that_do_not_go_the_general_way(call):
    class Short:
        def __getattr__(self, name):
            written = name not in TABLE
            op = TABLE[name.removesuffix("_") if written else name]
            makers = {
                ELEMENTWISE: short_elementwise.elementwise, CREATE: forms.creation, INPLACE: forms.inplace_only,
            }  # fmt: skip
            function = forms.inplace_form(op) if written else makers.get(op.kind, short_paths.short)(op)
            short_paths.settle(function)
            slow = function.__code__.co_freevars.index("slow")
            function.__closure__[slow].cell_contents = refuse
            return function

    def refuse(*args, **kwargs):
        raise AssertionError("the general way")

    call(Short())
