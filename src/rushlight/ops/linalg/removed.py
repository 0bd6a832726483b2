"""Functions that PyTorch removed and still names: calling one says what took its place."""

from ...base.errors import hinted
from ..table import BOTH, composite

_GONE = "This function was deprecated since version 1.9 and is now removed."
_SOLVE = (
    " `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and does not "
    "return the LU factorization."
)
_EIG = (
    " `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex "
    "tensors."
)
_SYMEIG = (
    " The default behavior has changed from using the upper triangular portion of the matrix by default to using the lower "
    "triangular portion."
)
# name -> (where it was, the rest of PyTorch's sentence, what to call)
_REMOVED = {
    "solve": (BOTH, _SOLVE, "torch.linalg.solve(A, B)"),
    "lstsq": (BOTH, " `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.", "torch.linalg.lstsq(A, B)"),
    "eig": (BOTH, _EIG, "torch.linalg.eig(A)"),
    "symeig": (BOTH, _SYMEIG, "torch.linalg.eigh(A)"),
    "matrix_rank": (("torch",), "", "torch.linalg.matrix_rank(A)"),
}


def _removed(name, names, rest, instead):
    def call(input, *args, **kwargs):
        raise RuntimeError(hinted(_GONE + rest, f"call {instead}"))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Removed from PyTorch: call ``{instead}``."
    composite(call, names=names)


for _name, (_names, _rest, _instead) in _REMOVED.items():
    _removed(_name, _names, _rest, _instead)
