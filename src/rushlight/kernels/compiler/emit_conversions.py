"""The emitter's conversions between scalar types, half precision among them."""

from __future__ import annotations

from .llvm_text import constant_text, llvm_type


class Conversions:
    """The part of `emit.FunctionEmitter` that converts values."""

    def emit_convert(self, instruction, a):
        return self._converted(self.name(a), a.type, instruction.results[0].type)

    def _cast(self, operation, name, source, target):
        return self.emit(f"{operation} {llvm_type(source)} {name} to {llvm_type(target)}")

    def _converted(self, name, source, target):
        """The LLVM name of ``name``, of type source, as type target. Half precision goes through float32."""
        if source is target:
            return name
        single = source.with_scalar("f32")
        if source.scalar == "bf16":
            name = self._cast("zext", name, source, source.with_scalar("i32"))
            name = self.emit(
                f"shl {llvm_type(source.with_scalar('i32'))} {name}, {constant_text(source.with_scalar('i32'), 16)}"
            )
            return self._converted(self._cast("bitcast", name, source.with_scalar("i32"), single), single, target)
        if target.scalar == "bf16":
            return self._to_bf16(self._converted(name, source, single), single, target)
        if source.scalar == "f16" and target.scalar != "f32":
            return self._converted(self._cast("fpext", name, source, single), single, target)
        if target.scalar == "f16" and source.scalar != "f32":
            return self._cast("fptrunc", self._converted(name, source, single), single, target)
        if target.scalar == "bool":
            compare = "fcmp une" if source.is_float else "icmp ne"
            return self.emit(f"{compare} {llvm_type(source)} {name}, {constant_text(source, 0)}")
        if source.is_float and target.is_float:
            return self._cast("fpext" if target.size > source.size else "fptrunc", name, source, target)
        if target.is_float:
            return self._cast("sitofp" if source.is_signed else "uitofp", name, source, target)
        if source.is_float:
            return self._float_to_integer(name, source, target)
        if target.size < source.size and source.scalar != "bool":
            return self._cast("trunc", name, source, target)
        if target.size == source.size and source.scalar != "bool":
            return name
        return self._cast("sext" if source.is_signed else "zext", name, source, target)

    def _float_to_integer(self, name, source, target):
        """Towards zero; small and unsigned integers through the next wider signed one, so that negatives wrap."""
        wide = target.with_scalar("i64" if target.size == 8 or target.scalar == "u32" else "i32")
        signed = self._cast("fptosi", name, source, wide)
        if target.scalar == "u64":  # the upper half of its numbers is no i64
            unsigned = self._cast("fptoui", name, source, target)
            llvm, condition = llvm_type(target), llvm_type(target.with_scalar("bool"))
            negative = self.emit(f"fcmp olt {llvm_type(source)} {name}, {constant_text(source, 0.0)}")
            return self.emit(f"select {condition} {negative}, {llvm} {signed}, {llvm} {unsigned}")
        return signed if wide.size == target.size else self._cast("trunc", signed, wide, target)

    def _to_bf16(self, name, single, target):
        """Nearest, halves to even, on the bits; NaN becomes the quiet one."""
        integers = single.with_scalar("u32")
        llvm = llvm_type(integers)

        def number(value):
            return constant_text(integers, value)

        bits = self._cast("bitcast", name, single, integers)
        high = self.emit(f"lshr {llvm} {bits}, {number(16)}")
        odd = self.emit(f"and {llvm} {high}, {number(1)}")
        bias = self.emit(f"add {llvm} {odd}, {number(0x7FFF)}")
        rounded = self.emit(f"add {llvm} {bits}, {bias}")
        rounded = self.emit(f"lshr {llvm} {rounded}, {number(16)}")
        is_nan = self.emit(f"fcmp uno {llvm_type(single)} {name}, {name}")
        condition = llvm_type(single.with_scalar("bool"))
        chosen = self.emit(f"select {condition} {is_nan}, {llvm} {number(0x7FC0)}, {llvm} {rounded}")
        return self._cast("trunc", chosen, integers, target)
