"""Gradients of functions of sparse tensors, checked by numbers."""

from __future__ import annotations

from typing import Any

from .calls import is_sparse
from .conversion import to_dense
from .tensors import values_of, with_values


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``gradcheck`` for functions that take, or give, sparse tensors: it moves their values, on patterns that stay.

    >>> import rushlight as torch
    >>> gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> gradcheck(lambda x: x @ x, (x,))
    True
    """

    def check(func: Any, inputs: Any, **options: Any) -> Any:
        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        leaves = [_leaf(each) if is_sparse(each) else each for each in inputs]

        def on_values(*values):
            given = [
                with_values(each._array.pattern, value, "") if is_sparse(each) else value
                for each, value in zip(inputs, values)
            ]
            found = func(*given)
            return tuple(map(_dense, found)) if isinstance(found, (tuple, list)) else _dense(found)

        options.pop("masked", None)
        return gradcheck(on_values, tuple(leaves), **options)

    return check


def _leaf(tensor):
    """The values of a sparse tensor as a tensor of their own, to differentiate by if that one is."""
    return values_of(tensor.detach(), "").clone().requires_grad_(tensor.requires_grad)


def _dense(value):
    return to_dense(value) if is_sparse(value) else value
