"""Built-in functions, made at run time, that look at the arrays of lists: 10 ns each, not 200."""

from __future__ import annotations

import functools

import numpy as np

from ..compiler.kernel import stored_code
from ..machine import launch
from ..machine.host import host

# Bytes from an array object's own fields on (its address comes first): PyArrayObject of NumPy's stable interface.
_RANK, _LENGTHS, _STRIDES, _DTYPE, _FLAGS = 8, 16, 24, 40, 48
_CONTIGUOUS = 1
_KIND = 8  # of a dtype object: the bytes that tell its type and byte order
_ASKED_FLAGS = 0x101  # contiguous, aligned
_MOST_DIMENSIONS = 64
_ROOM = 1 << 14  # numbers that an outline has


def _field(name, object, offset, type):
    at = launch.HEADER + offset
    return f"%{name}_at = getelementptr i8, ptr {object}, i64 {at}\n  %{name} = load {type}, ptr %{name}_at"


def outline_code():
    """LLVM IR of ``outline``, a built-in function of a list or tuple of NumPy arrays and None, and of an int64 array of `_ROOM` numbers.

    It returns bytes that say all that there is to say of the arrays but where they lie: of each its rank, the flags by which
    plans are chosen, its dtype, its lengths and strides. What is like the one before is left out, so the places of the others
    are said, too. None for what is no such list, or has too many different arrays.
    """
    return f"""
define ptr @outline(ptr %self, ptr %arguments, i64 %given) nounwind {{
{_list_and_room()}
{_each_array()}
{_each_axis()}
{_compared_with_the_one_before()}
{_outline()}
}}
@none = external dso_local global i8
@list_type = external dso_local global i8
@tuple_type = external dso_local global i8
@ndarray_type = external dso_local global i8
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @Py_IncRef(ptr)
"""


def _list_and_room():
    """The arguments as machine values."""
    return f"""start:
  %list = load ptr, ptr %arguments
  %room_at = getelementptr ptr, ptr %arguments, i64 1
  %room = load ptr, ptr %room_at
  {_field("words", "%room", 0, "ptr")}
  {_field("class", "%list", launch.CLASS - launch.HEADER, "ptr")}
  %is_list = icmp eq ptr %class, @list_type
  br i1 %is_list, label %a_list, label %no_list
a_list:
  {_field("list_items", "%list", launch.LIST_ITEMS - launch.HEADER, "ptr")}
  br label %sequence
no_list:
  %tuple_items = getelementptr i8, ptr %list, i64 {launch.TUPLE_ITEMS}
  %is_tuple = icmp eq ptr %class, @tuple_type
  br i1 %is_tuple, label %sequence, label %refuse
sequence:
  %items = phi ptr [%list_items, %a_list], [%tuple_items, %no_list]
  {_field("count", "%list", launch.LIST_SIZE - launch.HEADER, "i64")}
  br label %more"""


def _each_array():
    """The loop over the arrays: what one is like goes behind the place ``at``, where its own place in the list belongs."""
    return f"""more:
  %k = phi i64 [0, %sequence], [%next_k, %compared]
  %at = phi i64 [0, %sequence], [%next_at, %compared]
  %before = phi i64 [0, %sequence], [%next_before, %compared]
  %here = getelementptr i64, ptr %words, i64 %at
  store i64 %k, ptr %here
  %left = icmp slt i64 %k, %count
  br i1 %left, label %look, label %done
look:
  %has_room = icmp slt i64 %at, {_ROOM - 3 - 2 * _MOST_DIMENSIONS}
  br i1 %has_room, label %fetch, label %refuse
fetch:
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item_at
  %is_none = icmp eq ptr %item, @none
  br i1 %is_none, label %known, label %present
present:
  {_field("item_class", "%item", launch.CLASS - launch.HEADER, "ptr")}
  %is_array = icmp eq ptr %item_class, @ndarray_type
  br i1 %is_array, label %array, label %refuse
array:
  {_field("item_rank", "%item", _RANK, "i32")}
  {_field("item_lengths", "%item", _LENGTHS, "ptr")}
  {_field("item_strides", "%item", _STRIDES, "ptr")}
  {_field("item_dtype", "%item", _DTYPE, "ptr")}
  {_field("item_flags", "%item", _FLAGS, "i32")}
  {_field("item_kind", "%item_dtype", _KIND, "i64")}
  %asked = and i32 %item_flags, {_ASKED_FLAGS}
  %shifted = shl i32 %asked, 8
  %rank_and_flags = or i32 %shifted, %item_rank
  %item_head = sext i32 %rank_and_flags to i64
  %wide_rank = sext i32 %item_rank to i64
  br label %known
known:
  %head = phi i64 [-1, %fetch], [%item_head, %array]
  %kind = phi i64 [0, %fetch], [%item_kind, %array]
  %rank = phi i64 [0, %fetch], [%wide_rank, %array]
  %lengths = phi ptr [null, %fetch], [%item_lengths, %array]
  %strides = phi ptr [null, %fetch], [%item_strides, %array]
  %head_place = getelementptr i64, ptr %here, i64 1
  store i64 %head, ptr %head_place
  %kind_place = getelementptr i64, ptr %here, i64 2
  store i64 %kind, ptr %kind_place
  br label %axes"""


def _each_axis():
    """The loop over an array's axes."""
    return """axes:
  %d = phi i64 [0, %known], [%next_d, %axis]
  %end = phi i64 [3, %known], [%next_end, %axis]
  %another = icmp slt i64 %d, %rank
  br i1 %another, label %axis, label %compare
axis:
  %length_at = getelementptr i64, ptr %lengths, i64 %d
  %length = load i64, ptr %length_at
  %length_place = getelementptr i64, ptr %here, i64 %end
  store i64 %length, ptr %length_place
  %stride_at = getelementptr i64, ptr %strides, i64 %d
  %stride = load i64, ptr %stride_at
  %stride_place = getelementptr i64, ptr %length_place, i64 1
  store i64 %stride, ptr %stride_place
  %next_d = add i64 %d, 1
  %next_end = add i64 %end, 2
  br label %axes"""


def _compared_with_the_one_before():
    """The loop over what was written: it stays where it differs from what is written of the array before."""
    return """compare:
  %earlier = getelementptr i64, ptr %words, i64 %before
  %is_first = icmp eq i64 %k, 0
  br i1 %is_first, label %compared, label %words_left
words_left:
  %j = phi i64 [1, %compare], [%next_j, %same_word]
  %word_left = icmp slt i64 %j, %end
  br i1 %word_left, label %word, label %compared
word:
  %new_at = getelementptr i64, ptr %here, i64 %j
  %new = load i64, ptr %new_at
  %old_at = getelementptr i64, ptr %earlier, i64 %j
  %old = load i64, ptr %old_at
  %equal = icmp eq i64 %new, %old
  br i1 %equal, label %same_word, label %compared
same_word:
  %next_j = add i64 %j, 1
  br label %words_left
compared:
  %differs = phi i1 [true, %compare], [false, %words_left], [true, %word]
  %behind = add i64 %at, %end
  %next_at = select i1 %differs, i64 %behind, i64 %at
  %next_before = select i1 %differs, i64 %at, i64 %before
  %next_k = add i64 %k, 1
  br label %more"""


def _outline():
    """The results: what was written, up to the number of arrays behind it, or None."""
    return """done:
  %number = add i64 %at, 1
  %size = mul i64 %number, 8
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %words, i64 %size)
  ret ptr %bytes
refuse:
  call void @Py_IncRef(ptr @none)
  ret ptr @none"""


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


def outline_function():
    """``outline(arrays, room)``, of a list: see `outline_code`."""
    return _built_in("outline", outline_code)[0]


@functools.cache
def outline_room():
    """The array that the function ``outline`` writes to before it knows how long its result is."""
    return np.empty(_ROOM, np.int64)
