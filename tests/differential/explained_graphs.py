"""Where programs on graphs may differ: cases like those of explained.py, which gathers them."""

from __future__ import annotations

import re

import torch
from libraries import Raised, attempt

_WRITING = ("write", "foreach", "out", "custom")  # the steps of programs that compute into a tensor


def _writes_numbers(case):
    return case.name == "graph program" and case.told.startswith(_WRITING) and " at [" in case.told


def write_into_windows(case):
    """Writes into a tensor of which several elements are one place in memory, as the windows of `unfold` are: PyTorch's pages leave
    open what comes out, and it is what the order of its loop gives. Here each result is computed from what was there before."""
    return _writes_numbers(case) and any(map(_overlaps_itself, case.operands))


def _overlaps_itself(tensor):
    reach = 0  # from the first to the last element of the dimensions so far, from the nearest neighbours on
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


def write_of_its_own_window(case):
    """Writes whose two operands share some places in memory, as a matrix and its diagonal do: PyTorch refuses them where it
    notices, which it does of tensors without gaps, and else reads what its loop has written already."""
    shapes = re.match(r"[a-z ]+\((\[[\d, ]*\])t?, (\[[\d, ]*\])t?, ", case.told)
    if not _writes_numbers(case) or shapes is None:
        return False
    first, second = ([each for each in case.operands if str(list(each.shape)) == shape] for shape in shapes.groups())
    return any(_shares_places(a, b) for a in first for b in second)


def _shares_places(first, second):
    if first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr() or first.dtype != second.dtype:
        return False
    places, others = (_places(each) for each in (first, second))
    gaps = any(int(each.max()) - int(each.min()) >= each.numel() for each in (places, others) if each.numel())
    return gaps and not places.equal(others) and bool(torch.isin(places, others).any())


def _places(tensor):
    """Which element of its storage each element is, as a vector."""
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    return torch.arange(count).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).flatten()


def replayed_view(case):
    """A view as real numbers or with a lazy bit, whose base took another shape (`transpose_`) since: PyTorch makes the view again from
    the base as it is now, and so brings its gradient to other elements than it shows, or to a shape that does not fit, or fails."""
    found = re.search(
        r"\[(\d+)\] \[3\] ('AsStridedBackward0', not '(ViewAsReal|Conj|NegView)Backward0'$|taken here, PyTorch raises)",
        case.told,
    )
    if case.name != "graph program" or found is None:
        return False
    view = case.operands[int(found[1])]
    again = attempt(view._view_func, view._base)
    if isinstance(again, Raised):
        return case.told.endswith(f"raises {again.kind}: {again.line}")
    return (again.shape, again.stride()) != (view.shape, view.stride())


_IN_PLACE_VIEWS = re.compile(r"((Unsqueeze|Transpose|T|AsStrided)Backward1|SqueezeBackward[3-5])$")


def retained_before_a_view(case):
    """A tensor that retains its gradient and takes another shape in place (`squeeze_`): PyTorch leaves what keeps the gradient at the
    former node, but says that the tensor retains it, and breaks off with an internal error at the next write into it."""
    found = re.search(r"\[(\d+)\] (\[4\] NoneType, not a tensor|\[5\] False, not True)$", case.told)
    if case.name != "graph program" or found is None:
        return False
    return _IN_PLACE_VIEWS.search(case.operands[int(found[1])].grad_fn.name()) is not None


def _numbers_of(case):
    """The two numbers that a graph program tells apart, or None."""
    found = re.search(r" at \[[\d, ]*\] np\.\w+\((.+)\), not np\.\w+\((.+)\) \(\d+ of", case.told)
    return found and case.name == "graph program" and [complex(each) for each in found.groups()]


def rounded_to_single(case):
    """Numbers of graph programs that passed through float32, some steps of which double what its rounding leaves open."""
    numbers, single = _numbers_of(case), (torch.float32, torch.complex64)
    if not numbers or not any(each.dtype in single for each in case.operands):
        return False
    return abs(numbers[0] - numbers[1]) <= 2.0**-20 * abs(numbers[1])


def sign_of_a_rest(case):
    """Gradients of graph programs through numbers that are the rounding of 0, of which `abs` asks for the direction."""
    if not _numbers_of(case) or not case.told.startswith(("second", "grad", "backward")):
        return False
    sizes = [each.detach().abs() for each in case.operands]
    return any(bool(((size > 0) & (size < 1e-13)).any()) for size in sizes)
