"""``rearrange``: transposing, splitting and joining dimensions by a pattern, as the package einops writes them."""

from __future__ import annotations

import keyword
import math
import re
import warnings
from functools import lru_cache

from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor

ELLIPSIS = "..."
_HINT = "a pattern names the dimensions on both sides, as in 'a b (c d) -> d (a b) c'"


class DimensionBindError(Exception):
    """Sizes that do not fit a pattern."""


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor with its dimensions moved, split or joined as ``pattern`` says. Follows ``torch.func.rearrange``.

    Args:
        tensor: a tensor, or a sequence of tensors of one shape, which are stacked.
        pattern: ``"names before -> names after"``; names in parentheses share one dimension, ``...`` stands for any number
            of dimensions, ``1`` for one of length 1.
        axes_lengths: lengths of names, where a dimension is split.

    >>> import rushlight as torch
    >>> torch.func.rearrange(torch.zeros(2, 12, 5), "n (h w) c -> n c h w", h=3).shape
    torch.Size([2, 5, 3, 4])
    """
    if not isinstance(tensor, Tensor):
        tensor = functions.stack(tensor)
    left, right = _parsed(pattern)
    names = [name for group in left for name in group]
    unknown = axes_lengths.keys() - set(names)
    if unknown:
        raise _refusal(f"Identifiers not found in rearrange expression: {unknown}")
    if ELLIPSIS in names:
        left, right = _spread_out(left, right, tensor.dim() - len(left) + 1)
    if len(left) != tensor.dim():
        raise _refusal(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor ({tensor.dim()})"
        )
    lengths = _lengths(left, tensor.shape, axes_lengths)
    order = [name for group in left for name in group]
    split = tensor.reshape([lengths[name] for name in order])
    kept = [name for group in right for name in group if name != "1"]
    dropped = [place for place, name in enumerate(order) if name not in kept]
    moved = split.permute([*[order.index(name) for name in kept], *dropped])
    return moved.reshape([math.prod(lengths.get(name, 1) for name in group) for group in right])


def _spread_out(left, right, count):
    """Both sides with ``count`` names in place of the ellipsis."""
    if count < 0:
        given = len(left) - 1
        raise _refusal(
            f"Number of dimensions in pattern ({given}) must be less than or equal to the number of dimensions in the tensor "
            f"({given + count})"
        )
    names = [f"...{number}" for number in range(count)]

    def spread(group):
        if group == [ELLIPSIS]:
            return [[name] for name in names]
        return [type(group)(each for name in group for each in (names if name == ELLIPSIS else [name]))]

    return [part for group in left for part in spread(group)], [part for group in right for part in spread(group)]


def _refusal(first_line):
    return ValueError(hinted(first_line, _HINT))


@lru_cache(256)
def _parsed(pattern):
    """Both sides of a pattern, as `_groups` gives them; each unnamed dimension of the left side gets a name."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _refusal("Pattern must contain a single '->' separator")
    left, right = map(_groups, sides)
    anonymous = iter(range(len(left)))
    left = [[f"1 {next(anonymous)}"] if group == ["1"] else group for group in left]
    before, after = ({name for group in side for name in group if name[0] != "1"} for side in (left, right))
    if ELLIPSIS in after and ELLIPSIS not in before:
        raise _refusal(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(isinstance(group, tuple) and ELLIPSIS in group for group in left):
        raise _refusal(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if before ^ after:
        raise _refusal(f"Identifiers only on one side of rearrange expression (should be on both): {before ^ after}")
    return left, right


def _groups(side):
    """The dimensions of one side of a pattern: a tuple of names for parentheses, else a list of one name."""
    if "." in side.replace(ELLIPSIS, "", 1):
        if ELLIPSIS in side:
            raise _refusal("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
        raise _refusal("Expression may contain dots only inside ellipsis (...)")
    groups, inside, seen = [], None, set()
    for token in re.findall(r"\.\.\.|\w+|\S", side):
        if token == "(":
            if inside is not None:
                raise _refusal("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise _refusal("Brackets are not balanced")
            groups.append(tuple(inside))
            inside = None
        else:
            _check_name(token, seen)
            if inside is None:
                groups.append([token])
            elif token != "1":
                inside.append(token)
    if inside is not None:
        raise _refusal(f"Imbalanced parentheses in expression: '{side}'")
    return groups


def _check_name(token, seen):
    if token == ELLIPSIS or token == "1":
        return
    if token.isdecimal():
        raise _refusal("rearrange only supports unnamed axes of size 1")
    if not re.fullmatch(r"\w+", token):
        raise _refusal(f"Unknown character '{token}'")
    if not token.isidentifier() or token[0] == "_" or token[-1] == "_":
        raise _refusal(f"Invalid axis identifier: {token}")
    if keyword.iskeyword(token):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {token}", RuntimeWarning, stacklevel=5)
    if token in seen:
        raise _refusal(f"Indexing expression contains duplicate dimension '{token}'")
    seen.add(token)


def _lengths(left, shape, given):
    """The length of every name, from those of the dimensions and those given."""
    lengths, numbers = {}, {}
    for group in left:
        for name in group:
            numbers[name] = f"d{len(numbers)}"
    for group, length in zip(left, shape):
        known = [1 if name[0] == "1" else given.get(name) for name in group]
        missing = [name for name, each in zip(group, known) if each is None]
        if len(missing) > 1:
            first, second = (numbers[name] for name in missing[:2])
            raise _unfitting(f"cannot infer the sizes of two dimensions at once {first} and {second}")
        product = math.prod(each for each in known if each is not None)
        if missing:
            if product == 0 or length % product:
                sizes = tuple("?" if each is None else each for each in known)
                raise _unfitting(f"inferred dimension does not evenly fit into larger dimension: {length} vs {sizes}")
        elif product != length:
            pack = ", ".join(numbers[name] for name in group)
            raise _unfitting(
                f"Dimension sizes to do not match ({length} != {product}) when matching dimension pack ({pack}"
                f"{',' if len(group) == 1 else ''})"
            )
        for name, each in zip(group, known):
            lengths[name] = length // product if each is None else each
    return lengths


def _unfitting(first_line):
    return DimensionBindError(hinted(first_line, "give lengths whose product is that of the dimension they split"))
