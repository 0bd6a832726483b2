"""The short paths that are written out of schemas: they take a call as its words say, or leave it as it came."""

import linecache
import threading
import traceback

import pytest

import rushlight as torch
from rushlight.ops.table import FUNCTION, TABLE, VIEW
from rushlight.tensor import short_paths, short_text
from rushlight.tensor.compute import schema_of
from rushlight.tensor.short_text import _text


def operations():
    known = [op for op in TABLE.values() if op.kind in (FUNCTION, VIEW) and hasattr(op, "short") and not op.refuse]
    return [op for op in known if not schema_of(op).has_lists]


def keep(monkeypatch, op):
    """Put back afterwards what `short` changes of an operation."""
    monkeypatch.setattr(op, "short", op.short)
    monkeypatch.setattr(op, "calls_left", op.calls_left)


@pytest.mark.parametrize("op", operations(), ids=lambda op: op.name)
def test_the_text_of_every_operation_is_a_function_of_the_same_closure_and_of_known_names(op, monkeypatch):
    keep(monkeypatch, op)
    function = short_paths.short(op)
    short_paths.settle(function)
    code = function.__code__
    assert code.co_freevars == ("forward", "op", "slow")
    attributes = {"size", "run", "parsed", "track", "name", "recording", "_array", "_edge", "__class__", "DType"}
    builtins = {"len", "getattr", "map", "int", "bool", "float", "str", "tuple", "NotImplemented"}
    assert set(code.co_names) <= vars(short_paths).keys() | attributes | builtins


def test_the_documentation_shows_a_text_as_it_is():
    op = TABLE["mv"]
    shown = short_text.__doc__.split("\n\n")[2].splitlines()[:-1]
    assert [line.strip() for line in shown] == [
        line.strip() for line in _text(op, schema_of(op), 1 << 62)[1 : len(shown) + 1]
    ]


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
    op = TABLE["mv"]
    keep(monkeypatch, op)
    x, results = torch.eye(3), []
    for _ in range(20):
        function = short_paths.short(op)
        op.calls_left = 3
        threads = [threading.Thread(target=lambda: results.append(function(x, x[0]).tolist())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [[1.0, 0.0, 0.0]] * 80


def test_the_text_is_written_after_some_calls(monkeypatch):
    op, x = TABLE["mv"], torch.eye(3)
    keep(monkeypatch, op)
    function = short_paths.short(op)
    for _ in range(op.calls_left - 1):
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
    ],
)
def test_calls_that_do_not_go_the_general_way(call, monkeypatch):
    class Short:
        def __getattr__(self, name):
            op = TABLE[name]
            keep(monkeypatch, op)
            function = short_paths.short(op)
            short_paths.settle(function)
            slow = function.__code__.co_freevars.index("slow")
            function.__closure__[slow].cell_contents = refuse
            return function

    def refuse(*args, **kwargs):
        raise AssertionError("the general way")

    call(Short())
