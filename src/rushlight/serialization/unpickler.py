"""A data-only interpreter of pickle streams: a closed set of opcodes, no look-up of names, no call of anything.

A name in the stream becomes an inert ``Token`` out of a table; REDUCE, NEWOBJ and BUILD run our own constructors,
which the tokens carry. A name that the table does not hold is an error before anything else happens.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict, deque
from pickle import UnpicklingError

from ..base.device import device
from ..base.dtypes import DType
from ..base.size import Size
from .messages import malformed, refused, shorten, truncated
from .storages import Storage, StorageType

_MAX_NAME = 1024
_MAX_KEY_PARTS, _MAX_KEY_DEPTH = 10_000, 100
# Remembered items can be used many times, so what is made of them could be far more than the file: copies of short ones
# are free, of long ones about as much as the file may hold comes to.
_SHORT, _LEAST_COPIED = 64, 1 << 16
_SIZED = frozenset((str, bytes, bytearray, list, tuple, dict, set, frozenset, Size))
# Types whose objects may be hashed, as that runs Python's, NumPy's or our code. Other files add to it.
KEY_TYPES = {str, int, float, bool, bytes, complex, type(None), DType, device}
_MAPPINGS = frozenset((dict, OrderedDict, Counter, defaultdict))
_LISTS = frozenset((list, deque))


class Token:
    """A name that a stream may use, with what it stands for. It cannot be called.

    ``build(arguments)`` is our constructor for REDUCE, ``new(arguments)`` the one for NEWOBJ; either may be missing.
    ``value`` is what the name means when the stream holds it as plain data (the class Tensor, for one).
    """

    __slots__ = ("build", "name", "new", "value")

    def __init__(self, name, build=None, new=None, value=None):
        self.name, self.build, self.new, self.value = name, build, new, value

    def __repr__(self):
        return f"<the name {self.name}, as data>"


class Unpickler:
    """Reads one pickled object from a binary file.

    ``find(name)`` gives the Token or plain value of a dotted name, or raises; ``storage(claim)`` gives the storage
    behind a persistent id; ``set_state(object, state)`` is BUILD; ``size`` bounds what the stream may claim to hold;
    ``encoding`` is for the byte strings of Python 2.
    """

    def __init__(self, file, size, find, storage, set_state, encoding="utf-8"):
        self.file, self.size, self.encoding = file, size, encoding
        self.find, self.storage, self.set_state = find, storage, set_state
        self.stack, self.outer, self.memo = [], [], {}
        self.inert = {}  # id of a tuple with names or storages in it -> the tuple, and what it is once it is data
        self.copies = size + _LEAST_COPIED  # elements that may still be copied from one item to another

    def load(self):
        """The object. Errors: ``UnpicklingError`` for what is refused or malformed, ``EOFError`` for a cut stream."""
        read, operations = self.file.read, _OPERATIONS
        try:
            while True:
                code = read(1)
                if code == b".":
                    break
                if not code:
                    raise truncated()
                operation = operations.get(code)
                if operation is None:
                    raise refused(
                        f"WeightsUnpickler error: Unsupported operand {code[0]}",
                        "the stream uses an operation that data does not need, or is damaged",
                    )
                operation(self)
            if self.outer or len(self.stack) != 1:
                raise malformed("objects that nothing holds")
            return self.settle(self.stack.pop())
        except IndexError:
            raise malformed("an operation that lacks its operands") from None

    def take(self, count):
        """The next ``count`` bytes of the stream."""
        if count > self.size:
            raise truncated(f"an item claims {shorten(count)} bytes, more than the file has")
        data = self.file.read(count)
        if len(data) != count:
            raise truncated()
        return data

    def line(self):
        """A line of text, without its end."""
        data = self.file.readline(_MAX_NAME)
        if not data.endswith(b"\n"):
            if len(data) < _MAX_NAME:
                raise truncated()
            raise malformed("a name without an end")
        return _text(data[:-1])

    def items(self):
        """The items above the last mark, which is removed with them."""
        items = self.stack
        self.stack = self.outer.pop()
        return items

    def push_tuple(self, items):
        """Push a tuple, which is data or the parts of an object: names and storages in it mean themselves until then."""
        made = tuple(items)
        if any(type(item) in _INERT or (type(item) is tuple and id(item) in self.inert) for item in made):
            try:
                data = tuple(map(self.settle, made))
            except UnpicklingError as error:
                data = error
            self.inert[id(made)] = made, data
        self.stack.append(made)

    def settle(self, item):
        """What the stream's item is once it is data: a class name stands for its class, and others are refused."""
        if type(item) is tuple and id(item) in self.inert:
            data = self.inert[id(item)][1]
            if isinstance(data, UnpicklingError):
                raise data
            return data
        return _settled(item)

    def copied(self, parts):
        """Account for the parts of an object, which may hold copies of them."""
        for part in parts:
            if type(part) in _SIZED and len(part) > _SHORT:
                self.copies -= len(part)
                if self.copies < 0:
                    raise malformed(
                        "objects made of the same parts over and over, which take far more memory than the file"
                    )


_INERT = frozenset((Token, Storage, StorageType))


def _settled(item):
    if type(item) is Token:
        if item.value is None:
            raise refused(f"the name {item.name} stored as a value", "it is known only as a way to rebuild an object")
        return item.value
    if type(item) is Storage:
        raise refused("a storage stored as a value", "save tensors, not their storages")
    if type(item) is StorageType:
        raise refused(f"the type of storages {item.name} stored as a value", "save the dtype of its elements")
    return item


def check_key(key):
    """``UnpicklingError`` unless hashing the key is certain to be quick and to run none but Python's own code."""
    if type(key) in KEY_TYPES:
        return
    waiting, parts = [(key, 0)], 0
    while waiting:
        item, depth = waiting.pop()
        parts += 1
        kind = type(item)
        if kind is tuple or kind is Size or kind is frozenset:
            if depth >= _MAX_KEY_DEPTH or parts + len(item) > _MAX_KEY_PARTS:
                raise malformed("a dictionary key or set member that is nested too deep")
            waiting.extend((part, depth + 1) for part in item)
        elif kind not in KEY_TYPES and kind.__module__.partition(".")[0] != "pathlib":
            raise malformed(f"a dictionary key or set member of type {kind.__name__}")


def _text(data):
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise malformed("text that is not UTF-8") from None


# ---------------------------------------------------------------- operations, by opcode


def _sized(width, convert):
    """The operation that pushes ``convert(bytes)`` for a length of ``width`` bytes followed by that many bytes."""

    def operation(machine):
        count = int.from_bytes(machine.take(width), "little")
        machine.stack.append(convert(machine.take(count)))

    return operation


def _fixed(layout):
    """The operation that pushes a number of fixed layout."""
    packed = struct.Struct(layout)

    def operation(machine):
        machine.stack.append(packed.unpack(machine.take(packed.size))[0])

    return operation


def _constant(make):
    """The operation that pushes a new constant."""

    def operation(machine):
        machine.stack.append(make())

    return operation


def _tuple_of(count):
    def operation(machine):
        stack = machine.stack
        if len(stack) < count:
            raise IndexError
        items = stack[-count:]
        del stack[-count:]
        machine.push_tuple(items)

    return operation


def _skip(count):
    """A protocol number or frame length, which says nothing that matters here."""

    def operation(machine):
        machine.take(count)

    return operation


def _python2_string(width):
    def operation(machine):
        data = machine.take(int.from_bytes(machine.take(width), "little"))
        if machine.encoding == "bytes":
            machine.stack.append(data)
            return
        try:
            machine.stack.append(data.decode(machine.encoding))
        except (UnicodeDecodeError, LookupError) as error:
            raise refused(f"a Python 2 string is not {machine.encoding} ({error})", "try encoding='latin1'") from None

    return operation


def _mark(machine):
    machine.outer.append(machine.stack)
    machine.stack = []


def _pop(machine):
    if machine.stack:
        machine.stack.pop()
    else:
        machine.items()


def _pop_mark(machine):
    machine.items()


def _duplicate(machine):
    machine.stack.append(machine.stack[-1])


def _tuple(machine):
    items = machine.items()
    machine.push_tuple(items)


def _list(machine):
    items = machine.items()
    machine.stack.append([machine.settle(item) for item in items])


def _dict(machine):
    items = machine.items()
    target = {}
    _fill(machine, target, items)
    machine.stack.append(target)


def _frozenset(machine):
    items = machine.items()
    for item in items:
        check_key(item)
    machine.stack.append(frozenset(items))


def _append(machine):
    item = machine.stack.pop()
    _list_on_top(machine).append(machine.settle(item))


def _appends(machine):
    items = machine.items()
    _list_on_top(machine).extend(map(machine.settle, items))


def _list_on_top(machine):
    target = machine.stack[-1]
    if type(target) not in _LISTS:
        raise malformed(f"items appended to a {type(target).__name__}")
    return target


def _set_item(machine):
    value, key = machine.stack.pop(), machine.stack.pop()
    _fill(machine, machine.stack[-1], (key, value))


def _set_items(machine):
    items = machine.items()
    _fill(machine, machine.stack[-1], items)


def _fill(machine, target, items):
    if type(target) not in _MAPPINGS or len(items) % 2:
        raise malformed(f"keys and values put into a {type(target).__name__}")
    for index in range(0, len(items), 2):
        key = items[index]
        check_key(key)
        target[key] = machine.settle(items[index + 1])


def _add_items(machine):
    items = machine.items()
    target = machine.stack[-1]
    if type(target) is not set:
        raise malformed(f"members added to a {type(target).__name__}")
    for item in items:
        check_key(item)
        target.add(item)


def _put(width):
    def operation(machine):
        machine.memo[int.from_bytes(machine.take(width), "little")] = machine.stack[-1]

    return operation


def _get(width):
    def operation(machine):
        index = int.from_bytes(machine.take(width), "little")
        if index not in machine.memo:
            raise malformed(f"a reference to item {index}, which was not remembered")
        machine.stack.append(machine.memo[index])

    return operation


def _memoize(machine):
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _global(machine):
    module, name = machine.line(), machine.line()
    machine.stack.append(machine.find(module, name))


def _stack_global(machine):
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str or len(name) > _MAX_NAME or len(module) > _MAX_NAME:
        raise malformed("a global whose name is not text")
    machine.stack.append(machine.find(module, name))


def _reduce(machine):
    arguments, token = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(_construct(machine, token, arguments, "build", "reduce"))


def _new_object(machine):
    arguments, token = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(_construct(machine, token, arguments, "new", "newobj"))


def _new_object_with_keywords(machine):
    keywords = machine.stack.pop()
    if keywords != {}:
        raise refused("an object made with keyword arguments", "only plain data can be rebuilt")
    _new_object(machine)


def _construct(machine, token, arguments, way, operation):
    if type(token) is not Token or getattr(token, way) is None:
        what = token.name if type(token) is Token else shorten(token)
        raise refused(
            f"WeightsUnpickler error: Trying to call {operation} for unrecognized function {what}",
            "nothing in a checkpoint is called; known kinds of data only are rebuilt",
        )
    if type(arguments) is not tuple:
        raise malformed(f"the parts of {token.name} are not a tuple")
    machine.copied(arguments)
    return getattr(token, way)(arguments if way == "build" else tuple(map(machine.settle, arguments)))


def _build(machine):
    state = machine.stack.pop()
    machine.copied(state if type(state) is tuple else (state,))
    machine.set_state(machine.stack[-1], machine.settle(state))


def _persistent_id(machine):
    machine.stack.append(machine.storage(machine.stack.pop()))


def _integer(data):
    return int.from_bytes(data, "little", signed=True)


_OPERATIONS = {
    b"\x80": _skip(1), b"\x95": _skip(8), b"(": _mark, b"0": _pop, b"1": _pop_mark, b"2": _duplicate,
    b"N": _constant(lambda: None), b"\x88": _constant(lambda: True), b"\x89": _constant(lambda: False),
    b"]": _constant(list), b"}": _constant(dict), b")": _constant(tuple), b"\x8f": _constant(set),
    b"J": _fixed("<i"), b"K": _fixed("<B"), b"M": _fixed("<H"), b"G": _fixed(">d"),
    b"\x8a": _sized(1, _integer), b"\x8b": _sized(4, _integer),
    b"\x8c": _sized(1, _text), b"X": _sized(4, _text), b"\x8d": _sized(8, _text),
    b"C": _sized(1, bytes), b"B": _sized(4, bytes), b"\x8e": _sized(8, bytes), b"\x96": _sized(8, bytearray),
    b"U": _python2_string(1), b"T": _python2_string(4),
    b"t": _tuple, b"\x85": _tuple_of(1), b"\x86": _tuple_of(2), b"\x87": _tuple_of(3),
    b"l": _list, b"d": _dict, b"\x91": _frozenset, b"\x90": _add_items,
    b"a": _append, b"e": _appends, b"s": _set_item, b"u": _set_items,
    b"q": _put(1), b"r": _put(4), b"h": _get(1), b"j": _get(4), b"\x94": _memoize,
    b"c": _global, b"\x93": _stack_global, b"R": _reduce, b"\x81": _new_object, b"\x92": _new_object_with_keywords,
    b"b": _build, b"Q": _persistent_id,
}  # fmt: skip
