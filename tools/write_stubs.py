"""Writes the stubs of what is made from the op table: ``python tools/write_stubs.py``.

Functions of the table, their methods and named results exist only at run time: the stubs written here tell type checkers and editors of
them. All other modules are read as they are. A test compares what lies in the tree with what this would write now.
"""

import ast
import inspect
import keyword
import re
import sys
from pathlib import Path

import stub_types
from stub_frames import FACE, FUNCTIONS_HEAD, METHODS_OF_ITS_OWN, TENSOR_HEAD, TENSOR_TAIL

import rushlight
from rushlight.base.device import layout, memory_format
from rushlight.base.dtypes import DType
from rushlight.ops import signatures
from rushlight.ops.schema import Schema
from rushlight.ops.table import COMPOSITES, Composite, Described, InplaceForm, Op
from rushlight.return_types import _FIELDS
from rushlight.tensor.names import make_all

SOURCE = Path(__file__).parent.parent / "src" / "rushlight"
NAMESPACES = {
    "nn/functional/__init__": "nn.functional",
    "special": "special",
    "linalg": "linalg",
    "fft": "fft",
    "masked/__init__": "masked",
}
# Of those modules, the names that are annotated where they are defined.
IMPORTED = {
    "linalg": {"LinAlgError": "rushlight.ops.linalg.checks"},
    "masked": dict.fromkeys(
        ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"), "rushlight.masked.tensors"
    ),
}
SCHEMA_TYPES = {
    "Tensor": "Tensor", "Operand": "Operand", "Tensor[]": "Tensors", "int": "int", "int[]": "int | ints", "float": "float", "bool": "bool",
    "str": "str", "Scalar": "Number", "Endpoint": "Number | Tensor", "dtype": "dtype", "Generator": "Generator", "any": "Any", "positions": "Any",
}  # fmt: skip
make_all()
COMPOSITE_OF = {
    each: entry
    for entry in COMPOSITES.values()
    for each in (entry.function, *entry.function.__dict__.get("copies", ()))  # those known by other names
}
# Names of types that functions, methods and dtypes hide: stubs write them with an underscore.
HIDDEN = """
    bool complex float int str type dtype layout memory_format device Device Generator Size Number Operand Tensors ints Any Callable
    Literal NoReturn Sequence ndarray return_types RemovableHandle Explanation F T
"""
_HIDDEN = re.compile(rf"(?<![\w.\"'])({'|'.join(HIDDEN.split())})\b(?!\s*:|\s*=|')")


def hidden(kind):
    """A type as stubs write it."""
    return _HIDDEN.sub(r"_\1", kind)


def entry_of(function):
    """The entry of the op table behind a function; None where it is a plain one."""
    found = function.__dict__.get("__wrapped__")
    if found is None or isinstance(found, Described):
        return found or COMPOSITE_OF.get(function)
    return entry_of(found)  # what a guard stands around


def names_of(function):
    """The names under which `stub_types` may know a function, the best first."""
    entry = entry_of(function)
    names = [] if entry is None else [entry.name, *([entry.entry.name] if isinstance(entry, InplaceForm) else [])]
    return [*names, function.__name__, function.__qualname__.rpartition(".")[2]]


def type_of(function, parameter):
    """The type of a plain function's parameter, by its name."""
    known = [f"{name}.{parameter.name}" for name in names_of(function)]
    kind = next((stub_types.PARTICULAR[name] for name in known if name in stub_types.PARTICULAR), None)
    if kind is None and parameter.kind is parameter.VAR_POSITIONAL:
        kind = stub_types.ROWS.get(parameter.name)
    kind = kind or stub_types.TYPES.get(parameter.name)
    if kind is None:
        raise KeyError(f"stub_types.py has no type for {parameter.name!r} of {function.__qualname__}")
    return kind + " | None" * (parameter.default is None and kind != "Any" and "None" not in kind)


def return_of(function):
    """What a plain function returns."""
    for name in names_of(function):
        if name in stub_types.RETURNS:
            return stub_types.RETURNS[name]
        if name in _FIELDS:
            return f"return_types.{name}"
        if re.match(r"is_(?!n|contiguous_)|is_neg|is_nonzero|is_inference", name):
            return "bool"
    return "Tensor"


def shown(value):
    """A default as a stub shows it."""
    if isinstance(value, (layout, memory_format, DType)):
        return repr(value).removeprefix("torch.")
    return (
        repr(value)
        if isinstance(value, (int, float, str, type(None), tuple)) and "object" not in repr(value)
        else "..."
    )


def of_schema(entry):
    """The types of an operation's arguments by name, and its result."""
    schema = entry.__dict__.get("parsed") or Schema(entry.schema)
    types = {
        "out": "Tensor | None",
        "layout": "layout | None",
        "device": "Device",
        "requires_grad": "bool",
        "pin_memory": "bool",
    }
    for argument in schema.arguments:
        kind = re.sub(r"\d+", "", argument.type)
        name = signatures.NAMES.get(argument.name, argument.name)
        own = stub_types.PARTICULAR.get(f"{entry.name}.{name}") or SCHEMA_TYPES[kind]
        may_be_none = argument.optional or (argument.type == "any" and argument.default is None)
        types[name] = "int" if argument.varargs else own + " | None" * may_be_none
    results = schema.returns.strip()
    if entry.name in stub_types.RETURNS:
        results = stub_types.RETURNS[entry.name]
    elif results == "Tensor[]":
        results = "tuple[Tensor, ...]"
    elif results.startswith("("):
        results = f"tuple[{results[1:-1]}]"
    return types, results


def forms(function, method=False):
    """The signatures of a function or method, as (parameters, types by name, result); parameters are those of `inspect`."""
    entry = entry_of(function)
    base = entry.entry if isinstance(entry, InplaceForm) else entry
    if isinstance(base, Composite) and base.name in signatures.OVERLOADS:
        for form in signatures.overloads(base.name):
            arguments = [
                *form.args.posonlyargs,
                *form.args.args,
                *form.args.kwonlyargs,
                form.args.vararg,
                form.args.kwarg,
            ]
            types = {a.arg: ast.unparse(a.annotation) for a in arguments if a is not None}
            parameters = [p for p in signatures.parameters_of(form) if not (method and p.name == "out")]
            yield parameters, types, ast.unparse(form.returns)
        return
    parameters = list(inspect.signature(function).parameters.values())
    if isinstance(base, Op):
        yield from forms_of_schema(base, parameters, method)
        return
    types = {p.name: "Any" if p.kind is p.VAR_KEYWORD else type_of(function, p) for p in parameters}
    yield from forms_of_composite(parameters, types, return_of(function))


def forms_of_composite(parameters, types, result):
    """The signatures of a Python function: lengths are given one by one or as one sequence; some also return places."""
    rows = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    choice = next((p for p in parameters if p.name == "return_indices" and p.default is False), None)
    if rows and types[rows[0].name] == "int":
        place = parameters.index(rows[0])
        one = inspect.Parameter(rows[0].name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        yield parameters, types, result
        yield [*parameters[:place], one, *parameters[place + 1 :]], types | {one.name: "ints"}, result
    elif choice is not None:
        yield parameters, types | {choice.name: "Literal[False]"}, "Tensor"
        place = parameters.index(choice)
        behind = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters[place:]]
        behind[0] = behind[0].replace(default=inspect.Parameter.empty)
        yield [*parameters[:place], *behind], types | {choice.name: "Literal[True]"}, "tuple[Tensor, Tensor]"
    else:
        yield parameters, types, result


def forms_of_schema(entry, parameters, method):
    """The signatures of an operation: lengths and dimensions are given one by one, as one sequence, or either way."""
    types, result = of_schema(entry)
    schema = entry.__dict__.get("parsed") or Schema(entry.schema)
    if schema.varargs is None:
        yield parameters, types, result
        return
    row = next(p for p in parameters if p.name == schema.arguments[schema.varargs].name)
    place = parameters.index(row)
    if method or row.kind is row.VAR_POSITIONAL:
        spread = inspect.Parameter(row.name, inspect.Parameter.VAR_POSITIONAL)
        yield [*parameters[:place], spread, *parameters[place + 1 :]], types, result
    one = inspect.Parameter(row.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    yield [*parameters[:place], one, *parameters[place + 1 :]], types | {row.name: "ints"}, result


def head(name, parameters, types, result, method=False):
    """One ``def`` line."""
    parts, star = [], False
    for place, parameter in enumerate(parameters):
        text = parameter.name + "_" * keyword.iskeyword(parameter.name)
        if method and place == 0:
            parts.append("self")
            continue
        kind = hidden(types[parameter.name])
        if parameter.kind is parameter.VAR_POSITIONAL:
            text, star = "*" + text, True
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = "**" + text
        elif parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = "" if parameter.default is parameter.empty else f" = {hidden_default(shown(parameter.default))}"
        parts.append(f"{text}: {kind}{default}")
    return f"def {name}({', '.join(parts)}) -> {hidden(result)}: ..."


def hidden_default(text):
    return "..." if text in ("strided", "preserve_format", "contiguous_format") else text


def stub_of(name, function, method=False):
    """The lines of a function's or method's stub."""
    found = [head(name, *form, method=method) for form in forms(function, method)]
    found = list(dict.fromkeys(found))
    return found if len(found) == 1 else [line for form in found for line in ("@_overload", form)]


def public_functions(namespace):
    return {
        name: value
        for name, value in sorted(namespace.items())
        if inspect.isfunction(value) and not name.startswith("_")
    }


def return_types_stub():
    lines = ['"""The named tuples that operations return. Written by tools/write_stubs.py."""', "", "from typing import NamedTuple", "",
             "from .tensor.base import Tensor", ""]  # fmt: skip
    for name, fields in sorted(_FIELDS.items()):
        kinds = [f"    {field}: {'Tensor'}" for field in fields.split()]
        lines += ["", f"class {name}(NamedTuple):", *kinds]
    return "\n".join(lines) + "\n"


def functions_stub(title, namespace, extra=()):
    lines = [f'"""{title}. Written by tools/write_stubs.py."""', "", FUNCTIONS_HEAD, *extra, ""]
    for name, function in public_functions(namespace).items():
        lines += stub_of(name, function)
    return "\n".join(lines) + "\n"


def tensor_stub():
    own = {
        line.split("(")[0].split()[-1] for line in METHODS_OF_ITS_OWN.splitlines() if line.strip().startswith("def ")
    }
    lines = ['"""The Tensor with all its methods. Written by tools/write_stubs.py."""', "", FUNCTIONS_HEAD.replace("from rushlight.tensor.base import Tensor\n", ""),
             TENSOR_HEAD.rstrip(), METHODS_OF_ITS_OWN.rstrip()]  # fmt: skip
    for name, value in sorted(vars(rushlight.Tensor).items()):
        if inspect.isfunction(value) and not name.startswith("_") and name not in own:
            lines += ["    " + line for line in stub_of(name, value, method=True)]
    return "\n".join(lines) + "\n\n" + TENSOR_TAIL


def face_stub():
    functions = {name: getattr(rushlight, name) for name in dir(rushlight)}
    found = public_functions(functions)
    lines = [
        '"""The face of the package. Written by tools/write_stubs.py."""',
        "",
        FUNCTIONS_HEAD.replace("import Tensor\n", "import Tensor as Tensor\n"),
        FACE,
    ]
    for name, function in found.items():
        if re.search(rf"\b{name} as {name}\b", FACE):
            continue
        lines += stub_of(name, function)
    return "\n".join(lines) + "\n"


def stubs():
    """The text of every stub, by its path in the package without the ending."""
    made = {"return_types": return_types_stub(), "tensor/base": tensor_stub(), "__init__": face_stub()}
    for path, name in NAMESPACES.items():
        module = rushlight
        for part in name.split("."):
            module = getattr(module, part)
        imported = IMPORTED.get(name, {})
        extra = [f"from {imported[each]} import {each} as {each}" for each in imported]
        found = {each: getattr(module, each) for each in dir(module) if each not in imported}
        made[path] = functions_stub(f"``torch.{name}``", found, extra)
    return made


def main():
    for path, text in stubs().items():
        (SOURCE / f"{path}.pyi").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
