"""Operators between tensors and values of any kind, against PyTorch: results, or the type and first line of the error."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
VALUES = {
    "array": lambda m: np.ones(2, np.float32),
    "array of ints": lambda m: np.ones(2, np.int64),
    "0-dim array": lambda m: np.array(2.0),
    "NumPy float": lambda m: np.float32(2),
    "NumPy int": lambda m: np.int64(2),
    "NumPy bool": lambda m: np.bool_(True),
    "None": lambda m: None,
    "list": lambda m: [1, 2],
    "tuple": lambda m: (1, 2),
    "str": lambda m: "a",
    "bytes": lambda m: b"a",
    "dict": lambda m: {},
    "set": lambda m: {1},
    "module": lambda m: m.nn.Linear(1, 1),
    "class": lambda m: int,
    "object": lambda m: object(),
    "slice": lambda m: slice(1),
    "bool": lambda m: True,
    "int": lambda m: 2,
    "large int": lambda m: 2**70,
    "float": lambda m: 2.5,
}


def outcome(module, code, dtype, value):
    names = {"x": module.tensor([1, 2], dtype=getattr(module, dtype)), "o": VALUES[value](module)}
    try:
        found = eval(code, names)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0].split(" at 0x")[0]
    if found is NotImplemented:
        return "NotImplemented"
    return type(found).__name__, found.tolist() if hasattr(found, "tolist") else found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", VALUES)
def test_operators(value):
    for symbol, name in SYMBOLS.items():
        codes = [f"x {symbol} o", f"o {symbol} x", f"x.__{name}__(o)"]
        if not name.endswith(("eq", "ne", "t")) or name.endswith("shift"):
            codes += [f"x.__r{name}__(o)", f"x.__i{name}__(o)" if name != "matmul" else codes[0]]
        for code in codes:
            for dtype in ("float32", "int64"):
                assert outcome(rl, code, dtype, value) == outcome(torch, code, dtype, value), code


@pytest.mark.parametrize("value", ["array", "list", "None"])
@pytest.mark.parametrize("name", ["matmul", "add", "mul", "eq", "lt", "mm", "dot", "bitwise_and"])
def test_functions_raise(name, value):
    """NotImplemented is for operators alone."""
    for function in (getattr(rl, name), getattr(rl.Tensor, name)):
        with pytest.raises(TypeError):
            function(rl.ones(2), VALUES[value](rl))
