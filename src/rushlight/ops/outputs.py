"""Which dtypes an ``out=`` tensor may have, operation by operation, and PyTorch's words where it has another."""

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import c_name

# Given numbers, their in-place forms call the dtype that they write into by its C++ name.
_CLAMPS = frozenset(("clamp", "clamp_min", "clamp_max"))
# Operations that are not elementwise and still write into any dtype that their result can be cast to.
_CASTING = frozenset(
    [
        "addr",
        "bernoulli",
        "cat",
        "hstack",
        "cholesky",
        "cholesky_inverse",
        "cholesky_solve",
        "column_stack",
        "diff",
        "dstack",
        "fft_fft",
        "fft_fft2",
        "fft_fftn",
        "fft_hfft",
        "fft_hfft2",
        "fft_hfftn",
        "fft_ifft",
        "fft_ifft2",
        "fft_ifftn",
        "fft_ihfft",
        "fft_ihfft2",
        "fft_ihfftn",
        "fft_irfft",
        "fft_irfft2",
        "fft_irfftn",
        "fft_rfft",
        "fft_rfft2",
        "fft_rfftn",
        "float_power",
        "geqrf",
        "ger",
        "kron",
        "linalg_cond",
        "linalg_eig",
        "linalg_eigvals",
        "linalg_householder_product",
        "linalg_lstsq",
        "linalg_matrix_power",
        "linalg_matrix_rank",
        "linalg_pinv",
        "linalg_tensorinv",
        "linalg_tensorsolve",
        "logsumexp",
        "lu",
        "matrix_power",
        "mvlgamma",
        "ndtr",
        "normal",
        "orgqr",
        "outer",
        "polygamma",
        "special_polygamma",
        "square",
        "stack",
        "std",
        "true_divide",
        "var",
        "vstack",
    ]
)
_JOINING = frozenset(("cat", "stack", "hstack", "vstack", "dstack", "column_stack"))
# With ``out=`` and no dtype, these compute in the dtype of the tensor that they write to.
DTYPE_FROM_OUT = frozenset(("sum", "nansum", "prod", "mean", "nanmean", "cumsum", "cumprod"))
# Not elementwise, and still refusing an ``out=`` tensor that shares a part of its memory with an operand.
UNSHARED = frozenset(("cumsum", "cumprod", "gather", "sort", "where"))
# The operands that may not even be the ``out=`` tensor itself.
APART = {
    **dict.fromkeys(("cat", "stack", "hstack", "vstack", "dstack", "column_stack"), ("tensors",)),
    **dict.fromkeys(("kthvalue", "median", "nanmedian", "nonzero", "nonzero_static", "take_along_dim"), ("self", "input")),
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), ("index", "src")),
    **dict.fromkeys(("index_add", "index_copy", "index_reduce"), ("index", "source")),
    **dict.fromkeys(("index_select", "take"), ("self", "index")),
    **dict.fromkeys(("cross", "linalg_cross", "kron"), ("input", "other")),
    "outer": ("input", "vec2"), "addr": ("vec1", "vec2"),
    "gather": ("self",), "masked_select": ("self", "mask"),
}  # fmt: skip
# The operands that PyTorch has read whole before it writes, so that they may be the ``out=`` tensor whatever becomes of its shape.
READ_FIRST = {"ldexp": "other"}
# Operations whose functions take no ``out=``.
WITHOUT_OUT = frozenset(
    ("isnan", "isinf", "isfinite", "isreal", "roll", "flip", "rot90", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "clone",
     "fill", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet", "index_fill", "embedding", "bincount", "masked_fill",
     "masked_scatter", "constant_pad_nd", "as_strided_scatter", "select_scatter", "diagonal_scatter", "count_nonzero", "put",
     "diag_embed", "trace", "unsafe_split_with_sizes", "unsafe_split", "relu", "celu", "rsub")
)  # fmt: skip
# These leave an ``out=`` tensor that has as many elements in its own shape.
KEEP_SHAPE = frozenset(("arange", "range", "linspace", "logspace"))

_FOUND = "Found dtype {goal} but expected {source}"
_MATCH = "result dtype {goal} does not match input dtype {source}"
_BOOLEAN = "{name} does not support non-boolean outputs."
_WORDS = {
    **dict.fromkeys(
        ("abs", "ceil", "conj_physical", "frac", "floor", "softshrink", "hardshrink", "gelu", "neg", "round", "sign", "sgn",
         "trunc", "softplus", "clamp"),
        _FOUND,
    ),
    **dict.fromkeys(("dot", "vdot", "matmul"), _MATCH),
    **dict.fromkeys(("cummax", "cummin", "logcumsumexp"), "expected scalar_type {source} but found {goal}"),
    **dict.fromkeys(("signbit", "isposinf", "isneginf"), _BOOLEAN),
    **dict.fromkeys(("all", "any"), "{name} only supports bool tensor for result, got: {goal}"),
    **dict.fromkeys(("quantile", "nanquantile"), "{name}() out tensor must be same dtype as the input tensor"),
    **dict.fromkeys(
        ("inner", "tensordot"),
        "tensordot: Expected the output tensor to have dtype {source}, but got an output tensor with dtype {goal}",
    ),
    **dict.fromkeys(
        ("amax", "amin"),
        "Expected the dtype for input and out to match, but got {source} for input's dtype and {goal} for out's dtype.",
    ),
    **dict.fromkeys(
        ("index_select", "masked_select"), "{name}(): self and result must have the same scalar type"
    ),
    **dict.fromkeys(
        ("complex_of_parts", "polar_of_parts"), "Expected object of scalar type {source} but got scalar type {goal} for argument 'out'"
    ),
    "linalg_norm": "linalg.norm expected out tensor dtype {source} but got: {goal}",
    "linalg_matrix_norm": "linalg.matrix_norm expected out tensor dtype {source} but got: {goal}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {c_source} but got {c_goal}",
    "kthvalue": "output values must be of same type as input",
    "mode": "expected scalar type '{source}' but got '{goal}' for values output",
    "nonzero": "nonzero: Expected out tensor to have scalar type {source} but got scalar type{goal}",
    "multinomial": "multinomial expects Long tensor out, got: {goal}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {source} and out.dtype = {goal}",
    "frexp": "torch.frexp() expects mantissa to have dtype {c_source} but got {c_goal}",
    "where_select": "Expected out type to be {source} but got {goal}",
    "nan_to_num": "nan_to_num: dtype of out: {goal} should be same as input: {source}",
}  # fmt: skip


def check_inplace_dtype(name, others, source, goal):
    """Refuse to write a result of dtype ``source`` into a tensor of dtype ``goal`` in place where that loses its kind.

    ``others`` are the arguments besides that tensor.
    """
    if not dtypes.can_cast(source, goal):
        by_numbers = name in _CLAMPS and not any(hasattr(value, "_edge") for value in others)
        written = c_name(goal) if by_numbers else goal.legacy_name
        raise RuntimeError(
            hinted(
                f"result type {source.legacy_name} can't be cast to the desired output type {written}",
                f"{name}_() writes into a tensor of {goal!r}; convert it first, or use the out-of-place form",
            )
        )


def check_out_dtype(name, source, goal, casting, operand=None):
    """Refuse an ``out=`` tensor of dtype ``goal`` that operation ``name`` cannot write its result of ``source`` to.

    ``casting`` says that the operation is elementwise: it writes into any dtype that the result can be cast to. ``operand`` is
    the dtype of its first operand.
    """
    if goal is dtypes.uint8 and name in ("all", "any"):
        return
    words = _WORDS.get(name)
    if name == "abs" and operand is not None and operand.is_complex:  # the lengths are cast, or stay complex
        if goal is operand:
            return
        words, source = (words, operand) if goal.is_complex else (None, source)
    if words is None and (casting or name in _CASTING):
        if dtypes.can_cast(source, goal):
            return
        words = "result type {source} can't be cast to the desired output type {goal}"
        if name in _JOINING:
            raise TypeError(
                hinted(
                    f"torch.cat(): input types can't be cast to the desired output type {goal.legacy_name}",
                    f"the result has dtype {source!r}",
                )
            )
    elif words is None:
        words = "Expected out tensor to have dtype {c_source}, but got {c_goal} instead"
    raise RuntimeError(
        hinted(
            words.format(
                name=name,
                source=source.legacy_name,
                goal=goal.legacy_name,
                c_source=c_name(source),
                c_goal=c_name(goal),
            ),
            f"the result has dtype {source!r}, the tensor given as out= has {goal!r}",
        )
    )
