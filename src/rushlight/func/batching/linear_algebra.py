"""Decompositions and solvers: they take batches of matrices in leading dimensions."""

from __future__ import annotations

from .call import aligned, each, rule

# Arguments that are no matrices: how many dimensions one of them has.
_DIMENSIONS = {"pivots": 1, "atol": 0, "rtol": 0}


@rule(
    "cholesky_parts", "cholesky_factor", "cholesky_solution", "cholesky_inverse_of", "eigh_parts", "eig_parts",
    "inverse_parts", "linalg_det", "slogdet_parts", "ldl_parts", "ldl_solution", "solve_parts", "triangular_parts", "triangular_solve_parts",
    "lstsq_parts", "lu_packed", "lu_triple", "permutation_of", "lu_halves", "lu_solution", "qr_parts", "geqrf_parts",
    "matrix_exp_parts", "svd_parts", "svd_values", "pinv_parts", "in_columns",
)  # fmt: skip
def matrices(call):
    """All operands get the batch, and as many leading dimensions as the others."""
    own = {name: _DIMENSIONS.get(name, 2) for name in call.tensors()}
    most = max(call.given(name).dim() - ndim for name, ndim in own.items())
    found = call.run(**{name: aligned(call.batched(name), most + ndim) for name, ndim in own.items()})
    # What was not asked for is an empty vector, whatever the batch.
    return each(found, lambda part: part.reshape(call.size, 0) if part.shape == (0,) else part)
