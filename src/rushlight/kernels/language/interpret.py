"""The interpreter: runs a loop program slowly and plainly, on NumPy arrays, and thereby defines what programs mean."""

from __future__ import annotations

import random

import numpy as np

from .instructions import OPCODES, bf16_to_f32, constant_array, convert_array
from .value_types import NUMPY
from .verify import verify


def interpret(program, *arguments, workers=1, order=None):
    """Run the entry of a program.

    Args:
        arguments: for each parameter a C-contiguous array of its element type (for ``T*``; bfloat16 as ml_dtypes' or as
            raw uint16), a list of such arrays (for ``T**``), None for a pointer to nothing, or a number. Programs write
            into the arrays.
        workers: how many threads there seem to be: the chunks of a ``parallel`` get worker numbers below it.
        order: in which order chunks are run: None (0, 1, 2, ...), ``"reversed"``, or a ``random.Random`` to shuffle them.

    Raises ProgramError for programs that break a rule, IndexError for an access outside of a buffer,
    ZeroDivisionError for an integer division by 0, ValueError for a scatter to one element twice.

    >>> from rushlight.kernels.language.text import read
    >>> program = read('''program double
    ... function double(x: f32*, n: i64)
    ...   parallel %i < n
    ...     %place = offset x, %i : f32*
    ...     %number = load %place : f32
    ...     %twice = add %number, %number : f32
    ...     store %twice, %place''')
    >>> x = np.array([1, 2, 3], np.float32)
    >>> interpret(program, x, 2)
    >>> x
    array([2., 4., 3.], dtype=float32)
    """
    verify(program)
    entry = program.entry
    if len(arguments) != len(entry.parameters):
        raise TypeError(f"{entry.name} takes {len(entry.parameters)} arguments, got {len(arguments)}")
    values = [_argument(p.name, p.type, a) for p, a in zip(entry.parameters, arguments)]
    with np.errstate(all="ignore"):
        _Interpreter(program, workers, order).call(entry, values)


class Pointer:
    """A place in a buffer: the buffer's elements (an array, or a list of Pointers), its name, and an index."""

    __slots__ = ("elements", "index", "name")

    def __init__(self, name, elements, index=0):
        self.name, self.elements, self.index = name, elements, index

    def at(self, indices, does):
        """The buffer's indices of elements counted from here; IndexError where there is no such element."""
        found = self.index + np.asarray(indices, np.int64)
        outside = found[(found < 0) | (found >= len(self.elements))]
        if outside.size:
            raise IndexError(f"{does} {self.name}[{outside[0]}], but {self.name} has {len(self.elements)} elements")
        return found


def _argument(name, type, argument):
    """A caller's argument as a value: arrays become Pointers, numbers 0-dim arrays."""
    if not type.is_pointer:
        return np.asarray(argument).astype(NUMPY[type.scalar]).reshape(())
    if argument is None:
        return Pointer(name, ())
    if type.element.is_pointer:
        return Pointer(name, [_argument(f"{name}[{i}]", type.element, a) for i, a in enumerate(argument)])
    if type.element.scalar == "bf16" and argument.dtype.name == "bfloat16":
        argument = argument.view(np.uint16)
    if argument.dtype != NUMPY[type.element.scalar] or not argument.flags.c_contiguous:
        layout = "contiguous" if argument.flags.c_contiguous else "strided"
        raise TypeError(f"{name} needs a contiguous array of {type.element}, got {layout} {argument.dtype}")
    return Pointer(name, argument.reshape(-1))


def compute(instruction, operands):
    """The result of a pure instruction (arithmetic, lanes, constant) on its operands' lanes."""
    opcode, attributes, type = instruction.opcode, instruction.attributes, instruction.results[0].type
    if opcode == "constant":
        return constant_array(type, attributes["value"])
    if opcode == "iota":
        return np.arange(type.lanes).astype(NUMPY[type.scalar])
    if opcode == "splat":
        return np.full(type.lanes, operands[0])
    if opcode == "extract":
        return operands[0][attributes["lane"]].reshape(())
    if opcode == "shuffle":
        return np.concatenate(operands)[list(attributes["lanes"])]
    if opcode == "compress":
        vector, mask = operands
        kept = vector[mask]
        return np.concatenate([kept, np.zeros(len(vector) - len(kept), vector.dtype)])
    if opcode == "reduce":
        return _reduced(operands[0], OPCODES[attributes["by"]].meaning)
    if opcode == "convert":
        found = convert_array(operands[0], instruction.operands[0].type.scalar, type.scalar)
    elif opcode == "bitcast":
        found = operands[0].reshape(-1).view(NUMPY[type.scalar]).reshape(type.lanes if type.is_vector else ())
    else:
        found = OPCODES[opcode].meaning(*operands)
    return np.asarray(found, NUMPY[type.scalar])


def _reduced(vector, combine):
    """A tree of halves: lane i with lane i + lanes/2, until one is left."""
    while len(vector) > 1:
        half = len(vector) // 2
        vector = combine(vector[:half], vector[half:])
    return vector.reshape(())


class _Interpreter:
    """Runs functions. Values are arrays of lanes (0-dim for scalars) and Pointers, by the Value that they belong to."""

    def __init__(self, program, workers, order):
        self.functions = {function.name: function for function in program.functions}
        self.workers, self.order, self.worker, self.tiles = workers, order, 0, {}

    def call(self, function, arguments):
        """What the function returns, or None."""
        values = dict(zip(function.parameters, arguments))
        yields = self._block(function.body, values)
        return yields[0] if yields else None

    def _block(self, block, values):
        """Run a block; returns what it yields."""
        for instruction in block.instructions:
            run = getattr(self, f"_run_{instruction.opcode}", None)
            if run is not None:
                run(instruction, values, *(values[v] for v in instruction.operands))
            else:
                values[instruction.results[0]] = self._computed(instruction, [values[v] for v in instruction.operands])
        return [values[v] for v in block.yields]

    def _computed(self, instruction, operands):
        if instruction.opcode == "select" and instruction.results[0].type.is_pointer:
            condition, first, second = operands
            return first if condition else second
        if instruction.opcode in ("div", "rem") and operands[1].dtype.kind in "iu" and not operands[1].all():
            raise ZeroDivisionError(f"{instruction.opcode} of integers by 0")
        return compute(instruction, operands)

    # ---- structure

    def _run_loop(self, instruction, values, first, end, step, *carry):
        block = instruction.blocks[0]
        if step <= 0:
            raise ValueError(f"a loop with step {step}")
        for index in range(int(first), int(end), int(step)):
            values.update(zip(block.arguments, (np.array(index), *carry)))
            carry = self._block(block, values)
        values.update(zip(instruction.results, carry))

    def _run_if(self, instruction, values, condition):
        then, otherwise = instruction.blocks
        values.update(zip(instruction.results, self._block(then if condition else otherwise, values)))

    def _run_parallel(self, instruction, values, count):
        block = instruction.blocks[0]
        chunks = list(range(int(count)))
        if self.order == "reversed":
            chunks.reverse()
        elif isinstance(self.order, random.Random):
            self.order.shuffle(chunks)
        for position, chunk in enumerate(chunks):
            self.worker = position % self.workers
            values[block.arguments[0]] = np.array(chunk)
            self._block(block, values)

    def _run_worker(self, instruction, values):
        values[instruction.results[0]] = np.array(self.worker)

    def _run_call(self, instruction, values, *arguments):
        result = self.call(self.functions[instruction.attributes["function"]], arguments)
        values.update(zip(instruction.results, [result]))

    # ---- tiles: registers of 16 rows of 64 bytes

    def _run_tiles_begin(self, instruction, values):
        self.tiles = {}

    _run_tiles_end = _run_tiles_begin

    def _run_tile_zero(self, instruction, values):
        self.tiles[instruction.attributes["tile"]] = np.zeros((16, 64), np.uint8)

    def _tile_rows(self, pointer, stride, does):
        """The buffer as bytes, and where in it the bytes of a tile are."""
        size = pointer.elements.itemsize
        for row in range(16):  # whole elements, so that a mistake is told in them
            pointer.at(np.arange(64 // size) + row * int(stride) // size, does)
        places = pointer.index * size + np.arange(16)[:, None] * int(stride) + np.arange(64)
        return pointer.elements.view(np.uint8), places

    def _run_tile_load(self, instruction, values, pointer, stride):
        memory, places = self._tile_rows(pointer, stride, "load of")
        self.tiles[instruction.attributes["tile"]] = memory[places]

    def _run_tile_store(self, instruction, values, pointer, stride):
        memory, places = self._tile_rows(pointer, stride, "store to")
        memory[places] = self.tiles[instruction.attributes["tile"]]

    def _run_tile_multiply(self, instruction, values):
        total, a, b = (self.tiles[instruction.attributes[name]] for name in ("tile", "a", "b"))
        a, b = (bf16_to_f32(x.view(np.uint16).reshape(16, 16, 2)) for x in (a, b))
        sums = total.view(np.float32)
        for k in range(16):
            for half in range(2):
                sums += a[:, k, half, None] * b[k, :, half]

    # ---- memory

    def _run_reinterpret(self, instruction, values, pointer):
        target = NUMPY[instruction.attributes["to"]]
        memory = pointer.elements.view(np.uint8)
        whole = memory[: memory.size // target.itemsize * target.itemsize].view(target)
        start, rest = divmod(pointer.index * pointer.elements.itemsize, target.itemsize)
        if rest:
            raise ValueError(f"{pointer.name} + {pointer.index} is not aligned for {instruction.attributes['to']}")
        values[instruction.results[0]] = Pointer(pointer.name, whole, start)

    def _run_offset(self, instruction, values, pointer, index):
        values[instruction.results[0]] = Pointer(pointer.name, pointer.elements, pointer.index + int(index))

    def _run_prefetch(self, instruction, values, pointer):
        """A hint: nothing happens, wherever it points."""

    def _run_load(self, instruction, values, pointer, *mask):
        result = instruction.results[0]
        if result.type.is_vector:
            self._read(result, values, pointer, np.arange(result.type.lanes), mask)
        else:
            found = pointer.elements[int(pointer.at([0], "load of")[0])]
            values[result] = found if result.type.is_pointer else np.asarray(found)

    def _run_gather(self, instruction, values, pointer, indices, *mask):
        self._read(instruction.results[0], values, pointer, indices, mask)

    def _read(self, result, values, pointer, indices, mask):
        """The elements at ``pointer + indices``; 0 in the lanes where the mask (if there is one) does not hold."""
        lanes = np.zeros(result.type.lanes, NUMPY[result.type.scalar])
        active = mask[0] if mask else np.ones(len(lanes), np.bool_)
        lanes[active] = pointer.elements[pointer.at(indices[active], "load of")]
        values[result] = lanes

    def _run_store(self, instruction, values, value, pointer, *mask):
        if isinstance(value, Pointer) or value.ndim == 0:
            pointer.elements[int(pointer.at([0], "store to")[0])] = value
        else:
            self._write(value, pointer, np.arange(len(value)), mask)

    def _run_scatter(self, instruction, values, value, pointer, indices, *mask):
        active = indices[mask[0]] if mask else indices
        if len(np.unique(active)) < len(active):
            raise ValueError(f"a scatter to {pointer.name} with two equal indices: {active.tolist()}")
        self._write(value, pointer, indices, mask)

    def _write(self, value, pointer, indices, mask):
        active = mask[0] if mask else np.ones(len(value), np.bool_)
        pointer.elements[pointer.at(indices[active], "store to")] = value[active]
