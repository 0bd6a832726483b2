"""The short path of an operation and its general one: the same outcome for the meter's arguments, right and wrong ones."""

import os
import warnings

import pytest
from wrong_arguments import KINDS, calls_of

import rushlight as rl
from rushlight.ops.native_calls import forms_of
from rushlight.ops.table import BINARY, CREATE, ELEMENTWISE, FUNCTION, INPLACE, TABLE, UNARY, VIEW
from rushlight.tensor import forms, short_elementwise, short_paths

FEW = ("a list", "None", "an int", "a tensor")  # kinds that a plain test looks at
MANY = tuple(KINDS)[:: max(1, 1500 // int(os.environ.get("RUSHLIGHT_EXAMPLES", "2000")))]
MAKERS = {
    short_paths.short: (FUNCTION, VIEW),
    short_elementwise.elementwise: (ELEMENTWISE,),
    forms.creation: (CREATE,),
    forms.inplace_only: (INPLACE,),
    forms.inplace_form: (UNARY, BINARY, ELEMENTWISE),
}


class Tracked:
    """The library, whose tensors require grad."""

    def __getattr__(self, name):
        return getattr(rl, name)

    @staticmethod
    def ones(*sizes):
        return rl.ones(*sizes, requires_grad=True)


def operations():
    for op in TABLE.values():
        if op.name.startswith("empty"):  # of any numbers
            continue
        for make, kinds in MAKERS.items():
            if op.kind in kinds and (make is not forms.inplace_form or op.inplace) and hasattr(make(op), "path"):
                yield op, make


def calls(op, function, kinds):
    """The meter's calls of a function, of the first room that has forms for it."""
    name = function.__name__
    for room in ("torch", "Tensor"):
        found = [form for form in forms_of(room, name) if not form.hidden]
        for form in found:
            yield from ((room, call) for call in calls_of(form, kinds))
        if found:
            return


def outcome(function, room, call, library):
    """What there is to see of a call: the results and the operands afterwards, or the error."""
    rl.manual_seed(0)
    args, kwargs = call.arguments(library)
    if room == "Tensor":
        args = [library.ones(2, 2), *args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **kwargs)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    return seen(found), seen([*args, *kwargs.values()])


def seen(value):
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(item) for item in value]
    if not isinstance(value, rl.Tensor):
        return type(value).__name__
    node = value.grad_fn and value.grad_fn.name()
    return (
        str(value.tolist()),
        str(value.dtype),
        tuple(value.shape),
        value.stride(),
        value.requires_grad,
        node,
        value._version,
    )


def differing(op, make, kinds):
    """The calls that come out otherwise once the short path is written."""
    function = make(op)
    pairs = [(library, room, call) for library in (rl, Tracked()) for room, call in calls(op, function, kinds)]
    general = [outcome(function, room, call, library) for library, room, call in pairs]
    short_paths.settle(function)
    for (library, room, call), expected in zip(pairs, general):
        found = outcome(function, room, call, library)
        if found != expected:
            yield f"{function.__name__} {call.what}: {found}, not {expected}"


@pytest.mark.parametrize("kinds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_short_and_general_path_agree(kinds, monkeypatch):
    monkeypatch.setattr(short_paths, "GENERAL_CALLS", float("inf"))
    chosen = {kind: KINDS[kind] for kind in kinds}
    found = [told for op, make in operations() for told in differing(op, make, chosen)]
    assert not found, "\n".join(found[:20])
