"""Products of matrices as kernels: plans of products in any layouts, and of the operations that are made of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...ops.matmul_sums import factors_in
from ...ops.table import is_half
from ..language.value_types import NUMPY, computed_in
from ..machine import host
from ..planning.layout import FLOATS, Layout, copies
from ..planning.plan import Condition, Factor, Launch, Made, Plan
from ..planning.runner import plan_for
from .matmul_dots import FEW, at_once, dots_plan, dots_program
from .matmul_micro import Epilogue
from .matmul_packing import PAIRS
from .matmul_plan import Shape, plan_product, turns_out
from .matmul_program import Options, matmul_program
from .matmul_tiny import LARGEST, dense_form, tiny_plan, tiny_program
from .tiles import product_plan as tile_products

# For a multiplication, with what is around it where there are few: from 1 << 18 on other threads are called in.
_NANOSECONDS = 5000 / (1 << 18)
SMALL = 1 << 16  # multiplications below which NumPy is as fast: it starts in 1 us, a kernel in 1.7
SUMMED_COLUMNS = 512  # of A, up to which its rows are added up beside a product: beyond, `reduce` is better at that
_MANY = 16  # matrices in a batch, from which a kernel is as fast for small ones too


class _Way(NamedTuple):
    """How a product is computed: a program, the numbers that it reads, and the elements of workspace that it needs, for all
    threads together and for each. ``swapped``: it gets B and A, transposed, and the result is C transposed."""

    build: object
    form: tuple
    numbers: tuple
    common: int = 0
    own: int = 0
    swapped: bool = False


def plan_product_of(
    a, b, out=("out", None), bias=None, addend=None, gate=None, *, activation=None, alpha=1, accumulate=False, row_sums=None
):  # fmt: skip
    """The Plan of ``activation(alpha * a @ b + bias + addend)``; None where no program fits.

    Args:
        a, b: (name, Layout) of (m, k) and (k, n), or (batch, m, k) and (batch, k, n), of one dtype: float32, float64, float16
            or bfloat16 (those are added up in float32); (name, Layout, True) of a matrix that is meant transposed. Matrices
            without a step of 1 are copied; batches may have any step.
        out: the same of an array that is written, its rows contiguous; a result of the plan where it has no Layout.
        bias: None, or the name of (n,) contiguous.
        addend: None, or (name, Layout) of the result's shape whose columns lie side by side (rows and batches may repeat).
        gate: None, or the same: the result is 0 where this is 0 or less.
        activation: None or a name in ``matmul_micro.ACTIVATIONS``.
        alpha: a number, or the name of one.
        accumulate: add to what ``out`` holds (with alpha 1 and no half precision).
        row_sums: None, or what another result is called: the sums of ``a``'s rows. Few products have programs for that.
    """
    (a_name, x), (b_name, y), (out_name, given) = _meant(*a), _meant(*b), out
    if x.scalar not in FLOATS or x.dtype != y.dtype or x.ndim != y.ndim or x.ndim not in (2, 3) or not x.size * y.size:
        return None
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        return None
    result = given or Layout((*x.shape[:-1], y.shape[-1]), x.dtype)
    other = addend or gate
    steps = [_steps(each) for each in (x, y, result, other[1] if other else result)]
    if None in steps or (accumulate and (alpha != 1 or is_half(x.dtype))):
        return None
    sizes = [*result.shape, x.shape[-1]] if x.ndim == 3 else [1, *result.shape, x.shape[-1]]
    results = {} if given else {out_name: result}
    is_plain = alpha == 1 and activation is None and addend is None and not accumulate
    if x.scalar == "f32" and is_plain and _fits_tiles(sizes, steps):
        if gate or row_sums:
            return None
        return tile_products.plan_of((a_name, x), (b_name, y), (out_name, result), bias)._replace(results=results)
    epilogue = Epilogue(alpha != 1, bias and "row", addend is not None, activation, gate is not None)
    way = _way(x.scalar, sizes, steps, epilogue, accumulate, row_sums is not None)
    if way is None:
        apart = {name: layout.plain() for name, layout, *_ in (a, b) if _is_apart(layout)}
        if not apart:
            return None
        a, b = ((name, apart.get(name, layout), *turned) for name, layout, *turned in (a, b))
        more = {"activation": activation, "alpha": alpha, "accumulate": accumulate, "row_sums": row_sums}
        plan = plan_product_of(a, b, out, bias, addend, gate, **more)
        return plan and plan._replace(copied=dict.fromkeys(apart))
    if row_sums:
        results[row_sums] = Layout(x.shape[:1], x.dtype)
    operands = (b_name, a_name) if way.swapped else (a_name, b_name)
    own = [("workspace", way.own, NUMPY[computed_in(x.scalar)], way.common)] if way.own or way.common else []
    given = bias, other and other[0], "workspace" if own else None, way.numbers, alpha, int(accumulate), row_sums
    name, time = way.build.__name__.removesuffix("_program"), math.prod(sizes) * _NANOSECONDS
    launch = Launch(way.build, way.form, (*operands, out_name, *given), time, name)
    return Plan([launch], results, thread_scratch=own)


def _way(storage, sizes, steps, epilogue, accumulate, sums_rows):
    """The _Way of a product on the vector units; None without a program."""
    compute = computed_in(storage)
    packed = PAIRS if storage == "bf16" and host.has_dots() else compute
    half, pairs, itemsize = storage != compute, packed == PAIRS, NUMPY[storage].itemsize
    if not (half or accumulate or sums_rows) and epilogue == Epilogue():
        tiny = _tiny_way(storage, sizes, *steps[:3])
        if tiny is not None:
            return tiny
    shape, swapped = _shape(*sizes, *steps), False
    turned = [(batch, column, row) for batch, row, column in steps]
    if shape is None or (shape.n == 1 and shape.a_form == "columns" and not epilogue.bias):
        # The same memory, seen as the transposed product: C^T = B^T A^T.
        batch, m, n, k = sizes
        other = _shape(batch, n, m, k, turned[1], turned[0], *turned[2:])
        shape, swapped = (shape, False) if other is None else (other, True)
    if shape is None:
        return None
    lanes = host.lanes(NUMPY[compute].itemsize)
    if epilogue.bias and swapped:
        epilogue = epilogue._replace(bias="column")
    if sums_rows:
        if half or swapped or shape.a_form == "rows" or shape.k > SUMMED_COLUMNS or turns_out(shape, itemsize):
            return None
    elif not (accumulate or epilogue.addend or epilogue.gate):
        dots = _dots_way(shape, (storage, compute, packed), lanes, epilogue, half)
        if dots is not None:
            return dots._replace(swapped=swapped)
        if not swapped and (pairs or not half) and turns_out(shape, itemsize):
            shape = _shape(shape.batch, shape.n, shape.m, shape.k, turned[1], turned[0], *turned[2:], c_turned=True)
            swapped = True
    plan = plan_product(shape, lanes, host.vector_registers(), itemsize, half, accumulate, pairs)
    packing = plan.a_pack, plan.b_pack, plan.b_shared
    options = Options(storage, compute, packed, lanes, plan.widths, plan.heights, shape.a_form, *packing, plan.resumes,
                      shape.c_turned, epilogue, sums_rows)  # fmt: skip
    return _Way(matmul_program, options, plan.sizes, plan.workspace, plan.scratch, swapped)


def _fits_tiles(sizes, steps):
    """Whether the tile unit has a program for the layouts and takes less time than the vector units."""
    a, b, c, _ = steps
    one_step = 1 in a[1:] and 1 in b[1:] and c[2] == 1
    return one_step and tile_products.pays(*(sizes[i] for i in (1, 3, 2, 0)), a[2] == 1, b[1] == 1)


def _tiny_way(storage, sizes, a, b, c):
    """The _Way of many tiny matrices; None where they are not."""
    batch, m, n, k = sizes
    if batch < _MANY or max(m, n, k) > LARGEST or c != (m * n, n, 1):
        return None
    forms = dense_form(m, k, *a[1:]), dense_form(k, n, *b[1:])
    return (
        None if None in forms else _Way(tiny_program, (storage, m, n, k, *forms), tiny_plan(batch, m, n, k, a[0], b[0]))
    )


def _dots_way(shape, types, lanes, epilogue, half):
    """The _Way of sums along the rows of one operand, where the other is no more than a few vectors; or None."""
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
    form = (*types, lanes, host.vector_registers(), matrix, epilogue, at_once(numbers[2]))
    numbers = dots_plan(*numbers, shape.batch, steps)
    return _Way(dots_program, form, numbers, own=numbers[-1] if half else 0)


def _meant(name, layout, turned=False):
    """An operand as it is multiplied."""
    return name, layout.turned((*range(layout.ndim - 2), -1, -2)) if turned else layout


def _is_apart(matrix):
    """Whether neither the elements of its rows nor those of its columns lie side by side."""
    return not (matrix.is_plain or 1 in matrix.shape[-2:] or matrix.dtype.itemsize in matrix.strides[-2:])


def _steps(matrix):
    """The steps between matrices, rows and columns, in elements; None where they are no whole numbers of them."""
    steps = matrix.steps
    return steps if steps is None or matrix.ndim == 3 else (0, *steps)


def _shape(batch, m, n, k, a, b, c, addend, c_turned=False):
    """The Shape of a product with such steps (between matrices, rows and columns), or None where no step fits."""
    if a[1] != 1 if k == 1 else a[2] == 1:
        a_form, lda = "rows", a[1]
    elif a[1] == 1 or m == 1:
        a_form, lda = "columns", a[2]
    else:
        return None
    if b[2] == 1 or n == 1:
        b_turned, ldb = False, 1 if k == 1 else b[1]
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


def _worthwhile(plan, pays):
    return plan and plan._replace(pays=pays)


@plan_for("mm")
def mm(self: Layout, mat2: Layout):
    if self.ndim != 2 or mat2.ndim != 2:
        return None
    return _worthwhile(plan_product_of(("self", self), ("mat2", mat2)), self.size * mat2.shape[1] >= SMALL)


@plan_for("mv")
def mv(self: Layout, vec: Layout):
    if self.ndim != 2 or vec.ndim != 1:
        return None
    plan = plan_product_of(("self", self), ("vec", Layout((*vec.shape, 1), vec.dtype)))
    if plan is None:
        return None
    results, copied = {"out": Layout(self.shape[:1], self.dtype)}, {**plan.copied, **copies(vec=vec)}
    return plan._replace(results=results, copied=copied, pays=self.size >= SMALL)


@plan_for("transposed_mm")
def transposed_mm(self: Layout, mat2: Layout):
    if self.ndim != 2:
        return None
    plan = plan_product_of(("self", self, True), ("mat2", mat2))
    return _worthwhile(plan, self.size * mat2.shape[-1] >= SMALL)


@plan_for("bmm")
def bmm(self: Layout, mat2: Layout):
    return plan_batch(("self", self), ("mat2", mat2))


def plan_batch(a, b):
    """`plan_product_of` two batches of matrices."""
    plan = plan_product_of(a, b) if a[1].ndim == 3 else None
    if plan is None:
        return None
    work = a[1].size * plan.results["out"].shape[2]
    return plan._replace(pays=a[1].shape[0] >= _MANY or work >= SMALL)


@plan_for("batched_product")
def batched_product(self: Layout, mat2: Layout):
    pays = self.size * mat2.shape[-1] >= SMALL
    if not mat2.ndim == 2 < self.ndim:
        return _worthwhile(plan_product_of(("self", self), ("mat2", mat2)), pays)
    if not self.is_plain:
        return None
    rows = Layout((math.prod(self.shape[:-1]), self.shape[-1]), self.dtype)
    plan = _worthwhile(plan_product_of(("self", rows), ("mat2", mat2)), pays)
    return plan and plan._replace(results={"out": Layout((*self.shape[:-1], mat2.shape[1]), self.dtype)})


@plan_for("addmm", "baddbmm")
def addmm(self: Layout, a: Layout, b: Layout, beta: Factor, alpha: Factor):
    scales = beta.__class__ is str
    if self.dtype != a.dtype or (scales and is_half(a.dtype)):  # the scaled addend would be rounded on its way
        return None
    name, added = ("scaled", self.plain()) if scales else ("self", self)
    bias = addend = None
    if beta != 0 and added == Layout(b.shape[-1:], a.dtype):
        bias = name
    elif beta != 0 and added.shape == (*a.shape[:-1], b.shape[-1]):
        addend = name, added
    elif beta != 0:
        return None
    plan = plan_product_of(("a", a), ("b", b), bias=bias, addend=addend, alpha=alpha)
    if plan is None:
        return None
    scalings = {"scaled": Made(scaled, ("self", "beta"))} if scales else {}
    odd = [Condition(_fits_factors, (a.dtype, "beta", "alpha"))] if scales or alpha.__class__ is str else []
    return plan._replace(made=scalings, conditions=odd, pays=a.size * b.shape[-1] >= SMALL)


def scaled(array, factor):
    """A plain array of an array's numbers times a number."""
    with np.errstate(all="ignore"):
        return np.multiply(array, array.dtype.type(factor), order="C")


def _fits_factors(dtype, beta, alpha):
    """Whether these are real numbers; what the dtype has no place for is refused."""
    factors_in(dtype, beta, alpha)
    return not (isinstance(beta, complex) or isinstance(alpha, complex))
