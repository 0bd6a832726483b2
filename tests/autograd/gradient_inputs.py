"""Small inputs for every differentiable record of the op table: made from its schema, or listed here by name."""

import inspect
from contextlib import contextmanager
from contextvars import ContextVar

import rushlight as rl
from rushlight.ops.schema import Schema

INT = rl.int64


_complex_numbers = ContextVar("complex_numbers", default=False)


@contextmanager
def complex_numbers():
    """Inside, inputs are made complex128 instead of float64."""
    token = _complex_numbers.set(True)
    try:
        yield
    finally:
        _complex_numbers.reset(token)


def t(*shape, low=0.2, high=0.9, complex=False):
    """Distinct random numbers inside the domain of nearly every function."""
    found = rl.rand(shape, dtype=rl.float64) * (high - low) + low
    return rl.complex(found, rl.rand(shape, dtype=rl.float64)) if complex or _complex_numbers.get() else found


class Fixed:
    """A tensor argument that is not differentiated."""

    def __init__(self, value):
        self.value = value


def fixed(*shape):
    return Fixed(t(*shape))


def index(*values):
    return rl.tensor(values, dtype=INT)


def positive():
    """A symmetric positive matrix with distinct eigenvalues."""
    a = t(3, 3)
    return a @ a.T + rl.diag(rl.tensor([1.0, 2.0, 4.0], dtype=rl.float64))


def regular():
    return t(3, 3) + rl.diag(rl.tensor([1.0, 2.0, 4.0], dtype=rl.float64))


MASK = rl.tensor([[True, False, True], [False, True, True]])
AT = rl.tensor([[0, 1, 1], [1, 0, 0]])
CONV = ((1,), (1,), (1,), 1)  # stride, padding, dilation, groups
POOL = ((2,), (2,), (0,), (1,), (2,))  # kernel, stride, padding, dilation, out

# name of the record -> a function that makes its arguments; tensors of floating dtype among them are differentiated.
CALLS = {
    "copy_": lambda: (t(2, 3), t(3)),
    "fill_number": lambda: (t(2, 3), 0.5),
    "fill_": lambda: (t(2, 3), t()),
    "fill": lambda: (t(2, 3), t()),
    "repeat": lambda: (t(2, 3), (2, 1, 2)),
    "roll": lambda: (t(2, 3), (1, 2), (0, 1)),
    "flip": lambda: (t(2, 3), (0,)),
    "mv": lambda: (t(2, 3), t(3)),
    "mm": lambda: (t(2, 3), t(3, 2)),
    "dot": lambda: (t(3), t(3)),
    "outer_product": lambda: (t(2), t(3)),
    "bmm": lambda: (t(2, 2, 3), t(2, 3, 2)),
    "batched_product": lambda: (t(2, 2, 3), t(2, 3, 2)),
    "baddbmm": lambda: (t(3), t(2, 2, 3), t(2, 3, 3)),
    "addmm": lambda: (t(2, 1), t(2, 3), t(3, 2)),
    "linear": lambda: (t(2, 3), t(2, 3), t(2)),
    "convolution": lambda: (t(1, 2, 4), t(2, 2, 3), t(2), *CONV),
    "convolution_input_gradient": lambda: (t(1, 2, 4), t(2, 2, 3), (1, 2, 4), *CONV),
    "transposed_convolution": lambda: (t(1, 2, 4), t(2, 2, 3), t(2), (1, 2, 4), *CONV),
    "convolution_weight_gradient": lambda: (t(1, 2, 4), t(1, 2, 4), (2, 2, 3), *CONV),
    "im2col": lambda: (t(1, 1, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1)),
    "col2im": lambda: (t(1, 4, 4), (3, 3), (2, 2), (1, 1), (0, 0), (1, 1)),
    "pixel_shuffle": lambda: (t(1, 4, 1, 2), 2),
    "pixel_unshuffle": lambda: (t(1, 1, 2, 4), 2),
    "channel_shuffle": lambda: (t(1, 4, 2), 2),
    "logsumexp": lambda: (t(2, 3), (1,)),
    "index": lambda: (t(2, 3), (index(1, 0, 1),)),
    "index_put": lambda: (t(3, 2), (index(1, 0),), t(2)),
    "index_put_": lambda: (t(3, 2), (index(1, 0),), t(2), True),
    "index_select": lambda: (t(3, 2), 0, index(1, 1)),
    "index_add": lambda: (t(3, 2), 0, index(1, 1), t(2, 2)),
    "index_copy": lambda: (t(3, 2), 0, index(1, 0), t(2, 2)),
    "index_fill": lambda: (t(3, 2), 0, index(1, 0), t()),
    "embedding": lambda: (t(3, 2), index(1, 2, 1)),
    "embedding_gradient": lambda: (t(3, 2), index(1, 2, 1), 3, -1, False),
    "fft_c2c": lambda: (t(3, complex=True), (0,), "backward", True),
    "fft_r2c": lambda: (t(4), (0,), "ortho", True),
    "fft_c2r": lambda: (t(3, complex=True), (0,), "backward", 4),
    "gather": lambda: (t(2, 3), 0, AT),
    "placed": lambda: (t(2, 2), 1, index([0, 2], [1, 1]), (2, 3)),
    "scatter": lambda: (t(2, 3), 1, index([0, 2]), t(1, 2)),
    "scatter_": lambda: (t(2, 3), 1, index([0, 2]), t(1, 2)),
    "scatter_add": lambda: (t(2, 3), 1, AT, t(2, 3)),
    "scatter_value": lambda: (t(2, 3), 1, AT, 0.5),
    "scatter_value_": lambda: (t(2, 3), 1, AT, 0.5),
    "mse_loss_gradient": lambda: (t(2, 3), t(2, 3), t(2, 3), "none", 1.0),
    "smooth_l1_loss_gradient": lambda: (t(2, 3), t(2, 3), t(2, 3), "none", 0.1),
    "huber_loss_gradient": lambda: (t(2, 3), t(2, 3), t(2, 3), "none", 0.1),
    "ctc_loss": lambda: (t(3, 1, 3).log_softmax(2), index([1, 2]), (3,), (2,), 0, False),
    "linalg_eig": lambda: (regular(), True),
    "linalg_lstsq": lambda: (t(4, 2), t(4, 1), None, "gelsd"),
    "linalg_pinv": lambda: (regular(), None, None, 0.0, 0.0, False),
    "linalg_lu_solve": lambda: (*rl.linalg.lu_factor(regular()), t(3, 2), True, False),
    "binary_cross_entropy": lambda: (t(2, 3), t(2, 3), fixed(3), "mean"),
    "binary_cross_entropy_with_logits": lambda: (t(2, 3), t(2, 3), fixed(3), fixed(3), "mean"),
    "binary_cross_entropy_with_logits_steps": lambda: (fixed(2, 3), t(2, 3), t(2, 3), fixed(3), fixed(3), "mean"),
    "soft_margin_loss": lambda: (t(2, 3), fixed(2, 3), "mean"),
    "random_": lambda: (t(2, 3), 1, 5),
    "rrelu_with_noise": lambda: (t(2, 3), fixed(2, 3)),
    "normal_": lambda: (t(2, 3),),
    "normal": lambda: (t(2, 3), t(2, 3)),
    "scatter_reduce": lambda: (t(2, 3), 1, AT, t(2, 3), "prod"),
    "index_reduce": lambda: (t(3, 2), 0, index(1, 1), t(2, 2), "mean"),
    "native_layer_norm": lambda: (t(2, 3), (3,), t(3), t(3), 1e-5),
    "rms_norm_parts": lambda: (t(2, 3), (3,), t(3), 1e-5),
    "native_group_norm": lambda: (t(2, 4, 2), t(4), t(4), 2, 1e-5),
    "native_batch_norm": lambda: (t(3, 2), t(2), t(2), None, None, True, 0.1, 1e-5),
    "adaptive_avg_pool": lambda: (t(1, 1, 5), (2,)),
    "adaptive_avg_pool_gradient": lambda: (t(1, 1, 2), (5,)),
    "adaptive_max_pool": lambda: (t(1, 1, 5), (2,)),
    "interpolate": lambda: (t(1, 1, 3), (5,), (None,), "linear", False, False),
    "interpolate_gradient": lambda: (t(1, 1, 5), (3,), (None,), "linear", False, False),
    "cholesky_solve": lambda: (t(3, 2), regular().tril(), False),
    "cholesky_inverse": lambda: (regular().tril(), False),
    "linalg_solve_triangular": lambda: (regular().triu(), t(3, 2), True, True, False),
    "triangular_solve_parts": lambda: (t(3, 2), regular().triu(), True, False, False),
    "linalg_solve_ex": lambda: (regular(), t(3, 2)),
    "linalg_cross": lambda: (t(2, 3), t(2, 3), 1),
    "transposed_mm": lambda: (t(2, 3), t(2, 4)),
    "cross_entropy_parts": lambda: (t(2, 3), index(0, 2), None, "mean", -100, 0.1, True),
    "nll_loss": lambda: (t(2, 3), index(0, 2), fixed(3), "mean", -100),
    "nll_loss_gradient": lambda: (t(2), index(0, 2), None, "none", -100, fixed(), (2, 3)),
    "multi_margin_loss": lambda: (t(2, 3), index(0, 2), 1, 1.0, None, "mean"),
    "multilabel_margin_loss": lambda: (t(2, 3), index([2, -1, 0], [0, 1, -1]), "mean"),
    "masked_fill": lambda: (t(2, 3), MASK, t()),
    "masked_select": lambda: (t(2, 3), MASK),
    "masked_scatter": lambda: (t(2, 3), MASK, t(5)),
    "where_select": lambda: (MASK, t(2, 3), t(3)),
    "vector_norm": lambda: (t(2, 3), 3.0, (1,), False, None),
    "cdist": lambda: (t(2, 3), t(3, 3), 2.0, False),
    "symmetric_matrix": lambda: (t(3), 3),
    "permute": lambda: (t(2, 3, 1), (2, 0, 1)),
    "transpose": lambda: (t(2, 3), 0, 1),
    "constant_pad_nd": lambda: (t(2, 3), (1, -1, 0, 2), 0.5),
    "pad": lambda: (t(1, 1, 4), (1, 2), "reflect"),
    "pad_gradient": lambda: (t(1, 1, 7), (1, 1, 4), (1, 2), "reflect"),
    "as_strided": lambda: (t(6), (2, 2), (2, 1), 1),
    "as_strided_gradient": lambda: (t(2, 2), (6,), (1,), (2, 2), (2, 1), 1),
    "as_strided_scatter": lambda: (t(6), t(2, 2), (2, 2), (2, 1), 1),
    "unfold": lambda: (t(5), 0, 3, 1),
    "unfold_gradient": lambda: (t(3, 3), (5,), 0, 3, 1),
    "select": lambda: (t(2, 3), 1, 2),
    "select_backward": lambda: (t(2), (2, 3), 1, 2),
    "slice": lambda: (t(2, 5), 1, 1, 4, 2),
    "slice_backward": lambda: (t(2, 2), (2, 5), 1, 1, 4, 2),
    "diagonal_backward": lambda: (t(2), (2, 3), 0, 0, 1),
    "select_scatter": lambda: (t(2, 3), t(2), 1, 2),
    "slice_scatter": lambda: (t(2, 5), t(2, 2), 1, 1, 4, 2),
    "diagonal_scatter": lambda: (t(2, 3), t(2)),
    "max_pool": lambda: (t(1, 1, 4), *POOL),
    "max_pool_with_indices": lambda: (t(1, 1, 4), *POOL),
    "places_gradient": lambda: (t(1, 1, 2), index([[0, 3]]), (4,)),
    "max_unpool": lambda: (t(1, 1, 2), index([[0, 3]]), (4,)),
    "avg_pool": lambda: (t(1, 1, 4), (2,), (1,), (0,), (3,), True, None),
    "avg_pool_gradient": lambda: (t(1, 1, 3), (4,), (2,), (1,), (0,), True, None),
    "take": lambda: (t(2, 3), index(1, 5, 1)),
    "put": lambda: (t(2, 3), index(1, 5), t(2)),
    "kthvalue": lambda: (t(2, 3), 2),
    "topk": lambda: (t(2, 3), 2, 1, True, True),
    "sort": lambda: (t(2, 3), 1, False, False),
    "reshape_alias": lambda: (t(2, 3), (3, 2)),
    "affine_grid": lambda: (t(1, 2, 3), (1, 1, 2, 2), False),
    "embedding_bag": lambda: (t(3, 2), index(1, 2, 1), index(0, 2, 2), index(2, 2, 3), t(3), "sum", False),
    "pooled_rows_gradient": lambda: (t(3, 2), index(1, 2, 1), index(0, 2, 2), index(2, 2, 3), t(3), 4, "mean", True),
    "pooled_rows_products": lambda: (t(3, 2), t(4, 2), index(1, 2, 1), index(0, 2, 2), index(2, 2, 3), "mean"),
    "addmv": lambda: (t(2), t(2, 3), t(3)),
    "addr": lambda: (t(2, 3), t(2), t(3)),
    "addbmm": lambda: (t(2, 2), t(2, 2, 3), t(2, 3, 2)),
    "vdot": lambda: (t(3), t(3)),
    "unsafe_view": lambda: (t(2, 3), (3, 2)),
    "view": lambda: (t(2, 3), (3, 2)),
    "reshape_copy": lambda: (t(2, 3), (3, 2)),
    "expand": lambda: (t(1, 3), (2, 2, 3)),
    "split_with_sizes": lambda: (t(2, 3), (1, 2), 1),
    "unsafe_split_with_sizes": lambda: (t(2, 3), (1, 2), 1),
    "narrow_copy": lambda: (t(2, 3), 1, 1, 2),
    "real_part": lambda: (t(2, complex=True),),
    "imaginary_part": lambda: (t(2, complex=True),),
    "view_as_real": lambda: (t(2, complex=True),),
    "conj": lambda: (t(2, complex=True),),
    "conj_physical_complex": lambda: (t(2, complex=True),),
    "view_as_complex": lambda: (t(3, 2),),
    "view_as_complex_copy": lambda: (t(3, 2),),
    "view_as_real_copy": lambda: (t(3, complex=True),),
    "complex_of_parts": lambda: (t(3), t(3)),
    "to_copy": lambda: (t(3), rl.complex128),
    "linalg_eigh": lambda: (positive(), "L", True),
    "linalg_svd": lambda: (regular(), False),
    "var": lambda: (t(2, 3), (1,), 1, False),
    "var_mean": lambda: (t(2, 3), (1,), 1, False),
    "std": lambda: (t(2, 3), (1,), 1, False),
    "std_mean": lambda: (t(2, 3), (1,), 1, False),
    "threshold": lambda: (t(2, 3), 0.5, 0.1),
    "acosh": lambda: (t(2, 3, low=1.2, high=3.0),),
    "polygamma_of": lambda: (t(2, 3), 1),
    "mvlgamma": lambda: (t(2, 3, low=2.0, high=3.0), 2),
    "clamp": lambda: (t(2, 3), t(2, 3, high=0.5), t(2, 3, low=0.6)),
    "heaviside": lambda: (t(2, 3), t(2, 3)),
    "special_zeta": lambda: (t(3).detach() + 1.5, t(3)),
    "frac": lambda: (t(2, 3),),
    "glu": lambda: (t(2, 4),),
    "prelu_kernel": lambda: (t(2, 3, low=-0.9), t(3)),
    "trace": lambda: (t(2, 3),),
    "lerp": lambda: (t(2, 3), t(2, 3), t(3)),
}

# What is done to the arguments first, where a record wants matrices or numbers of a kind that single steps would leave.
PREPARED = {
    "cholesky_parts": lambda a, *rest: (a + a.mH, *rest),
    "cholesky_factor": lambda a, *rest: (a + a.mH, *rest),
    "eigh_parts": lambda a, *rest: (a + a.mH, *rest),
    "cholesky_inverse_of": lambda a, *rest: (a.tril(), *rest),
    "cholesky_solution": lambda b, a, *rest: (b, a.tril(), *rest),
    "ctc_loss_parts": lambda a, *rest: (a.log_softmax(2), *rest),
    "linalg_solve_triangular": lambda a, *rest: (a.triu(), *rest),
    "binary_cross_entropy_with_logits_steps": lambda _, *rest: (_losses_of_logits(*rest), *rest),
}


def _losses_of_logits(x, target, weight, pos_weight, reduction):
    x, target = x.detach(), target.detach()
    return rl.nn.functional.binary_cross_entropy_with_logits(x, target, weight, pos_weight=pos_weight, reduction="none")


# How many of the outputs are checked, where others are by-products that nothing public gives a gradient to.
OUTPUTS = dict.fromkeys(
    (
        "attention",
        "cross_entropy_parts",
        "layer_norm_parts",
        "rms_norm_parts",
        "group_norm_parts",
        "batch_norm_parts",
        "lstsq_parts",
        "ctc_loss_parts",
        "eig_parts",
    ),
    1,
)
# Reached by the second derivatives of the records that call them, with arguments that only those know.
THROUGH_OTHERS = frozenset(
    (
        "attention_backward",
        "cross_entropy_gradient",
        "layer_norm_gradients",
        "rms_norm_gradients",
        "group_norm_gradients",
        "batch_norm_gradients",
        "ctc_loss_gradient",
        "max_pool_values_gradient",
    )
)
# PyTorch has no derivative either (for the first operand); asking for one is an error.
REFUSED = frozenset(
    (
        *("floor_divide", "heaviside", "igamma", "igammac", "special_zeta"),
        *("hardsigmoid_backward", "multi_margin_loss_backward", "multilabel_margin_loss_backward"),
    )
)
IN_PLACE = frozenset(("copy_from", "fill_number", "fill_tensor"))
# Gradients are zero by definition, though the same random numbers move with the mean.
ZERO = frozenset(("normal_each",))
# Gradients are given by definition, of what goes in steps, or of a sample along which probabilities stay.
GIVEN = frozenset(
    ("fake_quantize_by_numbers", "fake_quantize_by_tensors", "fake_quantize_by_channels", "_standard_gamma")
)

SQUARE = ("linalg_", "cholesky", "lu_", "tril", "triu")
BY_NAME = {
    "reduction": "mean",
    "dim": 0,
    "mode": "reduced",
    "driver": "gelsd",
    "UPLO": "L",
    "vectors": True,
    "keepdim": False,
}
BY_TYPE = {
    "int": 1,
    "int[]": (0,),
    "float": 0.5,
    "bool": False,
    "Scalar": 0.5,
    "str": "none",
    "any": None,
    "dtype": None,
}
REQUIRED = inspect.Parameter.empty


def arguments_of(op):
    """The arguments of one call of a record."""
    name = op.schema.split("(")[0]
    for known in (op.name, name, name.rstrip("_"), name.removesuffix("_copy")):
        if known in CALLS:
            return list(CALLS[known]())
    if op.samples is not None:
        args, kwargs = next(iter(op.samples()))
        wide = rl.complex128 if _complex_numbers.get() else rl.float64
        args = [rl.from_numpy(a).to(wide) if hasattr(a, "dtype") and a.dtype.kind == "f" else a for a in args]
        return [*args, *kwargs.values()]
    schema = Schema(op.schema)
    found = []
    for argument in schema.arguments[: schema.positional]:
        if argument.is_list:
            found.append([t(2, 3), t(2, 3)])
        elif argument.is_tensor:
            found.append(regular() if name.startswith(SQUARE) else t(2, 3))
        elif argument.name in BY_NAME or argument.type in BY_TYPE:
            default = argument.default
            plain = isinstance(default, (int, float, str, bool, tuple, type(None)))
            found.append(default if plain else BY_NAME.get(argument.name, BY_TYPE.get(argument.type)))
        else:
            found.append(argument.default)
    return found
