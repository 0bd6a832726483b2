"""Built-in functions, made at run time, that look whether the arrays of lists are alike: 10 ns each, not 200."""

from __future__ import annotations

import functools

from ..compiler.kernel import stored_code
from ..machine import launch
from ..machine.host import host

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
@true = external dso_local global i8
@false = external dso_local global i8
@ndarray_type = external dso_local global i8
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


def pair_code():
    """LLVM IR of ``alike``, a built-in function of two lists of arrays and the bytes of an element.

    It returns whether the lists are equally long and each array of the first and the one at its place in the second are NumPy
    arrays that lie row by row, of one dtype object and equal shapes, and share no memory.
    """
    return f"""
define ptr @alike(ptr %self, ptr %arguments, i64 %given) nounwind {{
{_two_lists()}
{_each_pair()}
{_equal_lengths()}
{_memory_apart()}
}}
@true = external dso_local global i8
@false = external dso_local global i8
@ndarray_type = external dso_local global i8
declare i64 @PyLong_AsSsize_t(ptr)
declare void @Py_IncRef(ptr)
"""


def _two_lists():
    """The arguments of `pair_code` as machine values, and whether the lists are equally long."""
    return f"""start:
  %first_list = load ptr, ptr %arguments
  %second_at = getelementptr ptr, ptr %arguments, i64 1
  %second_list = load ptr, ptr %second_at
  %size_at = getelementptr ptr, ptr %arguments, i64 2
  %size_object = load ptr, ptr %size_at
  %size = call i64 @PyLong_AsSsize_t(ptr %size_object)
  {_field("count", "%first_list", launch.LIST_SIZE - launch.HEADER, "i64")}
  {_field("other_count", "%second_list", launch.LIST_SIZE - launch.HEADER, "i64")}
  {_field("items", "%first_list", launch.LIST_ITEMS - launch.HEADER, "ptr")}
  {_field("other_items", "%second_list", launch.LIST_ITEMS - launch.HEADER, "ptr")}
  %equally_long = icmp eq i64 %count, %other_count
  br i1 %equally_long, label %more, label %different"""


def _each_pair():
    """The loop over the pairs: leaves for ``different`` if one of them is no array, or they are not alike but for their lengths."""
    return f"""more:
  %k = phi i64 [0, %start], [%next_k, %apart]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %look, label %same
look:
  %next_k = add i64 %k, 1
  %x_at = getelementptr ptr, ptr %items, i64 %k
  %x = load ptr, ptr %x_at
  %y_at = getelementptr ptr, ptr %other_items, i64 %k
  %y = load ptr, ptr %y_at
  {_field("x_class", "%x", launch.CLASS - launch.HEADER, "ptr")}
  {_field("y_class", "%y", launch.CLASS - launch.HEADER, "ptr")}
  %x_is = icmp eq ptr %x_class, @ndarray_type
  %y_is = icmp eq ptr %y_class, @ndarray_type
  %arrays = and i1 %x_is, %y_is
  br i1 %arrays, label %compare, label %different
compare:
{_fields_of("x")}
{_fields_of("y")}
  %one_rank = icmp eq i32 %x_rank, %y_rank
  %one_dtype = icmp eq ptr %x_dtype, %y_dtype
  %flags = and i32 %x_flags, %y_flags
  %row_by_row = and i32 %flags, {_CONTIGUOUS}
  %flat = icmp ne i32 %row_by_row, 0
  %comparable = and i1 %one_rank, %one_dtype
  %fits = and i1 %comparable, %flat
  %rank = sext i32 %x_rank to i64
  br i1 %fits, label %axes, label %different"""


def _equal_lengths():
    """The loop over a pair's axes: the bytes of an array, if the other is as long along each."""
    return """axes:
  %d = phi i64 [0, %compare], [%next_d, %following]
  %bytes = phi i64 [%size, %compare], [%next_bytes, %following]
  %another = icmp slt i64 %d, %rank
  br i1 %another, label %axis, label %ends
axis:
  %x_length_at = getelementptr i64, ptr %x_lengths, i64 %d
  %x_length = load i64, ptr %x_length_at
  %y_length_at = getelementptr i64, ptr %y_lengths, i64 %d
  %y_length = load i64, ptr %y_length_at
  %equal = icmp eq i64 %x_length, %y_length
  br i1 %equal, label %following, label %different
following:
  %next_d = add i64 %d, 1
  %next_bytes = mul i64 %bytes, %x_length
  br label %axes"""


def _memory_apart():
    """Whether a pair shares no memory, and what is returned."""
    return """ends:
  %x_end = getelementptr i8, ptr %x_data, i64 %bytes
  %y_end = getelementptr i8, ptr %y_data, i64 %bytes
  %x_before = icmp ule ptr %x_end, %y_data
  %y_before = icmp ule ptr %y_end, %x_data
  %ordered = or i1 %x_before, %y_before
  br i1 %ordered, label %apart, label %different
apart:
  br label %more
same:
  call void @Py_IncRef(ptr @true)
  ret ptr @true
different:
  call void @Py_IncRef(ptr @false)
  ret ptr @false"""


def _fields_of(name):
    """Loads of what is looked at of the array ``name``."""
    fields = ("data", 0, "ptr"), ("rank", _RANK, "i32"), ("lengths", _LENGTHS, "ptr"), ("dtype", _DTYPE, "ptr")
    each = [_field(f"{name}_{field}", f"%{name}", at, type) for field, at, type in (*fields, ("flags", _FLAGS, "i32"))]
    return "  " + "\n  ".join(each)


@functools.cache
def _built_in(name, code):
    imports = {**launch.python_symbols(), "true": id(True), "false": id(False)}
    addresses, loaded = host().load(stored_code(("array lists", name), code), (name,), imports)
    return launch.built_in(name, addresses[name]), loaded


def alike_function():
    """``alike(arrays, others, itemsize)``, of two lists: see `pair_code`."""
    return _built_in("alike", pair_code)[0]


def begins(arrays, axis, unit, found):
    """Whether the arrays of a list (not empty) fit together along ``axis``; ``found``, int64 and one longer than the list,
    gets where they begin: see `list_code`."""
    return _built_in("begins", list_code)[0](arrays, axis, unit, found)
