"""No public function reads a sparse tensor as a dense one: it gives what it gives for the dense tensor, or raises."""

import os
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight.tensor.names import function_at, names_at

# Random ones, what divides by 0, what tells of the tensor itself, and what is about parts that only sparse ones have.
SKIPPED = frozenset(
    [
        "all_gather",
        "backward",
        "bernoulli",
        "bernoulli_",
        "cauchy_",
        "coalesce",
        "coo",
        "data_ptr",
        "div",
        "divide",
        "draw",
        "dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "alpha_dropout",
        "feature_alpha_dropout",
        "feature_dropout",
        "empty_like",
        "empty_permuted",
        "exponential_",
        "floor_divide",
        "fork_rng",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "gumbel_softmax",
        "geometric_",
        "is_coalesced",
        "is_contiguous",
        "is_set_to",
        "log_normal_",
        "manual_seed",
        "multinomial",
        "new",
        "new_empty",
        "new_tensor",
        "normal",
        "normal_",
        "pca_lowrank",
        "poisson",
        "rand",
        "rand_like",
        "randint_like",
        "randn",
        "randn_like",
        "random_",
        "register_hook",
        "requires_grad_",
        "retain_grad",
        "rrelu",
        "rrelu_",
        "seed",
        "set_",
        "set_printoptions",
        "set_rng_state",
        "sparse_dim",
        "dense_dim",
        "sparse_mask",
        "storage",
        "storage_offset",
        "storage_type",
        "stride",
        "svd_lowrank",
        "to_sparse",
        "true_divide",
        "type",
        "typename",
        "uniform_",
        "untyped_storage",
        "values",
        "indices",
        "crow_indices",
        "col_indices",
        "pin_memory",
        "share_memory_",
        "numel",
        "nelement",
        "element_size",
    ]
)
I, V = torch.tensor([[0, 0, 1, 1, 2], [1, 2, 0, 2, 1]]), torch.tensor([3.0, 0.4, -5.0, 0.7, 0.9])


def functions():
    found = {}
    for where in ("torch", "nn.functional", "special", "linalg", "fft"):
        for name in sorted(names_at(where) - SKIPPED):
            found[f"{where}.{name}"] = function_at(where, name)
    for name in dir(torch.Tensor):
        if name[0] != "_" and name not in SKIPPED:
            found[f"Tensor.{name}"] = getattr(torch.Tensor, name)
    return {name: function for name, function in found.items() if callable(function) and not isinstance(function, type)}


def made(layout):
    found = torch.sparse_coo_tensor(I, V.clone(), (3, 3))
    return found if layout == "coo" else found.to_sparse_csr()


def densely(value):
    if isinstance(value, torch.Tensor):
        return np.asarray(value.detach().to_dense().to(torch.complex128).numpy())
    return [densely(item) for item in value] if isinstance(value, (tuple, list)) else value


def agree(found, expected):
    if isinstance(expected, np.ndarray):
        return (
            isinstance(found, np.ndarray)
            and found.shape == expected.shape
            and np.allclose(found, expected, 1e-4, 1e-5, equal_nan=True)
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(agree, found, expected))
    return type(found) is type(expected)


def problem(name, function, layout, pattern):
    """What is wrong with a call; None where it raised, or gave what it should."""

    def arguments(sparse):
        own = made(layout)
        dense = torch.arange(9.0).reshape(3, 3) / 4 + 0.3
        values = {"s": own if sparse else own.to_dense(), "d": dense, "1": 1, "0": 0}
        return [values[each].clone() if each in "sd" else values[each] for each in pattern]

    try:
        found = function(*arguments(True))
    except (
        NotImplementedError,
        RuntimeError,
        TypeError,
        IndexError,
        ValueError,
        AssertionError,
        AttributeError,
        ZeroDivisionError,
    ):
        return None
    try:
        expected = function(*arguments(False))
    except Exception as error:
        return f"{name} {layout} {pattern}: takes sparse tensors alone ({error})"
    return None if agree(densely(found), densely(expected)) else f"{name} {layout} {pattern}: {found} for {expected}"


def sweep(share, patterns):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (name, function) in enumerate(functions().items()):
            for place, (layout, pattern) in enumerate([(a, b) for a in ("coo", "csr") for b in patterns]):
                if (number + place) % share == 0:
                    wrong.append(problem(name, function, layout, pattern))
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_a_sample_of_functions():
    sweep(8, ("s", "ds"))


@pytest.mark.slow
def test_all_functions():
    sweep(8 if os.environ.get("RUSHLIGHT_EXAMPLES") else 1, ("s", "ss", "ds", "sd", "s1", "s0", "sds"))
