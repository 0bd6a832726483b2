"""``torch.library``: schemas, checks and casts of operations that a program defines, against PyTorch's."""

import itertools
from collections.abc import Sequence

import pytest

import rushlight

torch = pytest.importorskip("torch")

FUNCTIONS = """
x: torch.Tensor, y: torch.Tensor | None, z: list[torch.Tensor], dtype: torch.dtype = torch.float32 -> None
x: torch.Tensor, i: int, j: float = 1.5, k: bool = True, l: str = "abc", n: int | None = None -> tuple[torch.Tensor, int]
x: "torch.Tensor", *, r: int = 3, u: int | float | bool = 1, v: list[int] | None = None -> "Tensor"
x: Sequence[float], d: torch.device | None = None -> list[torch.Tensor]
x: torch.Tensor -> tuple[torch.Tensor]
x: torch.Tensor -> tuple[torch.Tensor, ...]
x: torch.Tensor -> dict
x -> torch.Tensor
x: dict -> torch.Tensor
x: "Tensor" -> torch.Tensor
x: "1 / 0" -> torch.Tensor
x: list[str] -> torch.Tensor
x: torch.Tensor, *args: int -> torch.Tensor
x: torch.Tensor = (1, 2) -> torch.Tensor
x: torch.Tensor
""".strip().split("\n")


def function(library, text):
    arguments, arrow, result = text.rpartition(" -> ") if " -> " in text else (text, "", "")
    space = {"torch": library, "Sequence": Sequence}
    exec(f"def f({arguments}){arrow}{result}: return x", space)
    return space["f"]


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).split("\nhint")[0].split(". The valid types")[0].split(" Got func")[
            0
        ].strip()


@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.parametrize("mutates_args", [(), ("x",), "unknown", ("q",)])
def test_schemas(text, mutates_args):
    def found(library):
        return outcome(lambda: library.library.infer_schema(function(library, text), mutates_args=mutates_args))

    theirs, ours = found(torch), found(rushlight)
    if isinstance(theirs, tuple) and "unsupported type" in theirs[1]:  # names the type, which is of another module
        assert theirs[1].split(" type ")[0] == ours[1].split(" type ")[0]
    else:
        assert theirs == ours


numbers = itertools.count()


def operation(library, body, fake="return torch.empty_like(x)", mutates_args=()):
    space = {"torch": library}
    exec(f"def f(x: torch.Tensor) -> torch.Tensor:\n    {body}\ndef fake(x):\n    {fake}", space)
    made = library.library.custom_op(f"checks::f{next(numbers)}", space["f"], mutates_args=mutates_args)
    if fake:
        made.register_fake(space["fake"])
    return made


@pytest.mark.parametrize(
    ("body", "fake", "test", "good"),
    [
        ("return x * 2", "return torch.empty_like(x)", "test_schema", True),
        ("x.add_(1); return x * 2", "return torch.empty_like(x)", "test_schema", False),
        ("return x", "return torch.empty_like(x)", "test_schema", False),
        ("return x.sum(0)", "return torch.empty_like(x)", "test_faketensor", False),
        ("return x.sum(0)", "return torch.empty_like(x[0])", "test_faketensor", True),
        ("return x.double()", "return torch.empty_like(x)", "test_faketensor", False),
    ],
)
def test_opcheck(body, fake, test, good):
    results = []
    for library in (torch, rushlight):
        made = operation(library, body, fake)
        found = library.library.opcheck(made, (library.ones(3, 2),), test_utils=test, raise_exception=False)
        results.append(found[test] == "SUCCESS")
    assert results == [good, good]


def test_opcheck_raises():
    made = operation(rushlight, "return x", "return torch.empty_like(x)")
    with pytest.raises(Exception, match="test_schema failed"):
        rushlight.library.opcheck(made, (rushlight.ones(2),))
    with pytest.raises(ValueError, match="Invalid test_utils"):
        rushlight.library.opcheck(made, (rushlight.ones(2),), test_utils="test_of_nothing")


def test_autocast():
    for library in (torch, rushlight):
        seen = []
        made = library.library.custom_op(
            f"checks::cast{next(numbers)}",
            lambda x: (seen.append((x.dtype, library.is_autocast_enabled("cpu"))), x.clone())[1],
            mutates_args=(),
            schema="(Tensor x) -> Tensor",
        )
        made.register_autocast("cpu", library.bfloat16)
        made(library.ones(2))
        with library.autocast("cpu"):
            made(library.ones(2))
            made(library.ones(2, dtype=library.int64))
        assert [(str(dtype), on) for dtype, on in seen] == [
            ("torch.float32", False),
            ("torch.bfloat16", False),
            ("torch.int64", False),
        ]


def test_what_has_no_meaning_here():
    with pytest.raises(RuntimeError, match="can only be called inside of a fake impl"):
        rushlight.library.get_ctx()
    with pytest.raises(NotImplementedError, match="kernels of Triton's"):
        rushlight.library.wrap_triton(len)
    made = operation(rushlight, "return x + 1")
    assert rushlight.library.get_kernel(made, "CPU")(rushlight.zeros(1)).item() == 1
