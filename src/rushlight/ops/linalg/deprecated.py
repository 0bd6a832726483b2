"""What PyTorch warns of, once in a process, where a function of linear algebra is called that has a successor."""

from ...base.notes import warn_once

_GOES = " and will be removed in a future PyTorch release."
_CHOLESKY = (
    "\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
    "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
    "(symmetric positive definite) inputs."
)
_LU = (
    "\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
    "and\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)
_LU_SOLVE = (
    "\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)
_QR = (
    "\nThe boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
    "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)
_TRIANGULAR = (
    "\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
)
# name -> PyTorch's words behind it; two of its sentences lack a space
_WORDS = {
    "chain_matmul": f"{_GOES} Use torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
    "multiple parameters.",
    "cholesky": f" in favor of torch.linalg.cholesky{_GOES}{_CHOLESKY}",
    "lu": f" in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex{_GOES}{_LU}",
    "lu_solve": f" in favor of torch.linalg.lu_solve{_GOES[1:]}{_LU_SOLVE}",
    "qr": f" in favor of torch.linalg.qr{_GOES}{_QR}",
    "triangular_solve": f" in favor of torch.linalg.solve_triangular{_GOES[1:]}{_TRIANGULAR}",
}


def tell_successor(name):
    """Warn, once in a process, that the function ``name`` is deprecated."""
    warn_once(f"torch.{name} is deprecated{_WORDS[name]}")
