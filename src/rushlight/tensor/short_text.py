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
            return slow(given0, given1, *rest, **options) if given1 is not MISSING else slow(*as_given(given0, given1), **options)
        array0 = given0._array
        array1 = value1._array
        if LAZY and (is_unusual(array0) or is_unusual(array1)):
            return slow(given0, given1, *rest, **options) if given1 is not MISSING else slow(*as_given(given0, given1), **options)
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
from ..ops.table import CREATE, INPLACE, VIEW

_CLASSES = {"int": "int", "bool": "bool", "float": "float", "str": "str", "dtype": "dtypes.DType", "positions": "tuple"}
_NAMED = "forward, op, slow"  # behind what is run: Python asks for as many variables of a closure as it was made with


def code_of(name, given, body):
    """The code of a short path: that of a closure on ``forward``, ``op`` and ``slow`` with this body."""
    head = f"    def call({''.join(f'{name}=MISSING, ' for name in given)}{'/, ' if given else ''}*rest, **options):"
    fails = [
        "except Exception:",
        f"    refuse_failed('{name}', as_given({', '.join(given)}), rest, options)",
        "    raise",
    ]
    lines = ["try:", *(f"    {line}" for line in body), *fails, _NAMED]
    text = "\n".join(["def closure(forward, op, slow):", head, *(f"        {line}" for line in lines)])
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


# The code of such a closure before its text is written.
FIRST = _shown(
    "general path",
    f"""def closure(forward, op, slow):
    def call(*args, **kwargs):
        return slow(*args, **kwargs)
        {_NAMED}""",
)


def text_of(op, schema, elements, entry=None):
    """The names of the arguments given by place and the body of an operation's short path, or of that of ``entry``, a composite.

    The names that it calls are in short_paths.py. From ``elements`` of an operand on, the operation's kernel is asked.
    """
    given, parts, leave = arguments_of(schema, entry)
    spread = () if schema.varargs is not None else ("rest",)
    conditions = ["INTERPOSERS", "left", *spread, *(condition for part in parts for condition in part.unfit())]
    if op.kind == CREATE:
        conditions += [
            "tracked.__class__ is not bool",
            "(DEFAULTS and ('device' not in options or options['device'] is None))",
        ]
    if op.kind == VIEW and op.track is not None:
        conditions.append("((recording := state.recording) > PLAIN and given0._edge is not None)")
    body = [
        "left = len(options)",
        *(line for part in parts for line in part.taken()),
        *(_ASKED_OF_NEW_ONES if op.kind == CREATE else ()),
        f"if {' or '.join(conditions)}:",
        f"    {leave}",
    ]
    tensors = [part for part in parts if part.is_tensor]
    body += [*_unwrapped(op, tensors, leave), *fitting(entry, leave)]
    return given, body + _FINISHES.get(op.kind, _result)(op, schema, parts, leave, elements)


def arguments_of(schema, entry=None):
    """The names of the arguments given by place, all arguments, and the line that leaves the path."""
    count = (
        schema.positional if schema.varargs is None else schema.varargs
    )  # behind it stand the items of a row of ints
    if entry is not None and schema.varargs is None:
        count = min(count, entry.function.__code__.co_argcount)
    given = [f"given{place}" for place in range(count)]
    leave = general_way(given)
    return (
        given,
        [Given(place, each, count, leave, entry is None) for place, each in enumerate(schema.arguments)],
        leave,
    )


def fitting(entry, leave):
    """The lines that leave the short path of a composite for calls that are not its operation's."""
    return [] if entry is None or entry.fits is None else [f"if not ({entry.fits}):", f"    {leave}"]


# What creations are told beside their own arguments.
_ASKED_OF_NEW_ONES = """\
tracked = False
if left and 'device' in options and options['device'].__class__ in DEVICE_CLASSES:
    if check_device(options['device']) is CPU:
        left -= 1
if left and 'requires_grad' in options:
    tracked = options['requires_grad']
    left -= 1""".splitlines()


def _created(op, schema, parts, leave, elements):
    """The lines that make a new Tensor."""
    return [
        "result = new_tensor()",
        f"result._array, result._edge = quiet().run(forward, {_row(parts, 'value')}), None",
        "return require_grad(result) if tracked else result",
    ]


def _written(op, schema, parts, leave, elements):
    """The lines that write into the first tensor, where nothing is recorded."""
    tensors = [part for part in parts if part.is_tensor]
    tracked = " or ".join(f"({part.tracked()} and is_tracked({part.value}._edge))" for part in tensors)
    return [
        f"if ({tracked}) and state.recording:",
        f"    {leave}",
        *_computed(tensors, _row(parts, "array"), elements),
        f"bump(given0, {op.name!r})",
        "return given0",
    ]


def _viewed(op, schema, parts, leave, elements):
    """The lines that make Tensors of what looks into the memory of the first."""
    tensors, arrays = [part for part in parts if part.is_tensor], _row(parts, "array")
    if op.track is not None:
        tie = "link" if schema.returns.strip() == "Tensor" else "link_several"
        rest = "".join(f"{part.value}, " for part in parts[1:])
        return [f"return {tie}(given0, forward({arrays}), op.track, ({rest}), recording)"]
    values, tracked = _row(parts, "value"), " or ".join(part.tracked() for part in tensors)
    return [
        *_computed(tensors, arrays, elements),
        "if found.__class__ is ndarray:",
        f"    return link_result(op, [{values}], found, {tracked})",
        f"return finish(op, op.parsed, [{values}], found)",
    ]


def _result(op, schema, parts, leave, elements):
    """The lines that compute and make a Tensor of the result, or several, and a node where an operand is tracked."""
    tensors, values = [part for part in parts if part.is_tensor], _row(parts, "value")
    tracked = " or ".join(part.tracked() for part in tensors)
    if schema.returns.strip() == "Tensor":
        wrapped = [
            "if found.__class__ is ndarray:",
            "    result = new_tensor()",
            "    result._array, result._edge = found, None",
            f"    if ({tracked}) and state.recording:",
            f"        record_result(op, op.parsed, [{values}], result)",
            "    return result",
        ]
    else:
        wrapped = [
            "if found.__class__ is tuple:",
            "    results = (*map(wrap, found),)",
            f"    if ({tracked}) and state.recording:",
            f"        record_results(op, op.parsed, [{values}], results)",
            "    return results",
        ]
    return [
        *_computed(tensors, _row(parts, "array"), elements),
        *wrapped,
        f"return finish(op, op.parsed, [{values}], found)",
    ]


def _unwrapped(op, tensors, leave):
    """The lines that name the arrays, and leave lazy and stored ones and those of a dtype that PyTorch's kernel lacks."""
    lines = [part.unwrapped() for part in tensors]
    if tensors:
        unusual = " or ".join([f"is_unusual({part.array})" for part in tensors])
        lines += [f"if LAZY and ({unusual}):", f"    {leave}"]
    if op.refuse and tensors:
        lines += [f"if {tensors[0].array}.dtype.char in op.refused_letters:", f"    {leave}"]
    return lines


_FINISHES = {CREATE: _created, INPLACE: _written, VIEW: _viewed}


def _row(parts, form):
    return ", ".join([getattr(part, form) for part in parts])


def general_way(given):
    """The line that leaves a call as it came."""
    if not given:
        return "return slow(*rest, **options)"
    names = ", ".join(given)
    whole = f"slow({names}, *rest, **options) if {given[-1]} is not MISSING"
    return f"return {whole} else slow(*as_given({names}), **options)"


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

    def __init__(self, place, argument, count, leave, named):
        self.leave, self.named = leave, named  # where to go, and whether it may be given by name
        self.argument, self.type, self.is_tensor = argument, argument.type, argument.is_tensor
        self.given = f"given{place}" if place < count else None
        self.is_first = place == 0 and self.is_tensor  # not looked for among names
        self.value = self.given if self.is_first else f"value{place}"
        self.array = f"array{place}" if self.is_tensor else self.value
        self.may_be_none = argument.optional or argument.default is None
        self.default = "MISSING" if argument.is_required else repr(argument.default)

    def taken(self):
        """The lines that find the value, and count ``left`` down where it has a name."""
        value, key, lines = self.value, self.argument.name, []
        if self.is_first:
            return lines
        if self.argument.varargs:
            lines = ["if rest:", f"    {value} = rest[0] if len(rest) == 1 else rest"]
        elif self.given:
            lines = [f"if {self.given} is not MISSING:", f"    {value} = {self.given}"]
        if self.named:
            lines += [f"{'elif' if lines else 'if'} left and {key!r} in options:"]
            lines += [f"    {value} = options[{key!r}]", "    left -= 1"]
        lines += ["else:", f"    {value} = {self.default}"] if lines else [f"{value} = {self.default}"]
        if self.argument.is_int_list:
            lines += self._row()
        return lines

    def _row(self):
        """The lines that make a tuple of the value, or of an int, and leave for what holds anything but ints."""
        value, repeat = self.value, self.argument.repeat
        row = [
            f"if {value}.__class__ is not tuple:",
            f"    {value} = row_of({value})",
            f"for item in {value}:",
            "    if item.__class__ is not int:",
            f"        {self.leave}",
        ]
        if repeat:
            one = f"{value} = ({', '.join([value] * repeat)},)"
            row = [f"if {value}.__class__ is int:", f"    {one}", "else:", *(f"    {line}" for line in row)]
        return [f"if {value} is not None:", *(f"    {line}" for line in row)] if self.may_be_none else row

    def unfit(self):
        """The conditions under which the value goes the general way."""
        value = self.value
        if self.argument.is_int_list:
            return []
        if self.type == "Generator":  # what it stands for is not looked at here
            return [f"{value} is not {self.default}"]
        if self.type == "any" and self.argument.default.__class__ is float:  # a number, or what is told apart later
            return [f"{value}.__class__ is not float"]
        if self.type == "any":
            return [f"({value} is not {self.default} and {value}.__class__ not in UNREAD_CLASSES)"]
        if self.type in ("Operand", "Scalar", "Endpoint"):
            usual = "not in PLAIN_CLASSES" if self.is_tensor else "is not float"
            numbers = f" and {value}.__class__ not in OTHER_NUMBERS" * (self.type == "Operand")
            beyond = f"({value}.__class__ is not int or not LOWEST_WORD <= {value} < WORDS_END)"  # of 64 bits
            found = f"({value}.__class__ {usual}{numbers} and {beyond})"
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
            return f"({self.value}.__class__ in PLAIN_CLASSES and {self.value}._edge is not None)"
        found = f"{self.value}._edge is not None"
        return f"({self.value} is not None and {found})" if self.may_be_none else found

    def large(self, elements):
        """The condition that the tensor has so many elements."""
        if self.type == "Operand":
            return f"({self.value}.__class__ in PLAIN_CLASSES and {self.array}.size >= {elements})"
        found = f"{self.array}.size >= {elements}"
        return f"({self.array} is not None and {found})" if self.may_be_none else found
