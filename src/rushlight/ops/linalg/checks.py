"""What linear algebra shares: the refusals of dtypes and shapes, its error class, and the frame of named results."""

from __future__ import annotations

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ...base.lazy import is_meta, plain
from ..results import named_result
from ..table import composite


class _LinAlgError(RuntimeError):
    """A matrix on which an algorithm of `torch.linalg` fails: singular, not positive-definite, not convergent.

    PyTorch's ``torch.linalg.LinAlgError``, whose own name begins with an underscore, too.
    """


LinAlgError = _LinAlgError


def array_of(value):
    """The array of a Tensor; an array itself. Of a meta tensor zeros of its shape and dtype."""
    if value.__class__ is np.ndarray:
        return value
    return value._array.stored if is_meta(value._array) else plain(value._array)


def legacy_name(value):
    """``Float``, ``Long``, ...: PyTorch's older name of the dtype of an array or Tensor."""
    return dtypes.from_numpy(array_of(value).dtype).legacy_name


def check_matrix(value, name, argument="A"):
    """Refuse what has fewer than two dimensions."""
    shape = array_of(value).shape
    if len(shape) < 2:
        raise RuntimeError(
            hinted(
                f"{name}: The input tensor {argument} must have at least 2 dimensions.",
                f"its shape is {list(shape)}; a matrix is (rows, columns), a batch of them (..., rows, columns)",
            )
        )


def check_square(value, name, argument="A"):
    """Refuse what is no batch of square matrices."""
    check_matrix(value, name, argument)
    rows, columns = array_of(value).shape[-2:]
    if rows != columns:
        raise RuntimeError(
            hinted(
                f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices",
                f"the last two lengths of the shape {list(array_of(value).shape)} must be equal",
            )
        )


def check_floating(value, name, low_precision=True):
    """Refuse integers and bools, and, unless ``low_precision``, 16-bit floats."""
    dtype = dtypes.from_numpy(array_of(value).dtype)
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            hinted(
                f"{name}: Expected a floating point or complex tensor as input. Got {dtype.legacy_name}",
                "convert the tensor first: A.float()",
            )
        )
    if not low_precision and dtype.itemsize == 2:
        raise RuntimeError(
            hinted(
                f"{name}: Low precision dtypes not supported. Got {dtype.legacy_name}", "convert it first: A.float()"
            )
        )


def check_kernel(value, kernel):
    """Refuse dtypes that LAPACK has no routines for, in the words PyTorch uses for a kernel."""
    dtype = dtypes.from_numpy(array_of(value).dtype)
    if dtype.category < dtypes.FLOATING or dtype.itemsize == 2:
        raise NotImplementedError(
            hinted(
                f"\"{kernel}\" not implemented for '{dtype.legacy_name}'",
                "it takes float32, float64 and complex numbers",
            )
        )


def for_lapack(array, kernel):
    """``(array, dtype of what follows from it)``; of an empty one, for which PyTorch starts no kernel, any dtype is taken."""
    if array.size:
        check_kernel(array, kernel)
    elif array.dtype.kind not in "fc" or array.dtype.itemsize == 2:
        return array.astype(np.float32), array.dtype
    return array, array.dtype


def check_same_dtype(a, b, name, first_name="A"):
    """Refuse two operands of different dtypes."""
    if array_of(a).dtype != array_of(b).dtype:
        first, second = legacy_name(a), legacy_name(b)
        raise RuntimeError(
            hinted(
                f"{name}: Expected {first_name} and B to have the same dtype, but found {first_name} of type {first} and B of type {second} "
                "instead",
                "convert one of them with .to(other.dtype)",
            )
        )


def check_same_factor(b, A):
    """Refuse right sides of another dtype than the matrix that they are solved with."""
    if array_of(b).dtype != array_of(A).dtype:
        raise RuntimeError(
            hinted(
                f"Expected b and A to have the same dtype, but found b of type {legacy_name(b)} and A of type "
                f"{legacy_name(A)} instead.",
                "convert one of them with .to(other.dtype)",
            )
        )


def check_right_sides(b, A, name):
    """Refuse what the older solvers refuse of ``A x = b``: other dtypes, matrices that are not square, another number of rows."""
    check_same_factor(b, A)
    (rows, columns), (height, width) = array_of(A).shape[-2:], array_of(b).shape[-2:]
    if rows != columns:
        raise RuntimeError(
            hinted(
                f"A must be batches of square matrices, but they are {rows} by {columns} matrices",
                f"the last two lengths of the shape {list(array_of(A).shape)} must be equal",
            )
        )
    if columns != height:
        raise RuntimeError(
            hinted(
                f"Incompatible matrix sizes for {name}: each A matrix is {columns} by {columns} but each b matrix is "
                f"{height} by {width}",
                "both must have the same number of rows",
            )
        )


def first_failure(info):
    """``("(Batch element 2): ", code)`` of the first nonzero entry of an error-code array; None where all are zero."""
    if not np.count_nonzero(info):
        return None
    where = int(np.flatnonzero(info)[0])
    return (f"(Batch element {where}): " if info.ndim else ""), int(info.reshape(-1)[where])


def raise_no_inverse(info, name="linalg.inv"):
    """Refuse singular matrices, which have no inverse, by the error codes of their factorization."""
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(
            hinted(
                f"{name}: {failure[0]}The diagonal element {failure[1]} is zero, the inversion could not be completed "
                "because the input matrix is singular.",
                "its rows depend on each other; torch.linalg.pinv gives the pseudo-inverse of any matrix",
            )
        )


def herm(array):
    """The conjugate transpose of matrices, on arrays."""
    turned = array.swapaxes(-1, -2)
    return turned.conj() if array.dtype.kind == "c" else turned


def solve_arrays(a, b):
    """``np.linalg.solve`` for matrices ``b`` alone, whatever the number of dimensions; inf and nan where ``a`` is
    singular."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        found = np.empty((*shape, *b.shape[-2:]), b.dtype)
        a, b = np.broadcast_to(a, (*shape, *a.shape[-2:])), np.broadcast_to(b, found.shape)
        for place in np.ndindex(*shape):
            try:
                found[place] = np.linalg.solve(a[place], b[place])
            except np.linalg.LinAlgError:
                found[place] = np.nan
        return found


def with_names(name, fields, names):
    """Decorates a composite that returns a tuple: the public function of these ``names``, with a named result."""

    def register(function):
        def call(*args, **kwargs):
            # The type is made by the first call: making one costs more than registering an operation.
            return named_result(name, fields)(*function(*args, **kwargs))

        call.__name__ = call.__qualname__ = function.__name__
        call.__module__ = function.__module__
        call.__doc__, call.__wrapped__ = function.__doc__, function
        return composite(call, names=names, out=True)

    return register
