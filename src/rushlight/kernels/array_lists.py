"""A built-in function, made at run time, that looks whether the arrays of a list are alike: 10 ns each, not 200."""

from __future__ import annotations

import functools

from . import launch
from .host import host
from .kernel import stored_code

# Bytes from an array object's own fields on (its address comes first): PyArrayObject of NumPy's stable interface.
_RANK, _LENGTHS, _DTYPE, _FLAGS = 8, 16, 40, 48
_CONTIGUOUS = 1


def _field(name, object, offset, type):
    at = launch.HEADER + offset
    return f"%{name}_at = getelementptr i8, ptr {object}, i64 {at}\n  %{name} = load {type}, ptr %{name}_at"


def list_code():
    """LLVM IR of ``begins``, a built-in function of a list of arrays, an axis, a unit and an int64 array.

    Where all are NumPy arrays that lie row by row, with one dtype object, and of equal lengths along all axes but the one
    given, it returns True, and the int64 array has where each array begins, and the last one ends, if they lie one behind the
    other along the axis, counted in so many units for each position there. An axis of -1 is none: each array is one unit.
    """
    return f"""
define ptr @begins(ptr %self, ptr %arguments, i64 %given) nounwind {{
{_arguments()}
{_each_array()}
{_each_axis()}
{_result()}
}}
@true = external global i8
@false = external global i8
@ndarray_type = external global i8
declare i64 @PyLong_AsSsize_t(ptr)
declare void @Py_IncRef(ptr)
"""


def _arguments():
    """The arguments as machine values, and what the first array is like."""
    return f"""start:
  %list = load ptr, ptr %arguments
  %axis_at = getelementptr ptr, ptr %arguments, i64 1
  %axis_object = load ptr, ptr %axis_at
  %axis = call i64 @PyLong_AsSsize_t(ptr %axis_object)
  %unit_at = getelementptr ptr, ptr %arguments, i64 2
  %unit_object = load ptr, ptr %unit_at
  %unit = call i64 @PyLong_AsSsize_t(ptr %unit_object)
  %out_at = getelementptr ptr, ptr %arguments, i64 3
  %out = load ptr, ptr %out_at
  {_field("begins", "%out", 0, "ptr")}
  {_field("count", "%list", launch.LIST_SIZE - launch.HEADER, "i64")}
  {_field("items", "%list", launch.LIST_ITEMS - launch.HEADER, "ptr")}
  %first = load ptr, ptr %items
  {_field("first_rank", "%first", _RANK, "i32")}
  {_field("first_lengths", "%first", _LENGTHS, "ptr")}
  {_field("first_dtype", "%first", _DTYPE, "ptr")}
  %rank = sext i32 %first_rank to i64
  br label %more"""


def _each_array():
    """The loop over the arrays: stores where one begins, and leaves for ``done`` if it is not like the first."""
    return f"""more:
  %k = phi i64 [0, %start], [%next_k, %fits]
  %begin = phi i64 [0, %start], [%next_begin, %fits]
  %place = getelementptr i64, ptr %begins, i64 %k
  store i64 %begin, ptr %place
  %left = icmp slt i64 %k, %count
  br i1 %left, label %look, label %done
look:
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item_at
  %class_at = getelementptr i8, ptr %item, i64 {launch.CLASS}
  %class = load ptr, ptr %class_at
  %is_array = icmp eq ptr %class, @ndarray_type
  br i1 %is_array, label %array, label %done
array:
  {_field("item_rank", "%item", _RANK, "i32")}
  {_field("item_lengths", "%item", _LENGTHS, "ptr")}
  {_field("item_dtype", "%item", _DTYPE, "ptr")}
  {_field("item_flags", "%item", _FLAGS, "i32")}
  %row_by_row = and i32 %item_flags, {_CONTIGUOUS}
  %flat = icmp ne i32 %row_by_row, 0
  %same_rank = icmp eq i32 %item_rank, %first_rank
  %same_dtype = icmp eq ptr %item_dtype, %first_dtype
  %both = and i1 %same_rank, %same_dtype
  %comparable = and i1 %both, %flat
  br i1 %comparable, label %axes, label %done"""


def _each_axis():
    """The loop over an array's axes: its extent along the axis given, if it is as long as the first along all others."""
    return """axes:
  %d = phi i64 [0, %array], [%next_d, %following]
  %extent = phi i64 [1, %array], [%next_extent, %following]
  %another = icmp slt i64 %d, %rank
  br i1 %another, label %compare, label %fits
compare:
  %length_at = getelementptr i64, ptr %item_lengths, i64 %d
  %length = load i64, ptr %length_at
  %is_axis = icmp eq i64 %d, %axis
  br i1 %is_axis, label %following, label %across
across:
  %wanted_at = getelementptr i64, ptr %first_lengths, i64 %d
  %wanted = load i64, ptr %wanted_at
  %equal = icmp eq i64 %length, %wanted
  br i1 %equal, label %following, label %done
following:
  %next_extent = phi i64 [%length, %compare], [%extent, %across]
  %next_d = add i64 %d, 1
  br label %axes"""


def _result():
    """The end of the loop over the arrays, and whether it came to the last."""
    return """fits:
  %step = mul i64 %extent, %unit
  %next_begin = add i64 %begin, %step
  %next_k = add i64 %k, 1
  br label %more
done:
  %complete = icmp eq i64 %k, %count
  %verdict = select i1 %complete, ptr @true, ptr @false
  call void @Py_IncRef(ptr %verdict)
  ret ptr %verdict"""


@functools.cache
def _built_in():
    imports = {**launch.python_symbols(), "true": id(True), "false": id(False)}
    addresses, loaded = host().load(stored_code(("array lists",), list_code), ("begins",), imports)
    return launch.built_in("begins", addresses["begins"]), loaded


def begins(arrays, axis, unit, found):
    """Whether the arrays of a list (not empty) fit together along ``axis``; ``found``, int64 and one longer than the list,
    gets where they begin: see `list_code`."""
    return _built_in()[0](arrays, axis, unit, found)
