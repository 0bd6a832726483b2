"""The named tuples that operations return: ``torch.return_types``."""

from .ops.results import named_result as _named_result

_VALUES = "values indices"
# The fields of each, in order.
_FIELDS = {
    "aminmax": "min max", "cummax": _VALUES, "cummin": _VALUES, "frexp": "mantissa exponent", "geqrf": "a tau", "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges", "kthvalue": _VALUES, "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors", "linalg_eigh": "eigenvalues eigenvectors", "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots", "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values", "linalg_lu": "P L U", "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info", "linalg_qr": "Q R", "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info", "linalg_svd": "U S Vh", "lu_unpack": "P L U", "max": _VALUES, "median": _VALUES,
    "min": _VALUES, "mode": _VALUES, "nanmedian": _VALUES, "qr": "Q R", "slogdet": "sign logabsdet", "sort": _VALUES,
    "svd": "U S V", "topk": _VALUES, "triangular_solve": "solution cloned_coefficient",
}  # fmt: skip


def __getattr__(name):
    if name in _FIELDS:
        return _named_result(name, _FIELDS[name])
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted(_FIELDS)
