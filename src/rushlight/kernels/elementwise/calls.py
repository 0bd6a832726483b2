"""Elementwise operations by kernels made from their formulas: any operands, dtypes and layouts; casts and copies."""

from __future__ import annotations

import numpy as np

from ...base.arrays import address_of
from ...ops.table import COMPARE, LOGICAL, MASKED, is_half
from ..compiler.kernel import compiled
from ..compiler.trace import Number, Trail, Untraceable, formula_of
from ..language.value_types import NUMPY, scalar_of
from ..machine.host import host
from ..planning.layout import Layout
from ..planning.plans import Plans
from . import complex_numbers
from . import plan as elementwise_plan
from . import programs as elementwise_programs
from .plan import SPACED
from .programs import STREAM_BYTES as _STREAM_BYTES
from .programs import Signature

ndarray, empty = np.ndarray, np.empty
BOOL = np.dtype(np.bool_)
_COMPUTED = {"f16": "f32", "bf16": "f32"}  # scalars that are only stored
_CHUNK_BYTES = 65536  # of the widest operand: chunks are large beside a ticket (50 ns), small beside the whole
_CHUNK_STEP = 1024  # elements: chunks are multiples
_LARGE_CHUNKS, _LARGE = 32, 4  # from so many chunks on they are so many times as large: longer stretches are read
_ALONE_NANOSECONDS = 8000  # less work than this is done before another thread has come to help

_emittable = set()  # names and keys of Entries whose programs can be made
_entries = Plans()  # (operation, dtypes, options) -> Entry, or None where there is no kernel


class Entry:
    """The kernels of one operation for certain dtypes and options.

    ``flat`` is the kernel of contiguous operands (compiled at first need), ``dtype`` the result's, ``numbers`` the
    parameters that the options make, ``plans`` the layouts met so far.
    """

    __slots__ = (
        "alone",
        "casts",
        "chunk",
        "dtype",
        "key",
        "numbers",
        "plans",
        "signature",
        "stored",
        "stream",
        "streamed",
    )
    __slots__ += ("strided_kernels", "threaded", "threshold")

    def __init__(self, signature, dtype, numbers, steps, cost):
        self.signature, self.dtype, self.numbers = signature, dtype, numbers
        operands = [pair for pair in signature.operands if pair]
        self.casts = [_COMPUTED.get(memory, memory) != inner for memory, inner in operands if memory != "number"]
        memory = [np.dtype(NUMPY[pair[0]]).itemsize for pair in operands if pair[0] != "number"] + [dtype.itemsize]
        nanoseconds = 0.02 * (sum(memory) + cost)  # an element, roughly, in the caches
        self.threshold = int(_ALONE_NANOSECONDS / nanoseconds)
        self.chunk = min(_CHUNK_BYTES // max(memory), -(-self.threshold // _CHUNK_STEP) * _CHUNK_STEP)
        self.key = (tuple(signature.operands), signature.computed, signature.result, tuple(steps))
        self.plans, self.strided_kernels = Plans(), {}
        self.alone = self.threaded = self.stream = None
        self.streamed = _STREAM_BYTES // sum(memory)

    def compile_flat(self):
        kernel = self._compiled_flat(False)
        self.alone, self.threaded = kernel.alone, kernel.threaded

    def _compiled_flat(self, stream):
        lanes = self.signature.lanes(host().vector_bytes)
        self.stored = lanes * self.dtype.itemsize
        key = (self.signature.name, "stream" if stream else "flat", lanes, *self.key)
        return compiled(key, lambda: elementwise_programs.flat(self.signature, lanes, stream))

    def run_flat(self, arguments, out):
        """Contiguous operands of one shape."""
        size, chunk = out.size, self.chunk
        if self.alone is None:
            self.compile_flat()
        if size < self.threshold:
            self.alone(*arguments, out, size, chunk, 0, *self.numbers)
            return out
        if size >= chunk * _LARGE_CHUNKS:
            chunk *= _LARGE
        run = self.threaded
        if size > self.streamed and not any(a is out for a in arguments):  # what is read is in the cache already
            if self.stream is None:
                self.stream = self._compiled_flat(True).threaded
            run = self.stream
        run(*arguments, out, size, chunk, self._head(out), *self.numbers)
        return out

    def _head(self, out):
        """How many elements come before the first whole vector: stores across two cache lines take half as long again."""
        return -address_of(out) % self.stored // out.itemsize

    def run_strided(self, arguments, arrays, out):
        """Any layout: ``arguments`` are the arrays and numbers in order."""
        key = tuple([(a.shape, a.strides) for a in arrays])
        if out is not None:
            key = (*key, out.shape, out.strides)
        if key in self.plans:
            plan = self.plans[key]
        else:
            plan = self.plans[key] = elementwise_plan.make(arrays, out, self.casts)
        if plan is None:
            return NotImplemented
        if out is None:
            out = plan.empty(self.dtype)
        if plan.flat:
            return self.run_flat(arguments, out)
        self.strided_call(plan)(*arguments, out, *plan.arguments, *self.numbers)
        return out

    def strided_call(self, plan):
        """What runs the kernel for a Plan."""
        kernel = self.strided_kernels.get(plan.kinds) or self._compile_strided(plan.kinds)
        return kernel.alone if plan.size < self.threshold else kernel.threaded

    def _compile_strided(self, kinds):
        signature, lanes = self.signature, self.signature.lanes(host().vector_bytes)
        arrays = [pair for pair in signature.operands if pair and pair[0] != "number"]
        narrow = any(kind == SPACED and NUMPY[pair[0]].itemsize < 4 for kind, pair in zip(kinds, arrays))
        if kinds[-1] == SPACED or narrow:  # no machine scatters well, nor gathers small elements
            lanes = 1
        key = (signature.name, "strided", kinds, lanes, *self.key)
        kernel = compiled(key, lambda: elementwise_programs.strided(signature, kinds, lanes))
        self.strided_kernels[kinds] = kernel
        return kernel


def run(op, arrays, options=(), dtype=None, result=None, out=None):
    """What an elementwise operation gives for arrays, or NotImplemented where it has no kernel for them.

    Args:
        op: the record of the operation.
        arrays: its operands in schema order: arrays of any dtype, 0-dim arrays for numbers, None where one is absent.
        options: the values of its other arguments, in schema order.
        dtype: the NumPy dtype in which it is computed (that of the last array); operands are converted on their way in,
            the mask of `where` and the operands of logical operations excepted. Half precision is computed in float32.
        result: the dtype of the result: bool for comparisons and logic, else ``dtype``.
        out: an array of the broadcast shape to write into, of any dtype; made if not given.
    """
    if op.with_number is not None and arrays[1].ndim == 0:  # a power: the exponent decides what is computed
        options, arrays = (arrays[1].item(),), arrays[:1]
    key = [op, dtype, result, options]
    if 0.0 in options:  # zeros of both signs are equal
        key.append(repr(options))
    arguments, shape, is_flat = [], None, True
    for array in arrays:
        if array is None:
            key.append(None)
            continue
        if array.ndim:
            if shape is None:
                shape = array.shape
            elif array.shape != shape:
                is_flat = False
            if not array.flags.c_contiguous:
                is_flat = False
            key.append(array.dtype.num)
            arguments.append(array)
        else:
            key.append(~array.dtype.num)
            arguments.append(array.item())
    if out is not None:
        key.append(out.dtype)
        is_flat = is_flat and out.flags.c_contiguous and out.shape == shape
    key = tuple(key)
    try:
        entry = _entries[key]
    except KeyError:
        entry = _entries[key] = _entry(op, arrays, options, dtype, result if out is None else out.dtype)
    if entry is None:
        return complex_numbers.run(op, arrays, options, dtype, out, run)
    if shape is None:
        return NotImplemented
    if out is not None:
        arguments = _apart(arguments, out)
    if is_flat:
        return entry.run_flat(arguments, empty(shape, entry.dtype) if out is None else out)
    return entry.run_strided(arguments, [a for a in arguments if a.__class__ is ndarray], out)


def _apart(arguments, out):
    """The operands, copied where they share memory with ``out`` in another layout."""
    found = []
    for value in arguments:
        if value.__class__ is ndarray and value is not out and np.may_share_memory(value, out):
            same = value.__array_interface__["data"] == out.__array_interface__["data"]
            if not (same and value.shape == out.shape and value.strides == out.strides and value.dtype == out.dtype):
                value = value.copy()
        found.append(value)
    return found


def entry_of(op, array, options):
    """The Entry of a call with one array; None where there is no kernel for it."""
    return _entry(op, [array], options, None, None)


def planned_entry(op, layouts, options, dtype, result):
    """The Entry of operands of certain Layouts, None where one is absent; None where there is no kernel for them."""
    kinds = tuple([layout if layout is None else (layout.dtype, layout.ndim == 0) for layout in layouts])
    key = "planned", op, kinds, repr(options), dtype, result
    if key not in _entries:
        _entries[key] = _entry(op, layouts, options, dtype, result)
    return _entries[key]


def _entry(op, arrays, options, dtype, result):
    """The Entry of a call, for arrays or Layouts; None where there is no kernel for it."""
    present = [a for a in arrays if a is not None]
    if not present or any(not a.dtype.isnative for a in present):
        return None
    rule = op.dtype_rule
    if dtype is None:
        dtype = present[-1].dtype
    if op.numpy in _OF_SIGN_BIT and is_half(dtype) and result in (None, dtype) and arrays[0].dtype == dtype:
        return _entry_of_bits(op, arrays[0])
    formula = formula_of(op, dtype)
    if formula is None or (op.rounds_inside is not None and is_half(dtype) and op.rounds_inside(*options)):
        return None
    if op.numpy is not None and is_half(dtype):  # as NumPy's functions get them
        with np.errstate(over="ignore"):
            options = tuple([float(dtype.type(o)) if o.__class__ is float else o for o in options])
    if result is None:
        result = BOOL if rule in (COMPARE, LOGICAL) else dtype
    keep = [rule == MASKED and i == 0 for i in range(len(arrays))]
    return made(op.name, formula, arrays, options, dtype, result, keep)


_OF_SIGN_BIT = {np.negative: lambda m, bits: bits ^ 0x8000, np.abs: lambda m, bits: bits & 0x7FFF}


def _entry_of_bits(op, array):
    """The Entry of what only moves the sign of half precision: its bits need no float32, and NaN keeps its own."""
    words = Layout((1,) * array.ndim, _WORDS[2])
    entry = made(op.name, _OF_SIGN_BIT[op.numpy], [words], (), _WORDS[2], _WORDS[2], [False])
    if entry is not None:
        entry.dtype = array.dtype
    return entry


def made(name, formula, arrays, options, dtype, result, keep):
    """The Entry of a formula ``formula(m, *elements, *options)``; None where it cannot be traced.

    ``keep`` says for each operand whether it enters in its own dtype, not in ``dtype``.
    """
    computed, stored = scalar_of(dtype), scalar_of(result)
    if computed is None or stored is None or host() is None:
        return None
    computed = _COMPUTED.get(computed, computed)
    operands = []
    for array, kept in zip(arrays, keep):
        if array is None:
            operands.append(None)
            continue
        memory = scalar_of(array.dtype)
        if memory is None or (memory == "u64" and not array.ndim):
            return None
        inner = _COMPUTED.get(memory, memory) if kept else computed
        operands.append((memory if array.ndim else "number", inner))
    options = tuple(Number(o) if o.__class__ is float and computed in ("f32", "f64") else o for o in options)
    trail = Trail([NUMPY[pair[1]] for pair in operands if pair])

    def bound(m, *elements):
        return formula(m, *elements, *options)

    try:
        elements = iter(trail.elements)
        found = bound(trail, *(None if pair is None else next(elements) for pair in operands))
        if found is NotImplemented:
            return None
        steps = [*trail.steps, "result", found.value]
        signature = Signature(name, bound, operands, computed, stored, len(trail.numbers))
        entry = Entry(signature, np.dtype(result), tuple(trail.numbers), steps, trail.cost)
        if (name, entry.key) not in _emittable:  # what cannot be emitted says so here, before anything is compiled
            elementwise_programs.flat(signature, 1)
            _emittable.add((name, entry.key))
    except Untraceable:
        return None
    return entry


_fused = {}  # (formula, dtype) -> Entry, or None


def fused(formula, arrays, out=None):
    """What a formula ``formula(m, *elements)`` gives for arrays of one dtype and shape, in ``out`` if given; NotImplemented
    where it has no kernel for them."""
    first = arrays[0]
    key = formula, first.dtype
    if key not in _fused:
        made_here = made(formula.__name__, formula, arrays, (), first.dtype, first.dtype, [False] * len(arrays))
        _fused[key] = made_here if first.dtype.isnative else None
    entry = _fused[key]
    if entry is None or any(array.dtype is not first.dtype or array.shape != first.shape for array in arrays):
        return NotImplemented
    flat = all(array.flags.c_contiguous for array in arrays)
    if flat and (out is None or out.flags.c_contiguous):
        return entry.run_flat(arrays, empty(first.shape, first.dtype) if out is None else out)
    return entry.run_strided(arrays, arrays, out)


# ---------------------------------------------------------------- copies

_copies = {}  # (dtype, dtype) -> Entry, or None
_WORDS = {
    2: np.dtype(np.uint16),
    8: np.dtype(np.uint64),
}  # as what half precision and complex64 are moved, by their size


def _same(m, x):
    return x


def copy(array, dtype=None, out=None):
    """A copy of an array in a dtype (its own): C-contiguous, or into ``out``, to whose shape it is broadcast.

    Floating-point numbers become integers as in C. NotImplemented for dtypes or strides without a kernel.
    """
    dtype = out.dtype if out is not None else dtype or array.dtype
    if array.dtype == dtype and (is_half(dtype) or dtype.char == "F") and array.dtype.isnative and array.ndim:
        found = copy(array.view(_WORDS[dtype.itemsize]), out=None if out is None else out.view(_WORDS[dtype.itemsize]))
        return found if found is NotImplemented else found.view(dtype) if out is None else out
    key = array.dtype, dtype, array.ndim == 0
    if key not in _copies:
        entry = made("copy", _same, [array], (), dtype, dtype, [True]) if array.dtype.isnative else None
        _copies[key] = entry
    entry = _copies[key]
    if out is None:
        out = empty(array.shape, dtype)
    if entry is None:
        return complex_numbers.copy(array, out, copy)
    if array.ndim:
        (array,) = _apart([array], out)
        if array.shape == out.shape and array.flags.c_contiguous and out.flags.c_contiguous:
            return entry.run_flat([array], out)
        return entry.run_strided([array], [array], out)
    number = [array.item()]
    return entry.run_flat(number, out) if out.flags.c_contiguous else entry.run_strided(number, [], out)
