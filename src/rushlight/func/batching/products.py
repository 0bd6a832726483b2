"""Products of matrices and vectors: one large product where only one operand has the batch, else a batch of them."""

from __future__ import annotations

from ...ops.table import functions
from ...tensor.interposers import interposed
from .call import aligned, folded, merged, rule, split, unfolded


@rule("mm")
def mm(call):
    """(n, k) with (k, m)."""
    a, b = call.inside
    if not call.is_batched("mat2"):
        return unfolded(call.run(self=folded(a)), call.size)
    if not call.is_batched("self"):
        return split(call.run(mat2=merged(b, 1)), 1, call.size)
    return functions.bmm(a, b)


@rule("transposed_mm")
def transposed_mm(call):
    """(n, a) and (n, b) give (a, b)."""
    a, b = call.inside
    if not call.is_batched("mat2"):
        return unfolded(call.run(self=merged(a, 1)), call.size)
    if not call.is_batched("self"):
        return split(call.run(mat2=merged(b, 1)), 1, call.size)
    return functions.bmm(a.transpose(1, 2), b)


@rule("mv")
def mv(call):
    """(n, k) with (k)."""
    matrix, vector = call.inside
    if not call.is_batched("vec"):
        return unfolded(call.run(self=folded(matrix)), call.size)
    if not call.is_batched("self"):
        return functions.mm(vector, matrix.t())
    return functions.bmm(matrix, vector.unsqueeze(2)).squeeze(2)


@rule("dot")
def dot(call):
    """(k) with (k)."""
    a, b = call.inside
    if not call.is_batched("tensor"):
        return functions.mv(a, b)
    if not call.is_batched("self"):
        return functions.mv(b, a)
    if a.dtype is not b.dtype or a.shape != b.shape:
        call.check_entry()
    return functions.vector_products(a, b)


@rule("vdot")
def vdot(call):
    """As `dot`."""
    a, b = call.values
    with interposed(call.level):
        return call.level.batch((a.conj() if a.is_complex() else a).dot(b))


@rule("outer_product")
def outer_product(call):
    """(n) with (m) gives (n, m)."""
    return call.batched("self").unsqueeze(2) * call.batched("vec2").unsqueeze(1)


@rule("bmm")
def bmm(call):
    """(b, n, k) with (b, k, m): the batch goes into the rows or columns of one, or into both's batches."""
    a, b = call.inside
    if not call.is_batched("mat2"):
        return split(call.run(self=merged(a, 1)), 1, call.size)
    if not call.is_batched("self"):
        return split(call.run(mat2=merged(b, 2)), 2, call.size)
    return unfolded(call.run(self=folded(a), mat2=folded(b)), call.size)


def _sum_rule(product, first, second):
    def scaled_sum(call):
        call.check_entry()
        alpha, beta = call.given("alpha"), call.given("beta")
        with interposed(call.level):
            found = product(call.given(first), call.given(second))
            if not found.is_floating_point() and not found.is_complex():
                alpha, beta = int(alpha), int(beta)
            found = found if alpha == 1 else found * alpha
            if beta != 0:
                found = (call.given("self") if beta == 1 else call.given("self") * beta) + found
        return call.level.batch(found)

    return scaled_sum


rule("addmm")(_sum_rule(lambda a, b: a.mm(b), "mat1", "mat2"))
rule("addmv")(_sum_rule(lambda a, b: a.mv(b), "mat", "vec"))
rule("addr")(_sum_rule(lambda a, b: a.outer(b), "vec1", "vec2"))
rule("baddbmm")(_sum_rule(lambda a, b: a.bmm(b), "batch1", "batch2"))
rule("addbmm")(_sum_rule(lambda a, b: a.bmm(b).sum(0), "batch1", "batch2"))


@rule("linear_rows")
def linear(call):
    """Rows (n, k), weights (m, k), bias (m)."""
    rows, weight, bias = call.inside
    if not call.is_batched("weight") and not call.is_batched("bias"):
        return unfolded(call.run(input=folded(rows)), call.size)
    if not call.is_batched("weight"):
        found = call.run(input=folded(rows) if call.is_batched("input") else rows, bias=None)
        found = unfolded(found, call.size) if call.is_batched("input") else found.unsqueeze(0)
    elif not call.is_batched("input"):
        found = split(call.run(weight=folded(weight), bias=None), 1, call.size)
    else:
        found = functions.bmm(rows, weight.transpose(1, 2))
    if bias is None:
        return found
    return found + (aligned(bias, 2) if call.is_batched("bias") else bias)
