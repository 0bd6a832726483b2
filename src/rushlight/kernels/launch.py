"""Calling compiled programs from Python: entry points that are built-in functions, made at run time.

``ctypes`` would take longer to call than many kernels to run. A built-in function that reads the addresses straight out
of the NumPy arrays costs 50 to 100 ns. Arguments are checked for their class only: which dtype, layout and size fit is
for the caller to know.
"""

from __future__ import annotations

import ctypes

import numpy as np

from .emit import LAUNCH_COUNTERS

_METH_FASTCALL = 0x0080
_HEADER = object.__basicsize__  # bytes of a Python object before its own fields
_CLASS = _HEADER - 8  # where its type stands: the last field of the header, with or without a global lock
_LIST_ITEMS, _LIST_SIZE = list.__basicsize__ - 16, _HEADER  # of PyListObject: ob_item and ob_size
_API = ("PyErr_BadArgument", "PyErr_Occurred", "PyLong_AsSsize_t", "PyFloat_AsDouble", "PyEval_SaveThread")
_API += ("PyEval_RestoreThread", "Py_IncRef")


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
    return {**addresses, "ndarray_type": id(np.ndarray), "list_type": id(list), "none": id(None)}


def built_in(name, address):
    """A built-in function of that name whose code (with CPython's fast calling convention) is at ``address``.

    The function keeps its definition alive, not its code.
    """
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
    _definitions.append(definition)
    return _new_function(ctypes.byref(definition), None, None)


_definitions = []  # they must outlive the functions, which live as long as the process


def _check_class(value, symbol, i, tag):
    return f"""
  %class{tag}{i} = getelementptr i8, ptr {value}, i64 {_CLASS}
  %is{tag}{i} = load ptr, ptr %class{tag}{i}
  %fits{tag}{i} = icmp eq ptr %is{tag}{i}, @{symbol}"""


def _unpack_array(i):
    """An array's address; NULL for None."""
    return f"""
  %none{i} = icmp eq ptr %value{i}, @none
  br i1 %none{i}, label %absent{i}, label %check{i}
absent{i}:
  store ptr null, ptr %slot{i}
  br label %next{i}
check{i}:{_check_class(f"%value{i}", "ndarray_type", i, "a")}
  br i1 %fitsa{i}, label %array{i}, label %refuse
array{i}:
  %field{i} = getelementptr i8, ptr %value{i}, i64 {_HEADER}
  %data{i} = load ptr, ptr %field{i}
  store ptr %data{i}, ptr %slot{i}
  br label %next{i}
next{i}:"""


def _unpack_list(i):
    """A table of the addresses of a list's arrays, on the stack."""
    return f"""{_check_class(f"%value{i}", "list_type", i, "l")}
  br i1 %fitsl{i}, label %list{i}, label %refuse
list{i}:
  %size_at{i} = getelementptr i8, ptr %value{i}, i64 {_LIST_SIZE}
  %items_at{i} = getelementptr i8, ptr %value{i}, i64 {_LIST_ITEMS}
  %size{i} = load i64, ptr %size_at{i}
  %items{i} = load ptr, ptr %items_at{i}
  %table{i} = alloca ptr, i64 %size{i}
  store ptr %table{i}, ptr %slot{i}
  br label %head{i}
head{i}:
  %index{i} = phi i64 [0, %list{i}], [%following{i}, %element{i}]
  %more{i} = icmp slt i64 %index{i}, %size{i}
  br i1 %more{i}, label %body{i}, label %next{i}
body{i}:
  %item_at{i} = getelementptr ptr, ptr %items{i}, i64 %index{i}
  %item{i} = load ptr, ptr %item_at{i}{_check_class(f"%item{i}", "ndarray_type", i, "e")}
  br i1 %fitse{i}, label %element{i}, label %refuse
element{i}:
  %field{i} = getelementptr i8, ptr %item{i}, i64 {_HEADER}
  %data{i} = load ptr, ptr %field{i}
  %entry{i} = getelementptr ptr, ptr %table{i}, i64 %index{i}
  store ptr %data{i}, ptr %entry{i}
  %following{i} = add i64 %index{i}, 1
  br label %head{i}
next{i}:"""


def _unpack_number(i, function, llvm, failed):
    """An int or float; CPython's conversions answer -1 for an error."""
    narrow = f"\n  %single{i} = fptrunc double %number{i} to float" if llvm == "float" else ""
    result = "double" if function == "PyFloat_AsDouble" else "i64"
    stored = f"float %single{i}" if narrow else f"{result} %number{i}"
    return f"""
  %number{i} = call {result} @{function}(ptr %value{i})
  %suspect{i} = {failed} {result} %number{i}, {"-1.0" if result == "double" else "-1"}
  br i1 %suspect{i}, label %doubt{i}, label %next{i}
doubt{i}:
  %error{i} = call ptr @PyErr_Occurred()
  %clean{i} = icmp eq ptr %error{i}, null
  br i1 %clean{i}, label %next{i}, label %fail
next{i}:{narrow}
  store {stored}, ptr %slot{i}"""


def _unpack(i, type):
    fetch = f"""
  %value_at{i} = getelementptr ptr, ptr %arguments, i64 {i}
  %value{i} = load ptr, ptr %value_at{i}
  %slot{i} = getelementptr i64, ptr %context, i64 {i}"""
    if type.is_pointer:
        return fetch + (_unpack_list(i) if type.element.is_pointer else _unpack_array(i))
    if type.scalar == "i64":
        return fetch + _unpack_number(i, "PyLong_AsSsize_t", "i64", "icmp eq")
    if type.scalar in ("f32", "f64"):
        return fetch + _unpack_number(i, "PyFloat_AsDouble", "float" if type.scalar == "f32" else "double", "fcmp oeq")
    raise TypeError(f"an entry point takes pointers, i64, f32 and f64, no {type}")


def _entry_point(name, parameters, call):
    count = len(parameters)
    steps = "".join(_unpack(i, parameter.type) for i, parameter in enumerate(parameters))
    counters = "\n".join(
        f"  %counter{at} = getelementptr i8, ptr %launch, i64 {at}\n  store i64 0, ptr %counter{at}"
        for at in LAUNCH_COUNTERS
    )
    return f"""
define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{
  %context = alloca [{max(count, 1)} x i64], align 8
  %launch = alloca [128 x i8], align 64
  %complete = icmp eq i64 %count, {count}
  br i1 %complete, label %unpack, label %refuse
unpack:{steps}
{counters}
  %before = load i64, ptr @launches
  %after = add i64 %before, 1
  store i64 %after, ptr @launches
{call}
  call void @Py_IncRef(ptr @none)
  ret ptr @none
refuse:
  %r = call i32 @PyErr_BadArgument()
  ret ptr null
fail:
  ret ptr null
}}"""


def entry_points(program):
    """IR of the built-in functions ``call_alone`` and, for parallel programs, ``call_threaded``.

    The first computes on the calling thread and keeps the interpreter's lock; the second lets it go and calls the other
    threads in. ``launches`` counts the calls of both.
    """
    parameters = program.entry.parameters
    texts = [_entry_point("call_alone", parameters, "  call void @entry(ptr %context, i64 0, ptr %launch)")]
    if program.is_parallel:
        call = """  %thread = call ptr @PyEval_SaveThread()
  call void @run(ptr @entry, ptr %context, ptr %launch)
  call void @PyEval_RestoreThread(ptr %thread)"""
        texts.append(_entry_point("call_threaded", parameters, call))
    declarations = """
@launches = global i64 0
@none = external global i8
@ndarray_type = external global i8
@list_type = external global i8
declare i32 @PyErr_BadArgument()
declare ptr @PyErr_Occurred()
declare i64 @PyLong_AsSsize_t(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @run(ptr, ptr, ptr)
"""
    return "\n".join(texts) + declarations
