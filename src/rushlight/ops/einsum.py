"""einsum: contractions whose dimensions are named by letters."""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted, kind_name
from .matmul import product
from .table import composite, conj, functions, is_half, op

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_plans = {}  # (equation, shapes) -> steps
_MOST_PLANS = 1024


@composite(names=("torch",))
def einsum(*args):
    """Sums of products of elements, by the Einstein convention.

    ``einsum(equation, *operands)``: the equation names the dimensions of every operand with letters, ``...`` stands for
    any others. A letter that the output (after ``->``) lacks is summed over; without ``->`` the output has the ellipsis
    and then the letters that occur once, in alphabetical order. Dimensions of length 1 broadcast. More than two
    operands
    are contracted from left to right. ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` names dimensions with numbers instead.

    >>> import rushlight as torch
    >>> torch.einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    >>> torch.einsum("ii", torch.eye(3))
    tensor(3.)
    """
    equation, operands = _read_arguments(args)
    key = (equation, *[x._array.shape for x in operands])
    plan = _plans.get(key)
    if plan is None:
        plan = _plan(equation, key[1:])
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[key] = plan
    prepare, pairs, order = plan
    found = _prepared(operands[0], prepare[0])
    for i, pair in enumerate(pairs, 1):
        found = _contract(found, _prepared(operands[i], prepare[i]), pair)
    return found if order is None else found.permute(order)


def _read_arguments(args):
    if len(args) < 2:
        raise ValueError(
            hinted(
                "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                "subscripts list",
                'for example einsum("ij,jk->ik", a, b)',
            )
        )
    first = args[0]
    if first.__class__ is str:
        operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
        if not operands:
            return _read_arguments(())
        for position, value in enumerate(operands, 1):
            if not hasattr(value, "_edge"):
                raise TypeError(
                    f"expected Tensor as element {position - 1} in argument 1, but got {value.__class__.__name__}"
                )
        return first, operands
    if not hasattr(first, "_edge"):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {kind_name(first)}")
    lists = [_subscripts_of(subscripts) for subscripts in args[1::2]]
    operands = args[0::2]
    output = ""
    if len(args) % 2:
        output, operands = "->" + _subscripts_of(args[-1]), operands[:-1]
    return ",".join(lists) + output, operands


def _subscripts_of(numbers):
    parts = []
    for number in numbers:
        if number is Ellipsis:
            parts.append("...")
        elif 0 <= number < 52:
            parts.append(_LETTERS[number])
        else:
            raise ValueError(
                hinted(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)",
                    f"{number} is outside",
                )
            )
    return "".join(parts)


# ---------------------------------------------------------------- from the equation to labels


def _read_term(equation, start, end, where):
    """The labels of one term; "..." is one of them. ``where`` names the term in messages."""
    labels, position = [], start
    while position < end:
        letter = equation[position]
        if letter == ".":
            if "..." in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for {where} "
                    + (
                        "but an ellipsis (...) was already found"
                        if where == "output"
                        else "for which an ellipsis was already found"
                    )
                )
            if equation[position : position + 3] != "..." or position + 3 > end:
                suffix = " (...)" if where == "output" else ""
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{suffix}")
            labels.append("...")
            position += 2
        elif letter in _LETTERS:
            labels.append(letter)
        elif letter != " ":
            raise RuntimeError(
                hinted(
                    f"einsum(): invalid subscript given at index {position} in the equation string, subscripts must "
                    "be in [a-zA-Z]",
                    f"the equation is {equation!r}",
                )
            )
        position += 1
    return labels


def _read_equation(equation):
    """The terms of the operands and the term of the output (None where there is no arrow), as lists of labels."""
    arrow = equation.find("->")
    end = len(equation) if arrow < 0 else arrow
    terms, start = [], 0
    while True:
        comma = equation.find(",", start, end)
        stop = end if comma < 0 else comma
        terms.append(_read_term(equation, start, stop, f"operand {len(terms)}"))
        if comma < 0:
            break
        start = comma + 1
    return terms, None if arrow < 0 else _read_term(equation, arrow + 2, len(equation), "output")


def _named_dims(term, ndim, number):
    """The label of each dimension of operand ``number``; those of an ellipsis are ints counted from its end: ...,
    -2, -1."""
    letters = len(term) - ("..." in term)
    if "..." not in term and letters != ndim:
        raise RuntimeError(
            hinted(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of "
                f"dimensions ({ndim}) for operand {number} and no ellipsis was given",
                "name every dimension of every operand, or write ... for the others",
            )
        )
    if letters > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({letters}) is more than the number of dimensions "
            f"({ndim}) for operand {number}"
        )
    labels = []
    for label in term:
        labels.extend(range(letters - ndim, 0) if label == "..." else label)
    return labels


def _sizes_of(names, shapes):
    """The length of every label, with PyTorch's complaints where operands disagree."""
    sizes = {}
    for number, (labels, shape) in enumerate(zip(names, shapes)):
        own = {}
        for label, length in zip(labels, shape):
            if own.setdefault(label, length) != length:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{length} != {own[label]}"
                )
        for label, length in own.items():
            seen = sizes.get(label, 1)
            if length != 1 and seen != 1 and length != seen:
                _raise_mismatch(label, number, length, seen, names, shapes)
            if seen == 1:
                sizes[label] = length
    return sizes


def _raise_mismatch(label, number, length, seen, names, shapes):
    hint = (
        "the operands have the shapes "
        + " and ".join(str(list(s)) for s in shapes)
        + ": equal letters need equal lengths, or 1"
    )
    if label.__class__ is int:
        most = max(sum(1 for name in labels if name.__class__ is int) for labels in names)
        raise RuntimeError(
            hinted(
                f"einsum(): dimension {most + label} covered by ellipsis in operand {number}has size {length} which "
                f"does not broadcast with previously seen ellipsis with size {seen} for the respective dimension",
                hint,
            )
        )
    raise RuntimeError(
        hinted(
            f"einsum(): subscript {label} has size {length} for operand {number} which does not broadcast with "
            f"previously seen size {seen}",
            hint,
        )
    )


def _output_labels(output, names):
    hidden = sorted({label for labels in names for label in labels if label.__class__ is int})
    everything = [label for labels in names for label in labels]
    if output is None:
        return hidden + sorted(label for label in set(everything) - set(hidden) if everything.count(label) == 1)
    labels = []
    for label in output:
        if label == "...":
            labels.extend(hidden)
        elif label in labels:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        elif label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        else:
            labels.append(label)
    return labels


# ---------------------------------------------------------------- from labels to steps


def _plan(equation, shapes):
    """(what to do with each operand alone, what to do with each pair, the order of the result's dimensions or None)."""
    terms, output = _read_equation(equation)
    if len(terms) != len(shapes):
        word = "fewer" if len(terms) > len(shapes) else "more"
        raise RuntimeError(
            hinted(
                f"einsum(): {word} operands were provided than specified in the equation",
                f"{equation!r} names {len(terms)}, the call has {len(shapes)}",
            )
        )
    names = [_named_dims(term, len(shape), number) for number, (term, shape) in enumerate(zip(terms, shapes))]
    output = _output_labels(output, names)
    sizes = _sizes_of(names, shapes)
    prepare, left = zip(*[_distinct(labels, shape, sizes) for labels, shape in zip(names, shapes)])
    for number, (steps, labels) in enumerate(zip(prepare, left)):
        needed = set(output).union(*[n for i, n in enumerate(left) if i != number])
        summed = tuple(d for d, label in enumerate(labels) if label not in needed)
        if summed:
            steps.append(("sum", (summed,)))
            labels[:] = [label for label in labels if label in needed]
    pairs, current = [], left[0]
    for number in range(1, len(left)):
        later = set(output).union(*left[number + 1 :])
        pair, current = _pair(current, left[number], later, sizes)
        pairs.append(pair)
    order = tuple(current.index(label) for label in output)
    return prepare, pairs, order if not pairs or order != tuple(range(len(order))) else None


def _distinct(labels, shape, sizes):
    """Steps after which the labels of an operand differ (diagonals) and none is broadcast from length 1; and the
    labels left."""
    labels, shape, steps = list(labels), list(shape), []
    for label in sorted({label for label in labels if labels.count(label) > 1}, key=str):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            steps.append(("diagonal", (0, first, second)))
            length = shape[first]
            for place in (second, first):
                del labels[place], shape[place]
            labels.append(label)
            shape.append(length)
    ones = tuple(d for d, label in enumerate(labels) if shape[d] == 1 and sizes[label] != 1)
    if ones:
        steps.append(("squeeze", (ones,)))
        labels = [label for d, label in enumerate(labels) if d not in ones]
    return steps, labels


def _prepared(operand, steps):
    for name, arguments in steps:
        operand = getattr(functions, name)(operand, *arguments)
    return operand


def _pair(first, second, later, sizes):
    """How two labelled operands become one, and its labels: those of both, of the first, of the second."""
    both = [label for label in first if label in second and label in later]
    summed = [label for label in first if label in second and label not in later]
    rows = [label for label in first if label not in second]
    columns = [label for label in second if label not in first]
    labels = both + rows + columns

    def arrangement(own, order, shape):
        positions = tuple(own.index(label) for label in order)
        permuted = tuple(sizes[label] for label in order)
        return (
            positions if positions != tuple(range(len(positions))) else None,
            tuple(shape) if tuple(shape) != permuted else None,
        )

    def length(group):
        return math.prod(sizes[label] for label in group)

    batch = [sizes[label] for label in both]
    if not summed:
        return (
            None,
            arrangement(first, both + rows, batch + [sizes[r] for r in rows] + [1] * len(columns)),
            arrangement(second, both + columns, batch + [1] * len(rows) * bool(both) + [sizes[c] for c in columns]),
            None,
        ), labels
    if not rows and not columns:
        return (
            "vector_products",
            arrangement(first, both + summed, [*batch, length(summed)]),
            arrangement(second, both + summed, [*batch, length(summed)]),
            None,
        ), labels
    shape = tuple(sizes[label] for label in labels)
    return (
        "batched_product",
        arrangement(first, both + rows + summed, [*batch, length(rows), length(summed)]),
        arrangement(second, both + summed + columns, [*batch, length(summed), length(columns)]),
        shape if len(rows) != 1 or len(columns) != 1 else None,
    ), labels


def _contract(first, second, pair):
    contracts, (order, shape), (other_order, other_shape), final = pair
    if order is not None:
        first = first.permute(order)
    if shape is not None:
        first = first.reshape(shape)
    if other_order is not None:
        second = second.permute(other_order)
    if other_shape is not None:
        second = second.reshape(other_shape)
    if contracts is None:
        return first * second
    found = getattr(functions, contracts)(first, second)
    return found if final is None else found.view(final)


def _for_blas(array):
    """``array``, copied where its matrices lie in memory in a way that BLAS cannot read."""
    size = array.itemsize
    rows, columns = array.strides[-2:]
    if (columns == size and rows >= size * array.shape[-1]) or (rows == size and columns >= size * array.shape[-2]):
        return array
    return np.ascontiguousarray(array)


def _check_same_dtype(a, b):
    if a.dtype != b.dtype:
        first, second = (dtypes.from_numpy(t.dtype).legacy_name for t in (a, b))
        raise RuntimeError(
            hinted(
                f"expected scalar type {first} but found {second}",
                "products do not promote: convert one of them with .to(other.dtype)",
            )
        )


@op("batched_product(Tensor self, Tensor mat2) -> Tensor", names=(), node="ViewBackward0")
class batched_product:
    """Products of matrices in the last two dimensions; the others broadcast. No checks but of the dtype."""

    def forward(self, mat2):
        _check_same_dtype(self, mat2)
        if mat2.ndim == 2 < self.ndim:  # many rows times one matrix
            rows = self.reshape(math.prod(self.shape[:-1]), self.shape[-1])
            return product(rows, mat2).reshape(*self.shape[:-1], mat2.shape[1])
        return product(_for_blas(self), _for_blas(mat2))

    def d_self(grad, mat2):
        return functions.batched_product(grad, conj(mat2.transpose(-1, -2)))

    def d_mat2(grad, self):
        return functions.batched_product(conj(self.transpose(-1, -2)), grad)


@op("vector_products(Tensor self, Tensor other) -> Tensor", names=(), node="ViewBackward0")
class vector_products:
    """The sum of products along the last dimension, of two tensors of one shape."""

    def forward(self, other):
        _check_same_dtype(self, other)
        if self.dtype.kind in "fiu" and not is_half(self.dtype):
            return np.asarray(np.vecdot(self, other))
        return product(self[..., None, :], other[..., None])[..., 0, 0].copy()

    def d_self(grad, other):
        return grad.unsqueeze(-1) * conj(other)

    def d_other(grad, self):
        return grad.unsqueeze(-1) * conj(self)
