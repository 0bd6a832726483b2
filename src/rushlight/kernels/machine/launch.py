"""Calling compiled programs from Python: entry points that are built-in functions, made at run time.

``ctypes`` would take longer to call than many kernels to run. A built-in function that reads the addresses straight out
of the NumPy arrays costs 50 to 100 ns. Arguments are checked for their class only: which dtype, layout and size fit is
for the caller to know.
"""

from __future__ import annotations

import ctypes

import numpy as np

from .tickets import LAUNCH_COUNTERS

_METH_FASTCALL = 0x0080
HEADER = object.__basicsize__  # bytes of a Python object before its own fields
CLASS = HEADER - 8  # where its type stands: the last field of the header, with or without a global lock
LIST_ITEMS, LIST_SIZE = list.__basicsize__ - 16, HEADER  # of PyListObject: ob_item and ob_size
TUPLE_ITEMS = tuple.__basicsize__  # of PyTupleObject: ob_item itself
_API = ("PyErr_BadArgument", "PyErr_Occurred", "PyLong_AsSsize_t", "PyFloat_AsDouble", "PyEval_SaveThread")
_API += ("PyEval_RestoreThread", "Py_IncRef", "PyBytes_FromStringAndSize")


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p)


def python_symbols():
    """Addresses of what the entry points use of CPython and NumPy."""
    addresses = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API}
    return {
        **addresses,
        "ndarray_type": id(np.ndarray),
        "list_type": id(list),
        "tuple_type": id(tuple),
        "none": id(None),
    }


def built_in(name, address):
    """A built-in function of that name whose code (with CPython's fast calling convention) is at ``address``.

    Its definition stays for good: at the end of the process the collector still looks into it when modules are gone.
    """
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return _new_function(ctypes.byref(definition), None, None)


_KINDS = ("array", "list", "i64", "f64", "f32")  # of parameters; a kernel's description has their numbers


def _kind(type):
    if type.is_pointer:
        return "list" if type.element.is_pointer else "array"
    if type.scalar not in _KINDS:
        raise TypeError(f"an entry point takes pointers, i64, f32 and f64, no {type}")
    return type.scalar


def entry_points(program):
    """IR of the built-in functions ``call_alone`` and, for parallel programs, ``call_threaded``.

    The first computes on the calling thread and keeps the interpreter's lock; the second lets it go and calls the other
    threads in. What they have in common with those of all other programs is `launch_code`'s: they hand it the
    program's description, which begins with the count of its launches.
    """
    kinds = [_kind(parameter.type) for parameter in program.entry.parameters]
    numbers = "".join(f"\\{_KINDS.index(kind):02x}" for kind in kinds)
    described = f'i64 0, ptr @entry, i64 {len(kinds)}, [{len(kinds)} x i8] c"{numbers}"'
    types = f"{{ i64, ptr, i64, [{len(kinds)} x i8] }}"
    parts = [f"@description = dso_local global {types} {{ {described} }}\ndeclare ptr @launch(ptr, i64, ptr, i1)"]
    for way in ("alone", "threaded") if program.is_parallel else ("alone",):
        threaded = "true" if way == "threaded" else "false"
        parts.append(f"""define ptr @call_{way}(ptr %self, ptr %arguments, i64 %count) nounwind {{
  %result = tail call ptr @launch(ptr %arguments, i64 %count, ptr @description, i1 {threaded})
  ret ptr %result
}}""")
    return "\n".join(parts) + "\n"


# ---- what all entry points share


def _checked(value, symbol, tag, fits, otherwise="refuse"):
    """Go on at ``fits`` if the object is of the class."""
    return f"""
  %class_{tag} = getelementptr i8, ptr {value}, i64 {CLASS}
  %is_{tag} = load ptr, ptr %class_{tag}
  %fits_{tag} = icmp eq ptr %is_{tag}, @{symbol}
  br i1 %fits_{tag}, label %{fits}, label %{otherwise}
{fits}:"""


_UNPACK_ARRAY = f"""
an_array:  ; its address; NULL for None{_checked("%value", "ndarray_type", "array", "present", "absent")}
  %data_at = getelementptr i8, ptr %value, i64 {HEADER}
  %data = load ptr, ptr %data_at
  store ptr %data, ptr %slot
  br label %following
absent:
  store ptr null, ptr %slot
  %nothing = icmp eq ptr %value, @none
  br i1 %nothing, label %following, label %refuse"""

_UNPACK_LIST = f"""
a_list:  ; a table of its arrays' addresses, on the stack{_checked("%value", "list_type", "list", "listed")}
  %size_at = getelementptr i8, ptr %value, i64 {LIST_SIZE}
  %size = load i64, ptr %size_at
  %items_at = getelementptr i8, ptr %value, i64 {LIST_ITEMS}
  %items = load ptr, ptr %items_at
  %table = alloca ptr, i64 %size
  store ptr %table, ptr %slot
  br label %items_left
items_left:
  %k = phi i64 [0, %listed], [%next_k, %item_fits]
  %another = icmp slt i64 %k, %size
  br i1 %another, label %item, label %following
item:
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %element = load ptr, ptr %item_at{_checked("%element", "ndarray_type", "item", "item_fits")}
  %element_at = getelementptr i8, ptr %element, i64 {HEADER}
  %address = load ptr, ptr %element_at
  %entry_at = getelementptr ptr, ptr %table, i64 %k
  store ptr %address, ptr %entry_at
  %next_k = add i64 %k, 1
  br label %items_left"""

_UNPACK_NUMBERS = f"""
an_integer:
  %integer = call i64 @PyLong_AsSsize_t(ptr %value)
  store i64 %integer, ptr %slot
  %odd_integer = icmp eq i64 %integer, -1
  br i1 %odd_integer, label %doubt, label %following
a_real:
  %real = call double @PyFloat_AsDouble(ptr %value)
  %is_double = icmp eq i8 %kind, {_KINDS.index("f64")}
  br i1 %is_double, label %double, label %single
double:
  store double %real, ptr %slot
  br label %suspect
single:
  %narrow = fptrunc double %real to float
  store float %narrow, ptr %slot
  br label %suspect
suspect:
  %odd_real = fcmp oeq double %real, -1.0
  br i1 %odd_real, label %doubt, label %following
doubt:  ; -1 is how CPython's conversions answer an error, too
  %error = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %error, null
  br i1 %clean, label %following, label %fail"""


_COUNTERS = "".join(
    f"\n  %counter{at} = getelementptr i8, ptr %launch, i64 {at}\n  store i64 0, ptr %counter{at}"
    for at in LAUNCH_COUNTERS
)
_RUN = f"""
go:{_COUNTERS}
  %log = load ptr, ptr @launch_log
  %logged = icmp ne ptr %log, null
  br i1 %logged, label %note, label %begin
note:
  %noted = call ptr @note_launch(ptr %log, ptr %kernel, i1 %threaded)
  br label %begin
begin:
  %log_entry = phi ptr [null, %go], [%noted, %note]
  %before = load i64, ptr %kernel
  %after = add i64 %before, 1
  store i64 %after, ptr %kernel
  %entry_at_kernel = getelementptr i8, ptr %kernel, i64 8
  %entry = load ptr, ptr %entry_at_kernel
  br i1 %threaded, label %together, label %alone
together:
  %thread = call ptr @PyEval_SaveThread()
  call void @run(ptr %entry, ptr %context, ptr %launch)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
alone:
  call void %entry(ptr %context, i64 0, ptr %launch)
  br label %done
done:
  %is_noted = icmp ne ptr %log_entry, null
  br i1 %is_noted, label %note_end, label %over
note_end:
  call void @end_launch(ptr %log_entry)
  br label %over
over:
  call void @Py_IncRef(ptr @none)
  ret ptr @none"""


def launch_code():
    """IR of ``launch``: unpack a call's arguments as a program's description asks for, run its entry, return None."""
    return f"""
define ptr @launch(ptr %arguments, i64 %count, ptr %kernel, i1 %threaded) nounwind {{
  %launch = alloca [128 x i8], align 64
  %expected_at = getelementptr i8, ptr %kernel, i64 16
  %expected = load i64, ptr %expected_at
  %complete = icmp eq i64 %count, %expected
  br i1 %complete, label %unpack, label %refuse
unpack:
  %context = alloca i64, i64 %count
  %kinds = getelementptr i8, ptr %kernel, i64 24
  br label %arguments_left
arguments_left:
  %i = phi i64 [0, %unpack], [%next_i, %following]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %argument, label %go
argument:
  %value_at = getelementptr ptr, ptr %arguments, i64 %i
  %value = load ptr, ptr %value_at
  %slot = getelementptr i64, ptr %context, i64 %i
  %kind_at = getelementptr i8, ptr %kinds, i64 %i
  %kind = load i8, ptr %kind_at
  switch i8 %kind, label %a_real [
    i8 {_KINDS.index("array")}, label %an_array
    i8 {_KINDS.index("list")}, label %a_list
    i8 {_KINDS.index("i64")}, label %an_integer
  ]{_UNPACK_ARRAY}{_UNPACK_LIST}{_UNPACK_NUMBERS}
following:
  %next_i = add i64 %i, 1
  br label %arguments_left{_RUN}
refuse:
  %r = call i32 @PyErr_BadArgument()
  ret ptr null
fail:
  ret ptr null
}}
@none = external dso_local global i8
@ndarray_type = external dso_local global i8
@list_type = external dso_local global i8
declare i32 @PyErr_BadArgument()
declare ptr @PyErr_Occurred()
declare i64 @PyLong_AsSsize_t(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @run(ptr, ptr, ptr)
"""
