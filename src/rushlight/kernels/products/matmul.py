"""Products of matrices as kernels: ``product`` on arrays of any layout, and the operations that are made of it."""

from __future__ import annotations

import numpy as np

from ...ops.matmul_sums import factors_in
from ...ops.table import is_half
from ..compiler.kernel import compiled, pool
from ..language.value_types import NUMPY, scalar_of
from ..machine import host
from ..machine.scratch import scratch
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from .matmul_dots import FEW, at_once, dots_plan, dots_program
from .matmul_micro import Epilogue
from .matmul_packing import PAIRS
from .matmul_plan import Shape, plan_product, turns_out
from .matmul_program import Options, matmul_program
from .matmul_tiny import LARGEST, dense_form, tiny_plan, tiny_program
from .tiles import product_plan as tile_products

_ALONE = 1 << 18  # multiplications below which other threads are not called in: 1.5 us of work
SMALL = 1 << 16  # multiplications below which NumPy is as fast: it starts in 1 us, a kernel in 1.7
SUMMED_COLUMNS = 512  # of A, up to which its rows are added up beside a product: beyond, `reduce` is better at that
_MANY = 16  # matrices in a batch, from which a kernel is as fast for small ones too

_prepared = Plans()  # layouts and options -> _Product


class _Product:
    """A product of given layouts, ready to run."""

    __slots__ = ("kind", "launch", "scratch", "shape", "sizes", "swapped", "workspace")

    def __init__(self, shape, swapped, out_shape, kernel, sizes, compute, workspace=0, scratch=0):
        work = shape.batch * shape.m * shape.n * shape.k
        self.launch = kernel.alone if work < _ALONE else kernel.threaded
        self.sizes = np.array(sizes, np.int64)
        self.workspace, self.scratch = workspace, scratch  # elements in all, and for each thread
        self.kind = NUMPY[compute]
        self.shape, self.swapped = out_shape, swapped

    def run(self, a, b, out, bias=None, addend=None, alpha=1, accumulate=False, row_sums=None):
        workspace = None
        if self.workspace or self.scratch:
            workspace = scratch("matmul", self.workspace + self.scratch * pool().scratch_areas, self.kind)
        if self.swapped:
            a, b = b, a
        self.launch(a, b, out, bias, addend, workspace, self.sizes, alpha, accumulate, row_sums)


class _TileProduct:
    """A product that the tile unit computes, ready to run."""

    __slots__ = ("prepared", "shape")

    def __init__(self, a, b, bias, out_shape, steps):
        out = np.lib.stride_tricks.as_strided(
            a, out_shape, tuple(step * a.itemsize for step in steps[-len(out_shape) :])
        )
        self.prepared, self.shape = tile_products.prepare(a, b, out, bias), out_shape

    def run(self, a, b, out, bias=None, *rest):
        tile_products.run(self.prepared, a, b, out, bias)


def product(a, b, out=None, bias=None, activation=None, alpha=1, accumulate=False, addend=None):
    """``activation(alpha * a @ b + bias + addend)`` as a new array or in ``out``; NotImplemented where no kernel fits.

    Args:
        a, b: (m, k) and (k, n), or (batch, m, k) and (batch, k, n), of one dtype: float32, float64, float16 or
            bfloat16 (those are added up in float32). Matrices without a step of 1 are copied; batches may have any step.
        out: the array to write, rows contiguous.
        bias: None, or (n,) contiguous.
        activation: None or a name in ``matmul_micro.ACTIVATIONS``.
        accumulate: add to what ``out`` holds (with alpha 1 and no half precision).
        addend: None, or an array of the result's shape whose columns lie side by side (rows and batches may repeat).
    """
    key = (a.shape, a.strides, b.shape, b.strides, a.dtype, b.dtype, activation, alpha != 1, accumulate, bias is None)
    if out is not None or addend is not None:
        key += (out is not None and out.strides, addend is not None and addend.strides)
    found = _prepared.get(key)
    if found is None:
        found = _prepared[key] = _prepare(a, b, out, bias, activation, alpha, accumulate, addend)
    if found is NotImplemented:
        both = laid(a), laid(b)
        if both[0] is a and both[1] is b:
            return found
        return product(*both, out, bias, activation, alpha, accumulate, addend)
    if out is None:
        out = np.empty(found.shape, a.dtype)
    found.run(a, b, out, bias, addend, alpha, accumulate)
    return out


def laid(matrix):
    """A matrix, or its copy where neither its rows' elements nor its columns' lie side by side."""
    if matrix.ndim < 2 or 1 in matrix.shape[-2:] or matrix.itemsize in matrix.strides[-2:]:
        return matrix
    return np.ascontiguousarray(matrix)


def plain(a, b, bias=None):
    """What computes ``a @ b + bias`` on arrays of these layouts, by ``run(a, b, out, bias)`` into an array of its ``shape``;
    or NotImplemented.
    """
    return _prepare(a, b, None, bias, None, 1, False, None)


def gated(a, b, gate):
    """`plain` for a product that is 0 where ``gate``, of its shape, is 0 or less: ``run(a, b, out, None, gate)``."""
    found = _prepare(a, b, None, None, None, 1, False, gate, True)
    return NotImplemented if found.__class__ is _TileProduct else found


def summing_rows(a, b):
    """`plain` for a product that also adds up ``a``'s rows: ``run(a, b, out, row_sums=sums)``."""
    found = _prepare(a, b, None, None, None, 1, False, None, False, True)
    return NotImplemented if found.__class__ is _TileProduct else found


def _prepare(a, b, out, bias, activation, alpha, accumulate, addend, gate=False, sums_rows=False):
    storage = scalar_of(a.dtype)
    if storage not in ("f32", "f64", "f16", "bf16") or a.dtype != b.dtype or a.ndim != b.ndim or a.ndim not in (2, 3):
        return NotImplemented
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        return NotImplemented
    compute = "f64" if storage == "f64" else "f32"
    half = storage != compute
    packed = PAIRS if storage == "bf16" and host.has_dots() else compute
    pairs = packed == PAIRS
    out_shape = (*a.shape[:-1], b.shape[-1])
    c_steps = (out_shape[-2] * out_shape[-1], out_shape[-1], 1) if out is None else _steps(out, a.itemsize)
    steps = [_steps(a, a.itemsize), _steps(b, a.itemsize), c_steps]
    steps.append(c_steps if addend is None else _steps(addend, a.itemsize))
    if None in steps or not a.size * b.size or (accumulate and (half or alpha != 1)):
        return NotImplemented
    sizes = [*out_shape, a.shape[-1]] if a.ndim == 3 else [1, *out_shape, a.shape[-1]]
    is_plain = alpha == 1 and activation is None and (addend is None or gate) and not accumulate
    if storage == "f32" and is_plain and _fits_tiles(sizes, steps):
        return _TileProduct(a, b, bias, out_shape, c_steps)
    if is_plain and addend is None and bias is None and not half and not sums_rows:
        found = _prepare_tiny(storage, sizes, steps, out_shape)
        if found is not None:
            return found
    shape, swapped = _shape(*sizes, *steps), False
    if shape is None or (shape.n == 1 and shape.a_form == "columns" and bias is None):
        # The same memory, seen as the transposed product: C^T = B^T A^T.
        first, second, *rest = ((batch, column, row) for batch, row, column in steps)
        batch, m, n, k = sizes
        other = _shape(batch, n, m, k, second, first, *rest)
        shape, swapped = (shape, False) if other is None else (other, True)
    if shape is None:
        return NotImplemented
    side = None if bias is None else "column" if swapped else "row"
    epilogue = Epilogue(alpha != 1, side, addend is not None and not gate, activation, gate)
    lanes = host.lanes(NUMPY[compute].itemsize)
    if sums_rows:
        if half or swapped or shape.a_form == "rows" or shape.k > SUMMED_COLUMNS or turns_out(shape, a.itemsize):
            return NotImplemented
    elif not accumulate and addend is None:
        found = _prepare_dots(shape, (storage, compute, packed), lanes, epilogue)
        if found is not None:
            kernel, numbers = found
            return _Product(shape, swapped, out_shape, kernel, numbers, compute, scratch=numbers[-1] if half else 0)
        if not swapped and (pairs or not half) and turns_out(shape, a.itemsize):
            first, second, *rest = ((batch, column, row) for batch, row, column in steps)
            shape, swapped = _shape(sizes[0], shape.n, shape.m, shape.k, second, first, *rest, c_turned=True), True
    plan = plan_product(shape, lanes, host.vector_registers(), a.itemsize, half, accumulate, pairs)
    packing = plan.a_pack, plan.b_pack, plan.b_shared, plan.whole
    options = Options(storage, compute, packed, lanes, plan.widths, plan.heights, shape.a_form, *packing, plan.resumes,
                      shape.c_turned, epilogue, sums_rows)  # fmt: skip
    key = tuple(tuple(value) if isinstance(value, tuple) else value for value in options)
    kernel = compiled(("matmul", *key), lambda: matmul_program(options))
    return _Product(shape, swapped, out_shape, kernel, plan.sizes, compute, plan.workspace, plan.scratch)


def _fits_tiles(sizes, steps):
    """Whether the tile unit has a program for the layouts and takes less time than the vector units."""
    a, b, c, _ = steps
    one_step = 1 in a[1:] and 1 in b[1:] and c[2] == 1
    return one_step and tile_products.pays(*(sizes[i] for i in (1, 3, 2, 0)), a[2] == 1, b[1] == 1)


def _prepare_tiny(storage, sizes, steps, out_shape):
    """The _Product of many tiny matrices; None where they are not."""
    (batch, m, n, k), (a, b, c, _) = sizes, steps
    if batch < _MANY or max(m, n, k) > LARGEST or c != (m * n, n, 1):
        return None
    forms = dense_form(m, k, *a[1:]), dense_form(k, n, *b[1:])
    if None in forms:
        return None
    kernel = compiled(("matmul_tiny", storage, m, n, k, *forms), lambda: tiny_program(storage, m, n, k, *forms))
    shape = Shape(batch, m, n, k, "rows", k, a[0], False, n, b[0], n, m * n, n, m * n)
    return _Product(shape, False, out_shape, kernel, tiny_plan(batch, m, n, k, a[0], b[0]), storage)


def _prepare_dots(shape, types, lanes, epilogue):
    """Kernel and numbers for sums along the rows of one operand, where the other is no more than a few vectors; or None."""
    if shape.a_form != "rows" or epilogue.bias == "column":
        return None
    if shape.batch > 1 and (shape.k < lanes):
        return None
    if shape.m <= FEW and shape.b_turned:
        matrix, numbers = "b", (shape.n, shape.ldb, shape.m, shape.lda, shape.k, shape.ldc)
        steps = shape.batch_b, shape.batch_a, shape.batch_c
    elif shape.n == 1 and (shape.b_turned or shape.ldb == 1) and shape.ldc == 1 and not epilogue.bias:
        matrix, numbers = "a", (shape.m, shape.lda, 1, 0, shape.k, 0)
        steps = shape.batch_a, shape.batch_b, shape.batch_c
    else:
        return None
    count, registers = at_once(numbers[2]), host.vector_registers()
    key = ("matmul_dots", *types, lanes, registers, matrix, count, tuple(epilogue))
    kernel = compiled(key, lambda: dots_program(*types, lanes, registers, matrix, epilogue, count))
    return kernel, dots_plan(*numbers, shape.batch, steps)


def _steps(array, size):
    """The steps between matrices, rows and columns, in elements; None where they are no whole numbers of them."""
    if any(stride % size for stride in array.strides):
        return None
    steps = tuple(stride // size for stride in array.strides)
    return steps if array.ndim == 3 else (0, *steps)


def _shape(batch, m, n, k, a, b, c, addend, c_turned=False):
    """The Shape of a product with such steps (between matrices, rows and columns), or None where no step fits."""
    if a[2] == 1 or (k == 1 and a[1] != 1):
        a_form, lda = "rows", a[1]
    elif a[1] == 1 or m == 1:
        a_form, lda = "columns", a[2]
    else:
        return None
    if b[2] == 1 or n == 1:
        b_turned, ldb = False, b[1]
    elif b[1] == 1 or k == 1:
        b_turned, ldb = True, b[2]
    else:
        return None
    if c_turned:
        c = c[0], c[2], c[1]
    elif n > 1 and not c[2] == addend[2] == 1:
        return None
    return Shape(batch, m, n, k, a_form, lda, a[0], b_turned, ldb, b[0], c[1], c[0], addend[1], addend[0], c_turned)


# ---- operations


@kernel_for("mm")
def mm(self, mat2):
    if self.ndim != 2 or mat2.ndim != 2 or self.size * mat2.shape[1] < SMALL:
        return NotImplemented
    return product(self, mat2)


@kernel_for("mv")
def mv(self, vec):
    if self.ndim != 2 or vec.ndim != 1 or self.size < SMALL:
        return NotImplemented
    found = product(self, np.ascontiguousarray(vec)[:, None])
    return found if found is NotImplemented else found[:, 0]


@kernel_for("transposed_mm")
def transposed_mm(self, mat2):
    if self.size * mat2.shape[-1] < SMALL:
        return NotImplemented
    return product(self.T, mat2)


@kernel_for("bmm")
def bmm(self, mat2):
    if self.ndim != 3 or mat2.ndim != 3:
        return NotImplemented
    if len(self) < _MANY and self.size * mat2.shape[2] < SMALL:
        return NotImplemented
    return product(self, mat2)


@kernel_for("batched_product")
def batched_product(self, mat2):
    if mat2.ndim == 2 < self.ndim:
        found = mm(self.reshape(-1, self.shape[-1]), mat2) if self.flags.c_contiguous else NotImplemented
        return found if found is NotImplemented else found.reshape(*self.shape[:-1], mat2.shape[1])
    if self.shape[:-2] != mat2.shape[:-2] or self.ndim not in (2, 3) or self.size * mat2.shape[-1] < SMALL:
        return NotImplemented
    return product(self, mat2)


@kernel_for("addmm", "baddbmm")
def addmm(self, a, b, beta, alpha):
    if a.ndim != b.ndim or a.ndim < 2 or a.size * b.shape[-1] < SMALL or self.dtype != a.dtype:
        return NotImplemented
    beta, alpha = factors_in(a.dtype, beta, alpha)
    if beta == 0:
        return product(a, b, alpha=alpha)
    if beta != 1:
        if is_half(a.dtype):
            return NotImplemented  # the scaled addend would be rounded on its way
        with np.errstate(all="ignore"):
            self = self * self.dtype.type(beta)
    if self.shape == b.shape[-1:] and self.flags.c_contiguous:
        return product(a, b, bias=self, alpha=alpha)
    if self.shape != (*a.shape[:-1], b.shape[-1]):
        return NotImplemented
    return product(a, b, alpha=alpha, addend=self)
