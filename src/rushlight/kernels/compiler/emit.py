"""The emitter: loop programs to LLVM IR text, one instruction at a time.

Vectors are explicit and of the machine's width, so no optimisation pass has to find them: they bought nothing and cost
several times the time of code generation. Functions of the transcendental kind must have been expanded before.
"""

from __future__ import annotations

import re
from itertools import count

from ..language.instructions import COMPARISONS, OPCODES, TRANSCENDENTAL
from ..machine.tickets import FINISH_CHUNKS, TAKE_CHUNK
from .emit_conversions import Conversions
from .llvm_text import constant_text, llvm_type, memory_type, suffix

_NAMES = re.compile(r"@([\w.]+)")
_PART = 16_000  # characters: a text of its own costs LLVM as much as 2,000 more
_INTRINSICS = frozenset(("sqrt", "floor", "ceil", "trunc", "round", "copysign"))

# The configuration of the tile unit: palette 1, all eight tiles of 16 rows of 64 bytes.
_TILE_BYTES = [1] + [0] * 15 + [64, 0] * 8 + [0] * 16 + [16] * 8 + [0] * 8
_TILE_SHAPES_NAME = "tile_shapes"
_TILE_SHAPES = (
    f"@{_TILE_SHAPES_NAME} = internal constant [64 x i8] ["
    + ", ".join(f"i8 {byte}" for byte in _TILE_BYTES)
    + "], align 64"
)


class Module:
    """LLVM IR being written: the functions of one program and the declarations that they need."""

    def __init__(self, program):
        self.program = program
        self.declarations = {_TILE_SHAPES_NAME: _TILE_SHAPES}
        self.streams = False

    def declare(self, name, result, *parameters):
        self.declarations[name] = f"declare {result} @{name}({', '.join(parameters)})"

    def parts(self, most):
        """The IR of all functions in texts of about one length, none much shorter than `_PART`; the last has the entry,
        exported as ``@entry(ptr context, i64 worker, ptr launch)``."""
        entry, texts = self.program.entry, {}
        results = {function.name: function.result_type for function in self.program.functions}
        for function in self.program.functions:
            texts[function] = FunctionEmitter(self, function, results, function is entry).text()
            if function is not entry:
                types = [llvm_type(parameter.type) for parameter in function.parameters]
                self.declare(function.name, result_text(function), *types)
        total = sum(map(len, texts.values()))
        groups: list[list] = [[] for _ in range(max(1, min(most, len(texts), total // _PART)))]
        for function in sorted(texts, key=lambda function: -len(texts[function])):
            min(groups, key=lambda group: sum(len(texts[each]) for each in group)).append(function)
        groups.sort(key=lambda group: entry in group)
        return [self._part({each: texts[each] for each in texts if each in group}) for group in groups]

    def _part(self, texts):
        """The text of some functions, with declarations of what they name."""
        text = "\n".join(texts.values())
        others = self.declarations.keys() - {function.name for function in texts}
        named = [self.declarations[name] for name in sorted(others & set(_NAMES.findall(text)))]
        return "\n".join([text, *named]) + "\n\n!0 = !{i32 1}\n"


def result_text(function):
    """LLVM's type of what a function returns."""
    return "void" if function.result_type is None else llvm_type(function.result_type)


class FunctionEmitter(Conversions):
    """Writes one function."""

    def __init__(self, module, function, results, is_entry):
        self.module, self.function, self.results, self.is_entry = module, function, results, is_entry
        self.lines, self.names, self.numbers = [], {}, count()
        self.label_name = "start"

    def text(self):
        function = self.function
        if self.is_entry:
            head = "define void @entry(ptr %context, i64 %worker, ptr %launch) nounwind {\nstart:"
            self._load_parameters()
            if self.module.program.is_parallel:
                self.lines.append("%tickets = alloca i64")  # of the loops before
                self.lines.append("store i64 0, ptr %tickets")
        else:
            parameters = ", ".join(self._parameter(p) for p in function.parameters)
            head = f"define {result_text(function)} @{function.name}({parameters}) noinline nounwind {{\nstart:"
        self.block(function.body)
        yields = function.body.yields
        self.lines.append(f"ret {self.typed(yields[0])}" if yields else "ret void")
        return head + "\n  " + "\n  ".join(self.lines) + "\n}"

    def _load_parameters(self):
        for i, parameter in enumerate(self.function.parameters):
            slot = self.emit(f"getelementptr i64, ptr %context, i64 {i}")
            self.names[id(parameter)] = self.emit(f"load {memory_type(parameter.type)}, ptr {slot}")

    def _parameter(self, parameter):
        name = self.names[id(parameter)] = f"%p{len(self.names)}"
        return f"{llvm_type(parameter.type)} {name}"

    # ---- plumbing

    def fresh(self):
        return f"%v{next(self.numbers)}"

    def emit(self, text):
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def label(self, name):
        self.lines.append(f"{name}:")
        self.label_name = name

    def labels(self, *stems):
        number = next(self.numbers)
        return [f"{stem}{number}" for stem in stems]

    def name(self, value):
        return self.names[id(value)]

    def typed(self, value):
        return f"{llvm_type(value.type)} {self.names[id(value)]}"

    def call_intrinsic(self, stem, llvm, *operands):
        """Call ``llvm.<stem>.<type>`` with typed operands of which the first decides the overload."""
        name = f"llvm.{stem}.{suffix(llvm)}"
        # Of "<8 x float> %v1" or "i1 false" the type.
        types = (o[: o.index(">") + 1] if " x " in o else o.rsplit(" ", 1)[0] for o in operands)
        self.module.declare(name, llvm, *types)
        return self.emit(f"call {llvm} @{name}({', '.join(operands)})")

    def block(self, block):
        for instruction in block.instructions:
            opcode = instruction.opcode
            method = _methods.get(opcode)
            if method is not None:
                found = method(self, instruction, *instruction.operands)
            else:
                found = self.arithmetic(instruction, opcode)
            if found is not None:
                self.names[id(instruction.results[0])] = found

    # ---- arithmetic

    def arithmetic(self, instruction, opcode):
        operands = instruction.operands
        type = operands[0].type
        kind = "f" if type.is_float else "b" if type.scalar == "bool" else "s" if type.is_signed else "u"
        text = OPCODES[opcode].llvm.get(kind) if opcode in OPCODES else None
        if text is None:
            reason = "expand it first" if opcode in TRANSCENDENTAL else "there is no such machine instruction"
            raise NotImplementedError(f"{opcode} of {type}: {reason}")
        llvm = llvm_type(type)
        if opcode in _INTRINSICS:
            return self.call_intrinsic(text, llvm, *(self.typed(o) for o in operands))
        if opcode in COMPARISONS:
            text = f"{'fcmp' if type.is_float else 'icmp'} {text}"
        return self.emit(f"{text} {llvm} " + ", ".join(self.name(o) for o in operands))

    def emit_constant(self, instruction):
        result = instruction.results[0]
        self.names[id(result)] = constant_text(result.type, instruction.attributes["value"])

    def emit_neg(self, instruction, a):
        if a.type.is_float:
            return self.emit(f"fneg {self.typed(a)}")
        return self.emit(f"sub {llvm_type(a.type)} {constant_text(a.type, 0)}, {self.name(a)}")

    def emit_abs(self, instruction, a):
        llvm = llvm_type(a.type)
        if a.type.is_float:
            return self.call_intrinsic("fabs", llvm, self.typed(a))
        return self.name(a) if not a.type.is_signed else self.call_intrinsic("abs", llvm, self.typed(a), "i1 false")

    def emit_not(self, instruction, a):
        ones = constant_text(a.type, True if a.type.scalar == "bool" else -1)
        return self.emit(f"xor {self.typed(a)}, {ones}")

    def emit_fma(self, instruction, a, b, c):
        return self.call_intrinsic("fma", llvm_type(a.type), self.typed(a), self.typed(b), self.typed(c))

    def emit_dot(self, instruction, a, b, total):
        result, pairs = llvm_type(total.type), llvm_type(a.type)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * total.type.lanes}"
        self.module.declare(name, result, result, pairs, pairs)
        return self.emit(f"call {result} @{name}({self.typed(total)}, {self.typed(a)}, {self.typed(b)})")

    def emit_round_bfloat16(self, instruction, a):
        type = f"<{a.type.lanes} x bfloat>" if a.type.is_vector else "bfloat"
        rounded = self.emit(f"fptrunc {self.typed(a)} to {type}")
        return self.emit(f"bitcast {type} {rounded} to {llvm_type(instruction.results[0].type)}")

    def emit_min(self, instruction, a, b):
        return self._combined("min", a.type, self.name(a), self.name(b))

    def emit_max(self, instruction, a, b):
        return self._combined("max", a.type, self.name(a), self.name(b))

    def emit_select(self, instruction, condition, a, b):
        return self.emit(f"select {self.typed(condition)}, {self.typed(a)}, {self.typed(b)}")

    def emit_bitcast(self, instruction, a):
        result = llvm_type(instruction.results[0].type)
        return self.name(a) if result == llvm_type(a.type) else self.emit(f"bitcast {self.typed(a)} to {result}")

    # ---- lanes

    def emit_splat(self, instruction, scalar):
        vector = llvm_type(instruction.results[0].type)
        lanes = instruction.results[0].type.lanes
        first = self.emit(f"insertelement {vector} poison, {self.typed(scalar)}, i32 0")
        return self.emit(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")

    def emit_iota(self, instruction):
        result = instruction.results[0]
        self.names[id(result)] = constant_text(result.type, tuple(range(result.type.lanes)))

    def emit_extract(self, instruction, vector):
        return self.emit(f"extractelement {self.typed(vector)}, i32 {instruction.attributes['lane']}")

    def _shuffled(self, llvm, a, b, lanes):
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.emit(f"shufflevector {llvm} {a}, {llvm} {b}, <{len(lanes)} x i32> <{mask}>")

    def emit_shuffle(self, instruction, a, b):
        return self._shuffled(llvm_type(a.type), self.name(a), self.name(b), instruction.attributes["lanes"])

    def emit_reduce(self, instruction, vector):
        type, by = vector.type, instruction.attributes["by"]
        if type.scalar == "bool" and by == "or":  # all lanes at once, as an integer
            bits = self.emit(f"bitcast {self.typed(vector)} to i{type.lanes}")
            return self.emit(f"icmp ne i{type.lanes} {bits}, 0")
        name, lanes = self.name(vector), vector.type.lanes
        while lanes > 1:
            half = type.with_lanes(lanes // 2)
            llvm = llvm_type(type.with_lanes(lanes))
            if lanes == 2:
                parts = [self.emit(f"extractelement {llvm} {name}, i32 {lane}") for lane in (0, 1)]
            else:
                spans = (range(lanes // 2), range(lanes // 2, lanes))
                parts = [self._shuffled(llvm, name, "poison", span) for span in spans]
            name = self._combined(by, half, *parts)
            lanes //= 2
        return name

    def _combined(self, by, type, a, b):
        """Two values of a type, given by name, in one: ``by`` is min, max or an instruction."""
        llvm = llvm_type(type)
        if by in ("min", "max"):
            order = "lt" if by == "min" else "gt"
            compare = f"fcmp o{order}" if type.is_float else f"icmp {'s' if type.is_signed else 'u'}{order}"
            chosen = self.emit(f"{compare} {llvm} {a}, {b}")
            return self.emit(f"select {llvm_type(type.with_scalar('bool'))} {chosen}, {llvm} {a}, {llvm} {b}")
        kind = "f" if type.is_float else "b" if type.scalar == "bool" else "s"
        return self.emit(f"{OPCODES[by].llvm[kind]} {llvm} {a}, {b}")

    def emit_compress(self, instruction, vector, mask):
        result, value = llvm_type(vector.type), self.typed(vector)
        bits = llvm_type(vector.type.with_scalar(f"i{8 * vector.type.size}")) if vector.type.is_float else result
        if bits != result:  # LLVM has no code for floats where the CPU has no such instruction
            value = f"{bits} {self.emit(f'bitcast {value} to {bits}')}"
        name = f"llvm.experimental.vector.compress.{suffix(bits)}"
        self.module.declare(name, bits, bits, llvm_type(mask.type), bits)
        found = self.emit(f"call {bits} @{name}({value}, {self.typed(mask)}, {bits} zeroinitializer)")
        return found if bits == result else self.emit(f"bitcast {bits} {found} to {result}")

    # ---- memory

    def emit_offset(self, instruction, pointer, index):
        return self.emit(
            f"getelementptr {memory_type(pointer.type.element)}, ptr {self.name(pointer)}, {self.typed(index)}"
        )

    def emit_reinterpret(self, instruction, pointer):
        return self.name(pointer)

    def _as_bool(self, type, name):
        if type.scalar != "bool":
            return name
        return self.emit(f"icmp ne {memory_type(type)} {name}, {constant_text(type.with_scalar('u8'), 0)}")

    def _as_memory(self, value):
        """The value as ``type name``, the way it lies in memory."""
        if value.type.scalar != "bool":
            return self.typed(value)
        llvm = memory_type(value.type)
        return f"{llvm} {self.emit(f'zext {self.typed(value)} to {llvm}')}"

    def emit_load(self, instruction, pointer, mask=None):
        type = instruction.results[0].type
        llvm = memory_type(type)
        align = instruction.attributes.get("align", type.size)
        if mask is None:
            return self._as_bool(type, self.emit(f"load {llvm}, ptr {self.name(pointer)}, align {align}"))
        name = f"llvm.masked.load.{suffix(llvm)}.p0"
        self.module.declare(name, llvm, "ptr", "i32", llvm_type(mask.type), llvm)
        operands = f"ptr {self.name(pointer)}, i32 {align}, {self.typed(mask)}, {llvm} zeroinitializer"
        return self._as_bool(type, self.emit(f"call {llvm} @{name}({operands})"))

    def emit_store(self, instruction, value, pointer, mask=None):
        typed = self._as_memory(value)
        align = instruction.attributes.get("align", value.type.size)
        if mask is None:
            stream = ", !nontemporal !0" if instruction.attributes.get("stream") else ""
            self.lines.append(f"store {typed}, ptr {self.name(pointer)}, align {align}{stream}")
            self.module.streams |= bool(stream)
            return
        llvm = memory_type(value.type)
        name = f"llvm.masked.store.{suffix(llvm)}.p0"
        self.module.declare(name, "void", llvm, "ptr", "i32", llvm_type(mask.type))
        self.lines.append(f"call void @{name}({typed}, ptr {self.name(pointer)}, i32 {align}, {self.typed(mask)})")

    def _addresses(self, pointer, indices):
        element = memory_type(pointer.type.element)
        return self.emit(f"getelementptr {element}, ptr {self.name(pointer)}, {self.typed(indices)}")

    def _all_lanes(self, lanes, mask):
        return f"<{lanes} x i1> splat (i1 true)" if mask is None else self.typed(mask)

    def emit_gather(self, instruction, pointer, indices, mask=None):
        type = instruction.results[0].type
        llvm, lanes = memory_type(type), type.lanes
        name = f"llvm.masked.gather.{suffix(llvm)}.v{lanes}p0"
        self.module.declare(name, llvm, f"<{lanes} x ptr>", "i32", f"<{lanes} x i1>", llvm)
        where = self._addresses(pointer, indices)
        operands = f"<{lanes} x ptr> {where}, i32 {type.size}, {self._all_lanes(lanes, mask)}, {llvm} zeroinitializer"
        return self._as_bool(type, self.emit(f"call {llvm} @{name}({operands})"))

    def emit_scatter(self, instruction, value, pointer, indices, mask=None):
        type = value.type
        llvm, lanes = memory_type(type), type.lanes
        name = f"llvm.masked.scatter.{suffix(llvm)}.v{lanes}p0"
        self.module.declare(name, "void", llvm, f"<{lanes} x ptr>", "i32", f"<{lanes} x i1>")
        typed, where = self._as_memory(value), self._addresses(pointer, indices)
        self.lines.append(
            f"call void @{name}({typed}, <{lanes} x ptr> {where}, i32 {type.size}, {self._all_lanes(lanes, mask)})"
        )

    def emit_prefetch(self, instruction, pointer):
        self.module.declare("llvm.prefetch.p0", "void", "ptr", "i32", "i32", "i32")
        write = int(instruction.attributes.get("write", False))
        self.lines.append(f"call void @llvm.prefetch.p0(ptr {self.name(pointer)}, i32 {write}, i32 3, i32 1)")

    # ---- tiles: Intel's AMX, whose registers are numbered and not values

    def _tile_call(self, name, operands, *parameters):
        self.module.declare(f"llvm.x86.{name}", "void", *parameters)
        self.lines.append(f"call void @llvm.x86.{name}({operands})")

    def emit_tiles_begin(self, instruction):
        self._tile_call("ldtilecfg", f"ptr @{_TILE_SHAPES_NAME}", "ptr")

    def emit_tiles_end(self, instruction):
        self._tile_call("tilerelease", "")

    def emit_tile_zero(self, instruction):
        self._tile_call("tilezero", f"i8 {instruction.attributes['tile']}", "i8 immarg")

    def _tile_memory(self, name, instruction, pointer, stride):
        operands = f"i8 {instruction.attributes['tile']}, ptr {self.name(pointer)}, {self.typed(stride)}"
        self._tile_call(name, operands, "i8 immarg", "ptr", "i64")

    def emit_tile_load(self, instruction, pointer, stride):
        self._tile_memory("tileloadd64", instruction, pointer, stride)

    def emit_tile_store(self, instruction, pointer, stride):
        self._tile_memory("tilestored64", instruction, pointer, stride)

    def emit_tile_multiply(self, instruction):
        tiles = ", ".join(f"i8 {instruction.attributes[name]}" for name in ("tile", "a", "b"))
        self._tile_call("tdpbf16ps", tiles, "i8 immarg", "i8 immarg", "i8 immarg")

    # ---- structure

    def emit_worker(self, instruction):
        self.names[id(instruction.results[0])] = "%worker"

    def emit_call(self, instruction, *arguments):
        name = instruction.attributes["function"]
        result = self.results[name]
        operands = ", ".join(self.typed(a) for a in arguments)
        if result is None:
            self.lines.append(f"call void @{name}({operands})")
            return None
        return self.emit(f"call {llvm_type(result)} @{name}({operands})")

    def emit_loop(self, instruction, first, end, step, *carry):
        head, body, done = self.labels("head", "body", "done")
        block = instruction.blocks[0]
        before = self.label_name
        self.lines.append(f"br label %{head}")
        self.label(head)
        names = [self.fresh() for _ in block.arguments]
        for value, name in zip(block.arguments, names):
            self.names[id(value)] = name
        place = len(self.lines)
        self.lines.extend([None] * len(names))  # the phis, written when the block's end is known
        more = self.emit(f"icmp slt i64 {names[0]}, {self.name(end)}")
        self.lines.append(f"br i1 {more}, label %{body}, label %{done}")
        self.label(body)
        self.block(block)
        following = self.emit(f"add i64 {names[0]}, {self.name(step)}")
        self.lines.append(f"br label %{head}")
        starts = [self.name(first), *(self.name(v) for v in carry)]
        nexts = [following, *(self.name(v) for v in block.yields)]
        for i, (value, name) in enumerate(zip(block.arguments, names)):
            phi = f"phi {llvm_type(value.type)} [{starts[i]}, %{before}], [{nexts[i]}, %{self.label_name}]"
            self.lines[place + i] = f"{name} = {phi}"
        self.label(done)
        for result, name in zip(instruction.results, names[1:]):
            self.names[id(result)] = name

    def emit_if(self, instruction, condition):
        then, otherwise, done = self.labels("then", "else", "endif")
        self.lines.append(f"br i1 {self.name(condition)}, label %{then}, label %{otherwise}")
        ends = []
        for label, block in zip((then, otherwise), instruction.blocks):
            self.label(label)
            self.block(block)
            ends.append((self.label_name, [self.name(v) for v in block.yields]))
            self.lines.append(f"br label %{done}")
        self.label(done)
        for i, result in enumerate(instruction.results):
            sources = ", ".join(f"[{values[i]}, %{label}]" for label, values in ends)
            self.names[id(result)] = self.emit(f"phi {llvm_type(result.type)} {sources}")

    def emit_parallel(self, instruction, chunks):
        """Take chunks until none are left, then wait until all of them are finished: see `tickets.share_code`."""
        take, body, drained = self.labels("take", "body", "drained")
        self.module.declare("take_chunk", "i64", "ptr", "i64", "i64", "i64")
        self.module.declare("finish_chunks", "void", "ptr", "i64", "i64")
        first = self.emit("load i64, ptr %tickets")
        end = self.emit(f"add i64 {first}, {self.name(chunks)}")
        before = self.label_name
        self.lines.append(f"br label %{take}")
        self.label(take)
        done, more = self.fresh(), self.fresh()  # chunks that this thread has finished
        place = len(self.lines)
        self.lines.append(None)  # the phi, written when the block's end is known
        chunk = self.emit(f"call {TAKE_CHUNK.format('%launch', first, self.name(chunks), '%worker')}")
        left = self.emit(f"icmp sge i64 {chunk}, 0")
        self.lines.append(f"br i1 {left}, label %{body}, label %{drained}")
        self.label(body)
        block = instruction.blocks[0]
        self.names[id(block.arguments[0])] = chunk
        streamed, self.module.streams = self.module.streams, False
        self.block(block)
        self.lines.append(f"{more} = add i64 {done}, 1")
        self.lines.append(f"br label %{take}")
        self.lines[place] = f"{done} = phi i64 [0, %{before}], [{more}, %{self.label_name}]"
        self.label(drained)
        if self.module.streams:  # streaming stores are not ordered by the atomic add that finishes the chunks
            self.lines.append("fence seq_cst")
        self.module.streams |= streamed
        self.lines.append(f"call {FINISH_CHUNKS.format('%launch', done, end)}")
        self.lines.append(f"store i64 {end}, ptr %tickets")


_methods = {name[5:]: getattr(FunctionEmitter, name) for name in dir(FunctionEmitter) if name.startswith("emit_")}


def emit(program):
    """The LLVM IR text of a program."""
    return emit_parts(program, 1)[0]


def emit_parts(program, most):
    """The same in at most so many texts, to be compiled at once; the last has the entry."""
    return Module(program).parts(most)
