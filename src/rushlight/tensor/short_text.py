"""The text of short paths: for each operation the function of a call with plain tensors and plain values, as Python text of its own arity.

A function of ``*args, **kwargs`` takes longer to find out what it was given than many a small operation takes. So the
function of an operation that is called again and again is written out of its schema. That of ``mv`` reads

    def call(given0=MISSING, given1=MISSING, /, *rest, **options):
        left = len(options)
        if given1 is not MISSING:
            value1 = given1
        elif left and 'vec' in options:
            value1 = options['vec']
            left -= 1
        else:
            value1 = MISSING
        if INTERPOSERS or left or rest or given0.__class__ not in PLAIN_CLASSES or value1.__class__ not in PLAIN_CLASSES:
            return slow(*as_given(given0, given1), *rest, **options)
        array0 = given0._array
        array1 = value1._array
        found = quiet().run(forward, array0, array1)
        ...

and ends with what makes a Tensor of the result and, if an operand is tracked, a node. Arguments are checked for their exact
classes; anything else goes the general way, as it came. Debuggers and tracebacks show the text.
"""

from __future__ import annotations

import functools
import linecache

from ..base.user_code import PACKAGE
from ..kernels.routing import NEVER
from ..ops.table import VIEW

_CLASSES = {"int": "int", "bool": "bool", "float": "float", "str": "str", "dtype": "dtypes.DType", "positions": "tuple"}


def code_of(name, given, body):
    """The code of a short path: that of a closure on ``forward``, ``op`` and ``slow`` with this body."""
    head = f"    def call({''.join(f'{name}=MISSING, ' for name in given)}/, *rest, **options):"
    text = "\n".join(["def closure(forward, op, slow):", head, *(f"        {line}" for line in body)])
    return _shown(f"short path of {name}", text).replace(co_name=name, co_qualname=name)


def _shown(label, text):
    """The code of the innermost function of ``text``, which tracebacks show."""
    file = f"{PACKAGE}<{label}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return _compiled(text).replace(co_filename=file)


@functools.cache
def _compiled(text):
    code = compile(text, "<short path>", "exec")
    for _ in range(2):
        code = next(part for part in code.co_consts if hasattr(part, "co_code"))
    return code


# Of such a closure before its text is written: the rest of it has to refer to as many variables.
FIRST = _shown(
    "general path",
    """def closure(forward, op, slow):
    def call(*args, **kwargs):
        return slow(*args, **kwargs)
        forward, op""",
)


def text_of(op, schema, elements):
    """The names of the arguments given by place and the body of an operation's short path.

    The names that it calls are in short_paths.py. From ``elements`` of an operand on, the operation's kernel is asked.
    """
    parts = [Given(place, argument, schema) for place, argument in enumerate(schema.arguments)]
    tensors = [part for part in parts if part.is_tensor]
    spread = schema.varargs == 1  # every argument after the first is one of a row of ints, or there is one row
    given = [f"given{place}" for place in range(1 if spread else schema.positional)]
    conditions = ["INTERPOSERS", "left", *(() if spread else ("rest",)), *(c for part in parts for c in part.unfit())]
    values, arrays = (", ".join([getattr(part, form) for part in parts]) for form in ("value", "array"))
    tracked = " or ".join(part.tracked() for part in tensors)
    of_view = op.kind == VIEW and op.track is not None
    if of_view:
        conditions.append("state.recording > PLAIN")
    body = [
        "left = len(options)",
        *(line for part in parts[1:] for line in part.taken(spread)),
        f"if {' or '.join(conditions)}:",
        f"    {general_way(given)}",
        *(part.unwrapped() for part in tensors),
        *([f"found = forward({arrays})"] if of_view else _computed(tensors, arrays, elements)),
    ]
    if of_view:
        tie = "link" if schema.returns.strip() == "Tensor" else "link_several"
        rest = "".join(f"{part.value}, " for part in parts[1:])
        body += [f"return {tie}({parts[0].value}, found, op.track, ({rest}))"]
    elif op.kind == VIEW:
        body += ["if found.__class__ is ndarray:", f"    return link_result(op, [{values}], found, {tracked})"]
    elif schema.returns.strip() == "Tensor":
        body += [
            "if found.__class__ is ndarray:",
            "    result = new_tensor()",
            "    result._array, result._edge = found, None",
            f"    if ({tracked}) and state.recording:",
            f"        record_result(op, op.parsed, [{values}], result)",
            "    return result",
        ]
    else:
        body += [
            "if found.__class__ is tuple:",
            "    results = (*map(wrap, found),)",
            f"    if ({tracked}) and state.recording:",
            f"        record_results(op, op.parsed, [{values}], results)",
            "    return results",
        ]
    if not of_view:
        body += [f"return finish(op, op.parsed, [{values}], found)"]
    return given, body


def general_way(given):
    """The line that leaves a call as it came."""
    return f"return slow(*as_given({', '.join(given)}), *rest, **options)"


def _computed(tensors, arrays, elements):
    """The lines that compute ``found``: by the operation's kernel, where an operand is large, or by NumPy."""
    by_numpy = f"found = quiet().run(forward, {arrays})"
    if elements >= NEVER:
        return [by_numpy]
    large = " or ".join(part.large(elements) for part in tensors)
    return [
        f"found = kernel_of(op.name)({arrays}) if {large} else NotImplemented",
        "if found is NotImplemented:",
        f"    {by_numpy}",
    ]


class Given:
    """The text about one argument. ``value`` is what it calls it, ``array`` what forward gets."""

    def __init__(self, place, argument, schema):
        self.argument, self.type, self.is_tensor = argument, argument.type, argument.is_tensor
        self.given = f"given{place}" if place < schema.positional else None
        self.value = f"value{place}" if place else self.given
        self.array = f"array{place}" if self.is_tensor else self.value
        self.may_be_none = argument.optional or argument.default is None
        self.default = "MISSING" if argument.is_required else repr(argument.default)

    def taken(self, spread):
        """The lines that find the value, and count ``left`` down where it has a name."""
        value, key, lines = self.value, self.argument.name, []
        if self.argument.varargs:
            lines = ["if rest:", f"    {value} = rest[0] if len(rest) == 1 else rest"]
        elif self.given and not spread:
            lines = [f"if {self.given} is not MISSING:", f"    {value} = {self.given}"]
        lines += [f"{'elif' if lines else 'if'} left and {key!r} in options:"]
        lines += [f"    {value} = options[{key!r}]", "    left -= 1", "else:", f"    {value} = {self.default}"]
        if self.argument.is_int_list:
            repeated = ", ".join([value] * self.argument.repeat)
            lines += [f"if {value}.__class__ is int:", f"    {value} = ({repeated},)"]
            lines += [
                f"elif {value} is not None:" if self.may_be_none else "else:",
                f"    {value} = row_of_ints({value})",
            ]
        return lines

    def unfit(self):
        """The conditions under which the value goes the general way."""
        value = self.value
        if self.argument.is_int_list:
            return [f"{value} is MISSING"]
        if self.type == "Generator":  # what it stands for is not looked at here
            return [f"{value} is not {self.default}"]
        if self.type == "any":
            return [f"({value} is not {self.default} and {value}.__class__ not in UNREAD_CLASSES)"]
        if self.type in ("Operand", "Scalar"):
            usual = "not in PLAIN_CLASSES" if self.is_tensor else "is not float"
            found = f"({value}.__class__ {usual} and not fits_{self.type.lower()}({value}))"
        elif self.is_tensor:
            found = f"{value}.__class__ not in PLAIN_CLASSES"
        else:
            found = f"{value}.__class__ is not {_CLASSES[self.type]}"
        return [f"({value} is not None and {found})" if self.may_be_none else found]

    def unwrapped(self):
        """The line that takes the array out of a tensor."""
        found = f"{self.value}._array"
        if self.type == "Operand":
            found += f" if {self.value}.__class__ in PLAIN_CLASSES else {self.value}"
        elif self.may_be_none:
            found += f" if {self.value} is not None else None"
        return f"{self.array} = {found}"

    def tracked(self):
        """The condition that the tensor may need a gradient."""
        if self.type == "Operand":
            return f"getattr({self.value}, '_edge', None) is not None"
        found = f"{self.value}._edge is not None"
        return f"({self.value} is not None and {found})" if self.may_be_none else found

    def large(self, elements):
        """The condition that the tensor has so many elements."""
        if self.type == "Operand":
            return f"getattr({self.array}, 'size', 0) >= {elements}"
        found = f"{self.array}.size >= {elements}"
        return f"({self.array} is not None and {found})" if self.may_be_none else found
