"""``torch.lobpcg``: some extreme eigenpairs of a symmetric matrix, which may be sparse, by products with it alone.

The method keeps a block of approximate eigenvectors X, and improves it within the space that X, its residuals and the last step's
directions span (A. Knyazev, "Toward the optimal preconditioned eigensolver", 2001; "ortho": with an orthonormal basis of that space,
J. Duersch, M. Shao, C. Yang, M. Gu, "A robust and efficient implementation of LOBPCG", 2018).
"""

from __future__ import annotations

from . import sparse
from .autograd.function import Function
from .base.device import sparse_coo
from .base.dtypes import bool_, complex64, complex128, finfo, float16, float32, float64
from .base.errors import hinted
from .ops.table import functions
from .overrides import handle_torch_function, has_torch_function

__all__ = ["lobpcg"]


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The ``k`` largest or smallest eigenvalues of a symmetric positive definite matrix and their eigenvectors; ``torch.lobpcg``.

    Args:
        A: (*, m, m), dense; or (m, m), COO. A gradient flows to a dense one, where there is no ``B``.
        k: how many; by default as many as ``X`` has columns, or 1.
        B: as ``A``, for the generalized problem ``A x = e B x``; the identity by default.
        X: (*, m, n), where the search starts; by default random, with ``n`` columns. ``method="basic"`` writes into it.
        n: how many vectors are followed, ``k`` by default; at most ``m / 3``.
        iK: (m, m), a preconditioner of the residuals (``method="basic"``).
        niter: the most steps, 1000 by default; without limit if -1.
        tol: the relative residual of a pair that is found; the square root of the dtype's rounding by default.
        largest: True by default.
        method: ``"ortho"`` by default, or ``"basic"``, whose steps are cheaper and which may fail.
        tracker: called with the `LOBPCG` after each step.
        ortho_iparams, ortho_fparams, ortho_bparams: numbers of ``method="ortho"``, among them ``ortho_tol``.

    Returns:
        The eigenvalues (*, k), and the eigenvectors (*, m, k).

    Raises:
        ValueError: ``m`` is less than ``3 * n``.
        AssertionError: shapes do not fit.

    >>> import rushlight as torch
    >>> matrix = torch.diag(torch.tensor([1.0, 5.0, 2.0, 9.0]))
    >>> values, vectors = torch.lobpcg(matrix, X=torch.ones(4, 1))
    >>> values, vectors.abs().round(decimals=3).T
    (tensor([9.0000]), tensor([[0., 0., 0., 1.]]))
    """
    if has_torch_function((A, B, X, iK)):
        return handle_torch_function(
            lobpcg, (A, B, X, iK), A, k=k, B=B, X=X, n=n, iK=iK, niter=niter, tol=tol, largest=largest, method=method,
            tracker=tracker, ortho_iparams=ortho_iparams, ortho_fparams=ortho_fparams, ortho_bparams=ortho_bparams,
        )  # fmt: skip
    options = (k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    if A.requires_grad or (B is not None and B.requires_grad):
        return LOBPCGAutogradFunction.apply(_symmetric(A), k, None if B is None else _symmetric(B), *options[2:])
    return _eigenpairs(A, *options)


def _symmetric(matrix):
    return (matrix + matrix.mT) / 2  # so that a step against the gradient leaves it symmetric


class LOBPCGAutogradFunction(Function):
    """The eigenpairs as a node of the graph: its class has PyTorch's name."""

    @staticmethod
    def forward(ctx, A, k, B, *options):
        E, X = _eigenpairs(A, k, B, *options)
        ctx.save_for_backward(A, B, E, X)
        return E, X

    @staticmethod
    def backward(ctx, grad_E, grad_X):
        A, B, E, X = ctx.saved_tensors
        if A.is_sparse or (B is not None and B.is_sparse and ctx.needs_input_grad[2]):
            _refuse("sparse input yet. Note that lobpcg.forward does though.", "give A.to_dense()")
        if A.dtype in _COMPLEX or (B is not None and B.dtype in _COMPLEX):
            _refuse("complex input yet. Note that lobpcg.forward does though.", "torch.linalg.eigh has gradients")
        if B is not None:
            _refuse("backward with B != I yet.", "transform to a problem without B, by B's Cholesky factor")
        return _gradient(A, E, X, grad_E, grad_X), *(None,) * 13


_COMPLEX = (complex64, complex128)


def _refuse(what, hint):
    raise ValueError(hinted(f"lobpcg.backward does not support {what}", hint))


def _gradient(A, E, X, grad_E, grad_X):
    """The gradient by ``A`` of its eigenpairs: how X turns within its own span, and how it leaves that.

    Outside of the span, column x of e moves by (e - A)^-1 dA x, which is solved for in the complement of X.
    """
    gaps = E.unsqueeze(-2) - E.unsqueeze(-1)
    same = functions.eye(E.shape[-1], dtype=bool_, device=E.device)
    turns = (X.mT @ grad_X).masked_fill(same, 0) / gaps.masked_fill(same, 1)
    result = X @ (functions.diag_embed(grad_E) + turns) @ X.mT
    if X.shape[-1] == X.shape[-2]:
        return result
    unit = functions.eye(X.shape[-2], dtype=X.dtype, device=X.device)
    within = X @ X.mT
    beyond = unit - within
    outer = beyond @ A @ beyond
    shifted = outer.unsqueeze(-3) - E[..., None, None] * beyond.unsqueeze(-3) + within.unsqueeze(-3)
    moved = functions.linalg_solve(shifted, (beyond @ grad_X).mT.unsqueeze(-1)).squeeze(-1)
    return result - (moved @ beyond).mT @ X.mT


def _eigenpairs(
    A, k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams
):  # fmt: skip
    """What `lobpcg` returns, outside of the graph."""
    _check(A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}")
    if B is not None:
        _check(A.shape == B.shape, f"A and B must have same shape, got {A.shape} vs {B.shape}")
    dtype = A.dtype if A.dtype in (float16, float32, float64) else float32
    tol = {float32: 1.2e-07, float64: 2.23e-16}[dtype] ** 0.5 if tol is None else tol
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        message = (
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
        raise ValueError(hinted(message, "torch.linalg.eigh finds all pairs of a small matrix"))
    method = "ortho" if method is None else method
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    fparams, bparams = {"tol": tol}, {"largest": True if largest is None else largest}
    if method == "ortho":
        iparams |= {"ortho_i_max": 3, "ortho_j_max": 3} | (ortho_iparams or {})
        fparams |= dict.fromkeys(("ortho_tol", "ortho_tol_drop", "ortho_tol_replace"), tol) | (ortho_fparams or {})
        bparams |= {"ortho_use_drop": False} | (ortho_bparams or {})
    rest = (iK, iparams, fparams, bparams, method, tracker)
    if A.ndim == 2:
        return _pairs_of(A, B, X, dtype, "X", rest)
    A_blocks, B_blocks, X_blocks = (None if each is None else each.reshape(-1, *each.shape[-2:]) for each in (A, B, X))
    E = functions.empty((len(A_blocks), k), dtype=dtype, device=A.device)
    vectors = functions.empty((len(A_blocks), m, k), dtype=dtype, device=A.device)
    for number, block in enumerate(A_blocks):
        iparams["batch_index"] = number
        others = (None if each is None else each[number] for each in (B_blocks, X_blocks))
        E[number], vectors[number] = _pairs_of(block, *others, dtype, "X_", rest)
    return E.reshape(*A.shape[:-2], k), vectors.reshape(*A.shape[:-2], m, k)


def _pairs_of(A, B, X, dtype, name, rest):
    """The eigenpairs of one matrix. ``name`` is X's in errors."""
    m, n, k = (rest[1][each] for each in "mnk")
    X = functions.randn((m, n), dtype=dtype, device=A.device) if X is None else X
    _check(X.shape == (m, n), f"{name} shape mismatch: got {X.shape}, expected {(m, n)}")
    search = LOBPCG(A, B, X, *rest)
    search.run()
    return search.E[:k], search.X[:, :k]


def _check(holds, message):
    if not holds:
        raise AssertionError(hinted(message, "A and B are (*, m, m), and X is (*, m, n)"))


def _applied(matrix, block):
    """``matrix @ block``; no matrix stands for the identity."""
    if matrix is None:
        return block
    return sparse.mm(matrix, block) if matrix.layout is sparse_coo else matrix @ block


def _form(matrix, block):
    return block.mT @ _applied(matrix, block)


def _eigh(matrix, largest=False):
    E, Z = functions.linalg_eigh(matrix, "U")
    return (E.flip(-1), Z.flip(-1)) if largest else (E, Z)


class LOBPCG:
    """A search for eigenpairs as it stands after a step: what a ``tracker`` is given.

    ``iparams``, ``fparams`` and ``bparams`` are the numbers and switches that it was called with; ``ivars``, ``fvars``, ``bvars`` and
    ``tvars`` those of this step: ``ivars["istep"]`` counts steps, ``tvars["rerr"]`` are the relative residuals, and a tracker that
    sets ``bvars["force_stop"] = True`` ends the search. ``E`` and ``X`` are the eigenpairs so far, ``R`` their residuals, and the
    columns of ``S`` the space of the next step: ``X``, directions, and residuals. They are written again: copy what is kept.
    """

    def __init__(self, A, B, X, iK, iparams, fparams, bparams, method, tracker):
        self.A, self.B, self.iK, self.method, self.tracker = A, B, iK, method, tracker
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E, self.R, self.S = X.new_zeros(n), X.new_zeros(m, n), X.new_zeros(m, 3 * n)
        self.ivars, self.fvars, self.bvars, self.tvars = {"istep": 0}, {"_": 0.0}, {"_": False}, {}

    def __str__(self):
        names = ("iparams", "fparams", "bparams", "ivars", "fvars", "bvars", "tvars", "A", "B", "iK", "X", "E")
        return "LOBPCG:\n" + "".join(f"  {name}={getattr(self, name)}\n" for name in names)

    def run(self):
        """Step until enough pairs are found, or for as long as one may."""
        while True:
            self.update()
            if self.tracker is not None:
                self.call_tracker()
            if self.stop_iteration():
                return

    def call_tracker(self):
        """Show the tracker this step."""
        self.tracker(self)

    def stop_iteration(self):
        """Whether this was the last step."""
        left, found = self.ivars["iterations_left"], self.ivars["converged_count"]
        return self.bvars.get("force_stop", False) or left == 0 or found >= self.iparams["k"]

    def update(self):
        """One step."""
        if self.ivars["istep"] == 0:
            self._begin()
        else:
            self._improve()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def _begin(self):
        """Measure the matrices, and turn X to the eigenvectors within its span."""
        norm = float(self.X.norm())
        inverse = norm**-1
        self.fvars["X_norm"] = norm
        self.fvars["A_norm"] = float(_applied(self.A, self.X).norm()) * inverse
        self.fvars["B_norm"] = float(_applied(self.B, self.X).norm()) * inverse
        self.ivars |= {"iterations_left": self.iparams["niter"], "converged_count": 0, "converged_end": 0}
        E, turn = self._rayleigh_ritz(self.X)
        if self.method == "ortho":
            self.X = self.X @ turn
        else:
            self.X[:] = self.X @ turn
            self.E[:] = E
        self.update_residual()
        self.update_converged_count()
        self._span(self.X[:, :0], self.R)

    def _improve(self):
        """The eigenpairs within the space S, of which those found before are no longer a part."""
        n, found = self.iparams["n"], self.ivars["converged_count"]
        space = self.S[:, found : self.ivars["converged_end"]]
        wanted = n - found
        if self.method == "ortho":
            E, Z = _eigh(_form(self.A, space), self.bparams["largest"])
            directions = Z[:, wanted:] @ functions.linalg_qr(Z[:wanted, wanted:].mT)[0]
        else:
            E, Z = self._rayleigh_ritz(space)
            directions = Z[:, n : n + wanted]
        self.X[:, found:] = space @ Z[:, :wanted]
        self.E[found:] = E[:wanted]
        self.update_residual()
        self._span(space @ directions, self.R[:, self.update_converged_count() :])

    def _span(self, directions, residuals):
        """Make S of X, directions, and what the residuals add."""
        n = self.iparams["n"]
        end = n + directions.shape[-1]
        self.S[:, :n], self.S[:, n:end] = self.X, directions
        if self.method == "ortho":
            added = self._orthonormal(residuals, self.S[:, :end])
        else:
            added = _applied(self.iK, residuals)
        self.ivars["converged_end"] = end + added.shape[-1]
        self.S[:, end : self.ivars["converged_end"]] = added

    def update_residual(self):
        """Compute R, what is missing in ``A X = B X E``."""
        self.R = _applied(self.A, self.X) - _applied(self.B, self.X) * self.E

    def update_converged_count(self):
        """Count the pairs found, in their order: those whose residual is below ``tol`` of what rounding of A and B makes."""
        scale = self.X.norm(2, 0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        self.tvars["rerr"] = self.R.norm(2, 0) / scale
        small = (self.tvars["rerr"] < self.fparams["tol"]).tolist()
        before, count = self.ivars["converged_count"], (*small, False).index(False)
        if count < before:
            message = f"the number of converged eigenpairs (was {before}, got {count}) cannot decrease"
            raise AssertionError(hinted(message, "a larger tol, or float64, leaves room for rounding"))
        self.ivars["converged_count"] = count
        return count

    def _rayleigh_ritz(self, space):
        """The eigenvalues within a space, and its vectors' coefficients; B is made the identity there by its Cholesky factor."""
        form = _form(self.B, space)
        scale = form.diagonal() ** -0.5
        root = functions.linalg_cholesky(form * scale * scale[:, None], upper=True)
        turn = functions.linalg_solve_triangular(root, scale.diag_embed(), upper=True, left=False)
        E, Z = _eigh(turn.mT @ _form(self.A, space) @ turn, self.bparams["largest"])
        return E, turn @ Z

    def _orthonormal(self, block, space):
        """A basis, orthonormal by B, of what a block adds to a space; no columns where that is nothing.

        What the space holds is taken off the block, and the rest made orthonormal: each again until rounding is below ``ortho_tol``.
        """
        rounding = 4 * finfo(block.dtype).eps  # what is left of a column that the space holds
        enough, space_norm = self.fparams["ortho_tol"], _applied(self.B, space).norm()
        shared = space.mT @ _applied(self.B, block)
        i = j = 0
        for i in range(self.iparams["ortho_i_max"]):
            rest = block - space @ shared
            block = rest.masked_fill(rest.norm(2, 0) <= rounding * block.norm(2, 0), 0)
            for j in range(self.iparams["ortho_j_max"]):
                block = self._more_orthonormal(block, j)
                if not block.numel():
                    break
                image = _applied(self.B, block)
                form = block.mT @ image
                rest = form - functions.eye(form.shape[-1], dtype=form.dtype, device=form.device)
                error = float(rest.norm()) / float(image.norm() * block.norm())
                self.fvars[f"ortho_UBUmI_rerr[{i}, {j}]"] = error
                if error < enough:
                    break
            if not block.numel():
                break
            shared = space.mT @ image
            error = float(shared.norm()) / float(space_norm * block.norm())
            self.fvars[f"ortho_VBU_rerr[{i}]"] = error
            if error < enough:
                break
            self._check_room(block, space)
        self.ivars |= {"ortho_i": i, "ortho_j": j}
        return block

    def _check_room(self, block, space):
        if self.iparams["m"] < block.shape[-1] + space.shape[-1]:
            _check(self.B is not None, "B must not be None")
            message = (
                f"Overdetermined shape of U: #B-cols(={self.B.shape[-1]}) >= #U-cols(={block.shape[-1]}) + "
                f"#V-cols(={space.shape[-1]}) must hold"
            )
            raise ValueError(hinted(message, "a space has no more dimensions than the matrix"))

    def _more_orthonormal(self, block, attempt):
        """The block with its columns closer to orthonormal by B, from the eigenvectors of their products: its zero columns dropped.

        With ``ortho_use_drop``, directions of which there is little are dropped too, from the second attempt on; else they are kept
        apart by ``ortho_tol_replace``.
        """
        drop = self.bparams["ortho_use_drop"]
        tol = self.fparams["ortho_tol_drop" if drop and attempt == 0 else "ortho_tol_replace"]
        form = _form(self.B, block)
        there = form.diagonal() != 0
        if not there.all():
            block = block[:, there]
            form = _form(self.B, block)
        if not block.numel():
            return block
        scale = form.diagonal() ** -0.5
        E, Z = _eigh(form * scale[:, None] * scale)
        least = tol * E.abs().max()
        if drop and attempt:
            kept = least < E
            E, Z = E[kept], Z[:, kept]
        else:
            E = E.where(least <= E, least)
        return (block * scale) @ (Z * E**-0.5)
