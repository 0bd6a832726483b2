"""A debug allocator for NumPy's arrays: each between pages that may not be touched, so that a byte too far is a fault.

`guard` makes NumPy take the memory of all new arrays (operands, results, scratch) from here. An array lies flush against the
page behind it, or against the one before it; the bytes that are left over on its other side hold a pattern, which is looked
at when the array is freed. Fresh memory holds another pattern, so that nobody takes what happens to be there for zeros.

The allocator's functions are machine code (NumPy may free arrays while an exception is on its way, when no Python code
can run). For Linux. An array costs about 10 us.
"""

import ctypes
import mmap

import numpy as np

from rushlight.kernels.machine.host import host
from rushlight.tensor.base import _without_warnings

AFTER, BEFORE = "after", "before"  # the side on which the page that may not be touched follows at once
PAGE = mmap.PAGESIZE
_PATTERN = -0x5B  # a byte, as LLVM writes it
_SET_HANDLER = 304  # the place of PyDataMem_SetHandler among the functions of NumPy's C interface (NEP 49)
_FLAGS, _READ_WRITE = mmap.MAP_PRIVATE | mmap.MAP_ANON, mmap.PROT_READ | mmap.PROT_WRITE
_MOST = 1 << 40  # bytes: NumPy is told that there is no more memory

# Four parts: a page with the array's size, a forbidden page, the array's own pages, a forbidden page. ``state`` is the
# handler's: whether arrays lie against the page behind them, the byte that fresh memory holds, how many were damaged.
_CODE = f"""
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @memmove(ptr, ptr, i64)
define internal i64 @room_of(i64 %size) {{
  %more = add i64 %size, {PAGE - 1}
  %room = and i64 %more, {-PAGE}
  ret i64 %room
}}
define internal ptr @base_of(ptr %start) {{
  %address = ptrtoint ptr %start to i64
  %page = and i64 %address, {-PAGE}
  %base = sub i64 %page, {2 * PAGE}
  %found = inttoptr i64 %base to ptr
  ret ptr %found
}}
define internal ptr @new(ptr %state, i64 %wanted, i32 %fill) {{
  %none = icmp eq i64 %wanted, 0
  %size = select i1 %none, i64 1, i64 %wanted
  %too_large = icmp ugt i64 %size, {_MOST}
  br i1 %too_large, label %refuse, label %map
map:
  %room = call i64 @room_of(i64 %size)
  %all = add i64 %room, {3 * PAGE}
  %base = call ptr @mmap(ptr null, i64 %all, i32 {_READ_WRITE}, i32 {_FLAGS}, i32 -1, i64 0)
  %failed = icmp eq ptr %base, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %refuse, label %protect
protect:
  store i64 %size, ptr %base
  %before = getelementptr i8, ptr %base, i64 {PAGE}
  %first = getelementptr i8, ptr %base, i64 {2 * PAGE}
  %behind = getelementptr i8, ptr %first, i64 %room
  %r = call i32 @mprotect(ptr %before, i64 {PAGE}, i32 0)
  %q = call i32 @mprotect(ptr %behind, i64 {PAGE}, i32 0)
  %either = or i32 %r, %q
  %guarded = icmp eq i32 %either, 0
  br i1 %guarded, label %fill_in, label %refuse
fill_in:
  %p = call ptr @memset(ptr %first, i32 {_PATTERN}, i64 %room)
  %after = load i64, ptr %state
  %against_the_end = icmp ne i64 %after, 0
  %rest = sub i64 %room, %size
  %shift = select i1 %against_the_end, i64 %rest, i64 0
  %start = getelementptr i8, ptr %first, i64 %shift
  %s = call ptr @memset(ptr %start, i32 %fill, i64 %size)
  ret ptr %start
refuse:
  ret ptr null
}}
define ptr @allocate(ptr %state, i64 %size) {{
  %fill_at = getelementptr i8, ptr %state, i64 8
  %fill = load i32, ptr %fill_at
  %found = call ptr @new(ptr %state, i64 %size, i32 %fill)
  ret ptr %found
}}
define ptr @allocate_zeros(ptr %state, i64 %count, i64 %each) {{
  %size = mul i64 %count, %each
  %found = call ptr @new(ptr %state, i64 %size, i32 0)
  ret ptr %found
}}
define ptr @change_size(ptr %state, ptr %start, i64 %size) {{
  %found = call ptr @allocate(ptr %state, i64 %size)
  %nothing = icmp eq ptr %start, null
  br i1 %nothing, label %done, label %move
move:
  %base = call ptr @base_of(ptr %start)
  %old = load i64, ptr %base
  %smaller = icmp ult i64 %old, %size
  %kept = select i1 %smaller, i64 %old, i64 %size
  %r = call ptr @memmove(ptr %found, ptr %start, i64 %kept)
  call void @release(ptr %state, ptr %start, i64 %old)
  br label %done
done:
  ret ptr %found
}}
define void @release(ptr %state, ptr %start, i64 %told) {{  ; NumPy's idea of the size is not asked for
  %nothing = icmp eq ptr %start, null
  br i1 %nothing, label %done, label %look
look:
  %base = call ptr @base_of(ptr %start)
  %size = load i64, ptr %base
  %room = call i64 @room_of(i64 %size)
  %first = getelementptr i8, ptr %base, i64 {2 * PAGE}
  %end = getelementptr i8, ptr %start, i64 %size
  %behind = getelementptr i8, ptr %first, i64 %room
  br label %bytes
bytes:
  %at = phi ptr [%first, %look], [%next, %right]
  %more = icmp ne ptr %at, %behind
  br i1 %more, label %byte, label %give_back
byte:
  %inside = icmp eq ptr %at, %start
  %beyond = select i1 %inside, ptr %end, ptr %at  ; over the array itself
  %over = icmp eq ptr %beyond, %behind
  br i1 %over, label %give_back, label %compare
compare:
  %value = load i8, ptr %beyond
  %same = icmp eq i8 %value, {_PATTERN}
  br i1 %same, label %right, label %damaged
right:
  %next = getelementptr i8, ptr %beyond, i64 1
  br label %bytes
damaged:
  %count_at = getelementptr i8, ptr %state, i64 16
  %count = load i64, ptr %count_at
  %another = add i64 %count, 1
  store i64 %another, ptr %count_at
  br label %give_back
give_back:
  %all = add i64 %room, {3 * PAGE}
  %r = call i32 @munmap(ptr %base, i64 %all)
  br label %done
done:
  ret void
}}
"""
_FUNCTIONS = ("allocate", "allocate_zeros", "change_size", "release")


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("state", ctypes.c_void_p)) + tuple(
        (name, ctypes.c_void_p) for name in _FUNCTIONS
    )


_kept = []  # handlers live as long as the arrays that they made


def refill(fill):
    """From now on each byte of fresh memory is this one, where `guard` has been called."""
    for _, state, *_ in _kept:
        state[1] = fill


def guard(side=AFTER, fill=0xFF):
    """From now on NumPy's new arrays, of this thread, lie between forbidden pages.

    ``fill`` is each byte of fresh memory. Returns a function that tells beside how many arrays, of those freed since it was
    asked last, something was written.
    """
    libc = ctypes.CDLL(None)
    names = ("mmap", "mprotect", "munmap", "memset", "memmove")
    imports = {name: ctypes.cast(getattr(libc, name), ctypes.c_void_p).value for name in names}
    addresses, code = host().load(host().compile(_CODE), _FUNCTIONS, imports)
    state = (ctypes.c_int64 * 3)(side == AFTER, fill, 0)
    functions = [addresses[name] for name in _FUNCTIONS]
    handler = _Handler(b"between forbidden pages", 1, ctypes.addressof(state), *functions)
    new_capsule, pointer_of = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
    new_capsule.restype, pointer_of.restype = ctypes.py_object, ctypes.c_void_p
    new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    capsule_name = b"mem_handler"
    capsule = new_capsule(ctypes.addressof(handler), capsule_name, None)
    table = pointer_of(np._core._multiarray_umath._ARRAY_API, None)
    set_handler = ctypes.c_void_p.from_address(table + _SET_HANDLER * ctypes.sizeof(ctypes.c_void_p)).value
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(set_handler)
    set_handler(capsule)
    _without_warnings.run(set_handler, capsule)  # the handler is a context's, and operations are computed in this one
    _kept.append((code, state, handler, capsule_name, capsule))

    def damages():
        count, state[2] = state[2], 0
        return count

    return damages
