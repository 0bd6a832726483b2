"""What functions and layers compute in under autocast, and what they give, against PyTorch; PyTorch is asked for its lists again."""

import warnings

import numpy as np
import pytest
from autocast_calls import CALLS, Maker

import rushlight as rl
from rushlight.amp import lists

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

# What others give in PyTorch, or refuse, for reasons that have nothing to do with autocast.
APART = {
    ("LSTM", "float16"), ("LSTM of two layers", "float16"),  # its library has no such kernel for float32 inputs
}  # fmt: skip


def tensors_in(value):
    if hasattr(value, "requires_grad"):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def answer(module, name, inputs, lower):
    """(dtypes, numbers) that a call gives, or the error's type and nothing."""
    make = Maker(module, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with module.autocast("cpu", dtype=getattr(module, lower)):
                found = tensors_in(CALLS[name](module, make))
        except Exception as error:
            return type(error).__name__, []
    wide = [t.detach().to(module.complex128 if t.is_complex() else module.float64).numpy() for t in found]
    return [str(t.dtype) for t in found], wide


@pytest.mark.parametrize("inputs, lower", [("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float32", "float16")])
@pytest.mark.parametrize("name", CALLS)
def test_dtypes_and_values(name, inputs, lower):
    if (name, lower) in APART and inputs == "float32":
        pytest.skip("PyTorch lacks it")
    (expected, theirs), (found, ours) = (answer(m, name, inputs, lower) for m in (torch, rl))
    assert found == expected
    for one, other in zip(ours, theirs):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 4e-2, 4e-2 * max(1.0, float(np.abs(other).max(initial=0.0))))


# PyTorch's names of operations that are called otherwise here.
CALLED = {
    "mkldnn_rnn_layer": None,  # the recurrent layers have a rule of their own
    "nll_loss2d": "nll_loss", "cross_entropy_loss": "cross_entropy", "grid_sampler": "grid_sample",
    "grid_sampler_2d": "grid_sample", "grid_sampler_3d": "grid_sample", "_grid_sampler_2d_cpu_fallback": "grid_sample",
    "_lu_with_info": "lu", "inverse": "linalg_inv", "orgqr": "linalg_householder_product", "_convolution": "conv2d",
    "multilabel_margin_loss_forward": "multilabel_margin_loss",
    **dict.fromkeys(("reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d")),
    # nothing of the kind is here
    **dict.fromkeys(("_native_multi_head_attention", "_addmm_activation", "fake_quantize_per_tensor_affine")),
}  # fmt: skip
# Ours: parts of functions that PyTorch writes with others of the lists.
PARTS = {"batched_product", "vector_products", "scaled_scores", "max_unpool1d"}


def test_the_lists_are_those_of_the_installed_version():
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    listed = {
        name.removeprefix("aten::").split(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and has(name, "AutocastCPU")
    }
    expected = {CALLED.get(name, name) for name in listed} - {None}
    found = {*lists.LOWER, *lists.FLOAT32, *lists.WIDEST}
    assert found - PARTS == expected
