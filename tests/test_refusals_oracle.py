"""What both libraries refuse, and in which words: PyTorch's own lists of wrong calls, and calls made wrong in one argument."""

import os

import pytest

pytest.importorskip("torch")
import bad_modules
import rushlight
from bad_calls import compare, is_about_kinds, verdict
from opinfo_calls import Skip, error_calls, known_operations, outcome, torch

SAFE = ("add", "where", "matmul", "linalg.lu_solve", "linalg.cross", "inner", "linalg.vecdot", "masked.amax", "nn.functional.layer_norm",
        "nn.functional.group_norm", "fft.fftshift", "diff", "trapezoid", "cummax", "complex", "std_mean", "nanquantile",
        "signal.windows.blackman", "nn.functional.conv2d", "logcumsumexp", "special.erfcx", "vstack", "tensordot", "linalg.ldl_solve",
        "triangular_solve", "cholesky", "cholesky_solve", "lu_solve", "ormqr", "linalg.lu_factor", "linalg.matrix_norm", "linalg.solve",
        "linalg.matrix_rank", "linalg.tensorsolve", "fft.rfft", "fft.irfft2", "native_group_norm", "hash_tensor",
        "unique", "baddbmm", "addbmm", "addmm", "addmv", "__rsub__", "histogram", "histogramdd", "searchsorted", "repeat_interleave",
        "narrow_copy", "index_add", "index_reduce", "broadcast_shapes", "masked.sum", "masked.softmax", "masked.mean", "cdist",
        "gradient", "cumulative_trapezoid", "unflatten", "special.entr", "roll", "rot90", "cummin",
        "nn.functional.conv_transpose2d", "nn.functional.instance_norm", "nn.functional.unfold",
        "nn.functional.binary_cross_entropy_with_logits", "nn.functional.gaussian_nll_loss", "nn.functional.cosine_embedding_loss",
        "nn.functional.adaptive_avg_pool3d", "nn.functional.interpolate", "nn.functional.channel_shuffle", "nn.functional.rrelu",
        "nn.functional.rms_norm")  # fmt: skip
EXAMPLES = max(1, int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) // 12)


@pytest.mark.parametrize("name", SAFE)
def test_wrong_calls_are_refused_in_the_same_words(name):
    entry = next(entry for entry in known_operations() if entry.name == name)
    counts, differences = compare(entry, EXAMPLES)
    assert len(differences) <= counts.total() * 0.04, differences


@pytest.mark.parametrize("names", [r"x = .*requires_grad=True", r"m = nn.Linear\(3, 3\)"])
def test_backward_passes_and_modules_are_refused_in_the_same_words(names):
    counts, differences = bad_modules.compare(names)
    assert counts["same"] > 70
    assert len(differences) <= 6, differences


@pytest.mark.slow
def test_modules_with_something_wrong_are_refused_in_the_same_words():
    counts, differences = bad_modules.compare(r"^m = nn\.(?!Linear\(3, 3\))")
    assert counts["same"] > 2000
    assert len(differences) <= 37, differences


@pytest.mark.slow
def test_what_pytorch_lists_as_wrong():
    """At most so many of its calls end otherwise, those about kinds of arguments aside: lower it when there are fewer."""
    differences, same = [], 0
    for entry in known_operations():
        for call in error_calls(entry):
            try:
                expected, found = outcome(call, torch), outcome(call, rushlight)
            except Skip:
                continue
            if expected == found:
                same += 1
            elif not is_about_kinds(expected):
                differences.append((call, verdict(expected, found), expected, found))
    assert same >= 545
    assert len(differences) <= LISTED_DIFFERENCES, "\n".join(map(str, differences))


LISTED_DIFFERENCES = 62
