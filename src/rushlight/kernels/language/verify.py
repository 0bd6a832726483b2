"""The verifier: what must hold for a loop program to have a meaning. Run on every program before it is emitted."""

from __future__ import annotations

import re

from .effects import Effects
from .instructions import OPCODES, mask_type, result_type
from .text import describe
from .value_types import BOOL, I64
from .value_types import pointer as pointer_to

_REDUCTIONS = ("add", "mul", "min", "max", "and", "or")
_OPERANDS = {  # the fewest and the most
    **dict.fromkeys(("constant", "worker", "iota"), (0, 0)),
    **dict.fromkeys(("tiles_begin", "tiles_end", "tile_zero", "tile_multiply"), (0, 0)),
    **dict.fromkeys(("tile_load", "tile_store"), (2, 2)),
    **dict.fromkeys(("if", "parallel", "prefetch", "reinterpret", "splat", "extract", "reduce"), (1, 1)),
    **dict.fromkeys(("offset", "shuffle", "compress"), (2, 2)),
    "load": (1, 2),
    "store": (2, 3),
    "gather": (2, 3),
    "scatter": (3, 4),
    "loop": (3, 10**9),
    "call": (0, 10**9),
}
_ATTRIBUTES = {
    "constant": ["value"],
    "call": ["function"],
    "extract": ["lane"],
    "shuffle": ["lanes"],
    "reduce": ["by"],
    "reinterpret": ["to"],
    **dict.fromkeys(("tile_zero", "tile_load", "tile_store"), ("tile",)),
    "tile_multiply": ["tile", "a", "b"],
}
_TILES = 8  # registers of the tile unit
_NAME = re.compile(r"[A-Za-z_]\w*")


class ProgramError(ValueError):
    """A program breaks a rule: the message names the function, the instruction and what is wrong with it."""


class _Broken(Exception):
    """What is wrong with the instruction at hand."""


def verify(program):
    """Check a program and return it. Raises ProgramError.

    Every value is defined once, before it is used, in the block of its use or around it; operands and results have the
    types that instructions.py asks for; blocks hand back what their owner expects; calls go to functions before;
    ``parallel`` and ``worker`` stand in the entry function alone, worker within parallel, no parallel within another.

    The code of the entry outside of ``parallel`` is run by every thread, so it writes no memory and reads none that the
    program writes. (Parameters count as different memory: that overlapping buffers come from the caller is his to know.)
    """
    if not program.functions:
        raise ProgramError("a program needs a function")
    earlier, effects = {}, {}
    for function in program.functions:
        if not _NAME.fullmatch(function.name) or function.name in earlier:
            raise ProgramError(f"function {function.name}: names are words, and each is used once")
        _Checker(program, function, earlier).check()
        earlier[function.name] = function
        effects[function.name] = Effects(function, effects)
    _check_shared_code(program, effects[program.entry.name])
    return program


def _error(program, function, instruction, problem):
    where = "" if instruction is None else f"`{describe(function, instruction, program)}`: "
    return ProgramError(f"function {function.name}: {where}{problem}")


def _check_shared_code(program, effects):
    """Outside of ``parallel``, the entry writes nothing and reads nothing that is written anywhere."""
    pending = list(program.entry.body.instructions)
    for instruction in pending:
        if instruction.opcode == "parallel":
            continue
        for block in instruction.blocks:
            pending.extend(block.instructions)
        if effects.written_by(instruction):
            raise _error(program, program.entry, instruction, "writes memory outside of parallel")
        shared = effects.read_by(instruction) & effects.writes
        if shared:
            name = program.entry.parameters[min(shared)[0]].name
            problem = f"reads memory outside of parallel that the program writes (through {name})"
            raise _error(program, program.entry, instruction, problem)


def _require(condition, problem, *details):
    """Raise unless the condition holds; the details are put into the problem's braces, only then."""
    if not condition:
        raise _Broken(problem.format(*details))


def _element(type):
    """The type of one element of a scalar, vector or pointer type."""
    return type if type.is_pointer else type.with_lanes(1)


def _types(values):
    return tuple([v.type for v in values])


def _listed(types):
    return ", ".join(map(str, types)) or "nothing"


class _Checker:
    """Checks one function."""

    def __init__(self, program, function, earlier):
        self.program, self.function, self.earlier = program, function, earlier
        self.is_entry = function is program.entry
        self.visible, self.order, self.defined = set(), [], set()
        self.in_parallel = False

    def check(self):
        function = self.function
        try:
            for parameter in function.parameters:
                self._define(parameter)
                vector = self.is_entry and parameter.type.is_vector
                _require(not vector, "parameter {} of the entry is a vector", parameter.name)
            self._block(function.body, 0)
            yields = function.body.yields
            _require(not (self.is_entry and yields), "the entry returns nothing")
            _require(len(yields) < 2, "returns {} values; one is the most", len(yields))
            _require(not any(v.type.is_pointer for v in yields), "returns a pointer")
        except _Broken as broken:
            raise _error(self.program, function, None, broken) from None

    # ---- values and blocks

    def _define(self, value):
        _require(value not in self.defined, "a value is defined twice")
        self.defined.add(value)
        self.visible.add(value)
        self.order.append(value)

    def _use(self, values):
        if not self.visible.issuperset(values):
            missing = next(v for v in values if v not in self.visible)
            ended = missing in self.defined
            problem = "uses a value of a block that has ended" if ended else "uses a value that is not defined"
            raise _Broken(f"{problem} ({missing.type})")

    def _block(self, block, arguments):
        """Check a block; what it defines is visible in it alone."""
        outer = len(self.order)
        _require(
            len(block.arguments) == arguments, "its block has {} arguments, not {}", len(block.arguments), arguments
        )
        for argument in block.arguments:
            self._define(argument)
        for instruction in block.instructions:
            try:
                self._instruction(instruction)
            except _Broken as broken:
                raise _error(self.program, self.function, instruction, broken) from None
        self._use(block.yields)
        self.visible.difference_update(self.order[outer:])
        del self.order[outer:]

    def _instruction(self, instruction):
        opcode, operands = instruction.opcode, instruction.operands
        self._use(operands)
        if opcode in OPCODES:
            try:
                expected = result_type(opcode, _types(operands), instruction.attributes)
            except (TypeError, KeyError) as error:
                raise _Broken(str(error)) from None
            self._results(instruction, expected)
        else:
            check = getattr(self, f"_check_{opcode}", None)
            _require(check is not None, "there is no instruction '{}'", opcode)
            fewest, most = _OPERANDS[opcode]
            if not fewest <= len(operands) <= most:
                expected = fewest if fewest == most else f"{fewest} or more" if most > 4 else f"{fewest} or {most}"
                raise _Broken(f"takes {expected} operands, not {len(operands)}")
            for name in _ATTRIBUTES.get(opcode, ()):
                _require(name in instruction.attributes, "lacks the attribute '{}'", name)
            check(instruction, *operands)
        for result in instruction.results:
            self._define(result)

    def _results(self, instruction, *expected):
        found = _types(instruction.results)
        if found != expected:
            raise _Broken(f"defines {_listed(found)}, should define {_listed(expected)}")

    def _result(self, instruction):
        """The type of the only result, for instructions whose result decides what they do."""
        _require(len(instruction.results) == 1, "should define one value")
        return instruction.results[0].type

    # ---- structure

    def _check_constant(self, instruction):
        type, value = self._result(instruction), instruction.attributes["value"]
        _require(not type.is_pointer, "there are no constant pointers")
        numbers = value if isinstance(value, tuple) else (value,) * type.lanes
        _require(len(numbers) == type.lanes, "{} numbers for {} lanes", len(numbers), type.lanes)
        if type.is_integer:
            bits = 8 * type.size
            fits = all(n == n // 1 and -(2 ** (bits - 1)) <= n < 2**bits for n in set(numbers))
            _require(fits, "{} is no {}", value, type)

    def _check_loop(self, instruction, *operands):
        for operand in operands[:3]:
            _require(operand.type is I64, "counts in i64, not {}", operand.type)
        block, carried = instruction.blocks[0], _types(operands[3:])
        self._block(block, 1 + len(carried))
        for what, found in (
            ("is given", _types(block.arguments)[1:]),
            ("yields", _types(block.yields)),
            ("defines", _types(instruction.results)),
        ):
            _require(found == carried, "carries {}, but {} {}", _listed(carried), what, _listed(found))
        _require(block.arguments[0].type is I64, "its index is {}, not i64", block.arguments[0].type)

    def _check_if(self, instruction, condition):
        _require(condition.type is BOOL, "the condition is {}, not bool", condition.type)
        _require(len(instruction.blocks) == 2, "needs two blocks")
        for block in instruction.blocks:
            self._block(block, 0)
            found, expected = _types(block.yields), _types(instruction.results)
            _require(found == expected, "a branch yields {}, not {}", _listed(found), _listed(expected))

    def _check_parallel(self, instruction, count):
        _require(self.is_entry, "stands outside of the entry function")
        _require(not self.in_parallel, "stands within another parallel")
        _require(count.type is I64, "counts in i64, not {}", count.type)
        block = instruction.blocks[0]
        self.in_parallel = True
        self._block(block, 1)
        self.in_parallel = False
        _require(block.arguments[0].type is I64, "its chunk is {}, not i64", block.arguments[0].type)
        _require(not block.yields, "yields {}, but hands nothing on", _listed(_types(block.yields)))
        self._results(instruction)

    def _check_call(self, instruction, *operands):
        name = instruction.attributes["function"]
        _require(name in self.earlier, "there is no function {} before this one", name)
        callee = self.earlier[name]
        found, expected = _types(operands), _types(callee.parameters)
        _require(found == expected, "{} takes {}, not {}", name, _listed(expected), _listed(found))
        self._results(instruction, *_types(callee.body.yields))

    def _check_worker(self, instruction):
        _require(self.in_parallel, "stands outside of the entry's parallel, where no thread has a number")
        self._results(instruction, I64)

    # ---- memory

    def _pointer(self, pointer):
        _require(pointer.type.is_pointer, "{} where a pointer is needed", pointer.type)
        return pointer.type.element

    def _masked(self, type, mask):
        """Checks the mask (a tuple: it may be absent) over the lanes of ``type``."""
        if mask:
            _require(type.is_vector, "a scalar takes no mask")
            _require(
                mask[0].type is mask_type(type.lanes), "the mask is {}, not {}", mask[0].type, mask_type(type.lanes)
            )

    def _alignment(self, instruction):
        align = instruction.attributes.get("align") or 1
        _require(align > 0 and align & (align - 1) == 0, "align {} is no power of two", align)

    def _check_offset(self, instruction, pointer, index):
        self._pointer(pointer)
        _require(index.type is I64, "the index is {}, not i64", index.type)
        self._results(instruction, pointer.type)

    def _check_load(self, instruction, pointer, *mask):
        element, type = self._pointer(pointer), self._result(instruction)
        _require(_element(type) is element, "{} from memory of {}", type, element)
        self._masked(type, mask)
        self._alignment(instruction)

    def _check_store(self, instruction, value, pointer, *mask):
        element = self._pointer(pointer)
        _require(_element(value.type) is element, "{} into memory of {}", value.type, element)
        self._masked(value.type, mask)
        self._alignment(instruction)
        self._results(instruction)

    def _indexed(self, type, pointer, indices):
        element = self._pointer(pointer)
        _require(type.is_vector and _element(type) is element, "{} and memory of {}", type, element)
        valid = indices.type.scalar in ("i32", "i64") and indices.type.lanes == type.lanes
        _require(valid, "the indices are {} for {}", indices.type, type)

    def _check_gather(self, instruction, pointer, indices, *mask):
        type = self._result(instruction)
        self._indexed(type, pointer, indices)
        self._masked(type, mask)

    def _check_scatter(self, instruction, value, pointer, indices, *mask):
        self._indexed(value.type, pointer, indices)
        self._masked(value.type, mask)
        self._results(instruction)

    def _check_prefetch(self, instruction, pointer):
        self._pointer(pointer)
        self._results(instruction)

    def _check_reinterpret(self, instruction, pointer):
        element = self._pointer(pointer)
        _require(not element.is_pointer, "memory of pointers is memory of nothing else")
        self._results(instruction, pointer_to(instruction.attributes["to"]))

    # ---- tiles

    def _tiles(self, instruction):
        for name in _ATTRIBUTES.get(instruction.opcode, ()):
            number = instruction.attributes[name]
            _require(0 <= number < _TILES, "there is no tile {}", number)
        self._results(instruction)

    _check_tiles_begin = _check_tiles_end = _check_tile_zero = _check_tile_multiply = _tiles

    def _check_tile_load(self, instruction, pointer, stride):
        self._pointer(pointer)
        _require(stride.type is I64, "the stride is {}, not i64", stride.type)
        self._tiles(instruction)

    _check_tile_store = _check_tile_load

    # ---- lanes

    def _vector(self, value):
        _require(value.type.is_vector, "{} where a vector is needed", value.type)
        return value.type

    def _check_splat(self, instruction, scalar):
        type = self._result(instruction)
        _require(not scalar.type.is_pointer and not scalar.type.is_vector, "{} where a scalar is needed", scalar.type)
        _require(type.is_vector and _element(type) is scalar.type, "{} spread to {}", scalar.type, type)

    def _check_iota(self, instruction):
        type = self._result(instruction)
        _require(type.is_vector and type.is_integer, "{} where a vector of integers is needed", type)

    def _check_extract(self, instruction, vector):
        type, lane = self._vector(vector), instruction.attributes["lane"]
        _require(0 <= lane < type.lanes, "{} has no lane {}", type, lane)
        self._results(instruction, _element(type))

    def _check_shuffle(self, instruction, first, second):
        type, lanes = self._vector(first), instruction.attributes["lanes"]
        _require(second.type is type, "two vectors of different types: {}, {}", type, second.type)
        _require(len(lanes) > 1, "a vector has two lanes or more")
        for lane in lanes:
            _require(0 <= lane < 2 * type.lanes, "two {} have no lane {}", type, lane)
        self._results(instruction, type.with_lanes(len(lanes)))

    def _check_reduce(self, instruction, vector):
        type, by = self._vector(vector), instruction.attributes["by"]
        _require(by in _REDUCTIONS, "no reduction by {}", by)
        _require(type.lanes & (type.lanes - 1) == 0, "{} lanes are no power of two", type.lanes)
        try:
            result_type(by, (type, type), None)
        except TypeError as error:
            raise _Broken(str(error)) from None
        self._results(instruction, _element(type))

    def _check_compress(self, instruction, vector, mask):
        self._masked(self._vector(vector), (mask,))
        self._results(instruction, vector.type)
