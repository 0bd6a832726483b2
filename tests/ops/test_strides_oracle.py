"""Strides of results: for every operation and inputs that lie contiguous, permuted, channels last, sliced or expanded, all of
them or one beside contiguous ones, they are PyTorch's."""

import warnings

import pytest

pytest.importorskip("torch")
import rushlight
from opinfo_calls import Call, Skip, known_operations, sampled_calls, torch

# What differs, and why.
DIFFERENCES = {
    "as_strided_scatter": "keeps expanded memory",
    "diagonal_scatter": "PyTorch copies the gaps of sliced memory too",
    "select_scatter": "PyTorch copies the gaps of sliced memory too",
    "slice_scatter": "PyTorch copies the gaps of sliced memory too",
    "unsafe_chunk": "copies, PyTorch gives views that it does not track",
    "unsafe_split": "copies, PyTorch gives views that it does not track",
    "view_copy": "refuses what a view cannot be",
    "__rsub__": "the operand that decides is the other one",
    "rsub": "the operand that decides is the other one",
    "addr": "reads its outer product by rows",
    "cdist": "PyTorch's choice follows its algorithm",
    "ormqr": "a product of matrices, PyTorch's is LAPACK's",
    "linalg.householder_product": "a product of matrices, PyTorch's is LAPACK's",
    "linalg.lstsq": "a batch of solutions lies by columns",
    "linalg.matrix_power": "a power of 0 keeps the layout",
    "linalg.vector_norm": "dimensions of length 1",
    "linalg.lu_factor": "refuses the singular matrices that expanding makes",
    "nn.functional.cosine_similarity": "the operand that decides is the other one",
    "nn.functional.embedding_bag": "refuses a weight in place of the indices earlier",
    "triangular_solve": "the copy of A that it returns lies by rows",
    "quantile": "the quantiles come first in memory",
    "nanquantile": "the quantiles come first in memory",
    "fft.fft2": "the order in which dimensions are transformed",
    "fft.fftn": "the order in which dimensions are transformed",
    "fft.ifft2": "the order in which dimensions are transformed",
    "fft.ifftn": "the order in which dimensions are transformed",
    "native_batch_norm": "keeps permuted memory",
    "stack": "PyTorch keeps some permuted layouts",
    "renorm": "keeps permuted memory",
    "nn.functional.batch_norm": "keeps permuted memory",
    "nn.functional.instance_norm": "keeps permuted memory",
    "nn.functional.adaptive_avg_pool1d": "mean of a permuted tensor",
    "nn.functional.adaptive_max_pool2d": "channels last pooling gives rows",
    "nn.functional.max_pool3d": "channels last pooling gives rows",
    "nn.functional.max_unpool2d": "channels last pooling gives rows",
    "nn.functional.pad": "replication gives rows",
    "nn.functional.conv_transpose3d": "keeps channels last",
    "nn.functional.channel_shuffle": "copies by rows",
    "nn.functional.binary_cross_entropy_with_logits": "a weight in another layout",
    "nn.functional.hinge_embedding_loss": "a target in another layout",
    "nn.functional.scaled_dot_product_attention": "keeps the query's layout",
    **dict.fromkeys(
        ("masked.sum", "masked.amax", "masked.amin", "masked.mean", "masked.logsumexp"), "a mask in another layout"
    ),
}
CRASHES_PYTORCH = {"nn.functional.adaptive_avg_pool3d", "nn.functional.adaptive_max_pool3d", "lu_unpack"}
SOME = {"add", "where", "sort", "gather", "scatter", "tril", "cummax", "linalg.inv", "linalg.solve", "linalg.qr", "index_select",
        "complex", "__getitem__", "cumsum", "clamp", "lerp", "argsort", "linalg.cholesky"}  # fmt: skip
ENTRIES = [
    entry
    for entry in known_operations()
    if entry.name not in DIFFERENCES | dict.fromkeys(CRASHES_PYTORCH) and not entry.variant_test_name
]


def laid_out(tensor, layout):
    """A tensor of the same values in another layout; None where it has too few dimensions."""
    dims = tensor.dim()
    if layout == "permuted" and dims > 1:
        back = tuple(range(dims))[::-1]
        return tensor.permute(back).contiguous().permute(back)
    if layout == "rotated" and dims > 2:
        return tensor.permute(*range(1, dims), 0).contiguous().permute(dims - 1, *range(dims - 1))
    if layout == "channels last" and dims == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if layout == "sliced" and dims:
        wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1))
        wide[..., 1::2] = tensor
        return wide[..., 1::2]
    if layout == "expanded" and dims and tensor.shape[0]:
        return tensor[:1].expand(tensor.shape)
    return None


def with_layout(value, layout, chosen, seen):
    """An argument with the tensor number ``chosen`` (all where None) in that layout."""
    if isinstance(value, torch.Tensor):
        seen.append(value)
        found = laid_out(value, layout) if chosen in (None, len(seen) - 1) else None
        return value if found is None else found
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(with_layout(item, layout, chosen, seen) for item in value)
    return value


def strides(call, module):
    """Shape and strides (where there is more than one step) of every tensor of the result."""
    found = []

    def look(value):
        if isinstance(value, module.Tensor):
            steps = tuple(step for length, step in zip(value.shape, value.stride()) if length > 1)
            found.append((tuple(value.shape), steps if value.numel() else ()))
        elif isinstance(value, (list, tuple)):
            for item in value:
                look(item)

    look(call.run(module))
    return found


def compare(entry, samples, chosen):
    for call in sampled_calls(entry, torch.float32, samples):
        for layout in ("contiguous", "permuted", "rotated", "channels last", "sliced", "expanded"):
            for which in chosen:
                seen = []
                args = with_layout(call.args, layout, which, seen)
                changed = Call(call.name, args, call.kwargs)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        expected = strides(changed, torch)
                    except (Skip, RuntimeError, IndexError, TypeError, ValueError):
                        continue
                assert strides(changed, rushlight) == expected, changed


@pytest.mark.parametrize("name", sorted(SOME))
def test_some_operations(name):
    compare(next(entry for entry in ENTRIES if entry.name == name), 3, (None, 0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_operation(entry):
    compare(entry, 2, (None, 0))


@pytest.mark.parametrize("size", [8, 120])
@pytest.mark.parametrize(
    "layouts", [("permuted", None), (None, "permuted"), ("rotated", "permuted"), ("expanded", "permuted")]
)
def test_mixed_layouts_small_and_large(size, layouts):
    """Both tiers: NumPy's and the kernels'."""
    values = [torch.rand(4, size, size), torch.rand(4, size, size)]
    args = tuple(v if layout is None else laid_out(v, layout) for v, layout in zip(values, layouts))
    for name in ("add", "mul", "div", "maximum", "atan2", "lt", "hypot"):
        call = Call(name, args, {})
        assert strides(call, rushlight) == strides(call, torch), name
