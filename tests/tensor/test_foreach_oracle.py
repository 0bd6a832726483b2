"""``torch._foreach_*`` against PyTorch: every name that it has, in every form of call."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_"))


def calls(module, name):
    """Lists of arguments after the first."""
    tensors = lambda seed: [
        module.tensor(np.random.default_rng([seed, k]).uniform(0.2, 0.9, shape).astype(np.float32))
        for k, shape in enumerate([(2, 2), (3, 3)])
    ]
    base = name.removeprefix("_foreach_").removesuffix("_")
    one = [((), {})]
    if base in ("add", "sub"):
        one = [((2,), {}), (([2.0, 3.0],), {}), ((tensors(1),), {}), ((tensors(1),), {"alpha": 0.5})]
    elif base in ("mul", "div", "maximum", "minimum", "clamp_max", "clamp_min", "pow"):
        one = [((0.5,), {}), (([0.5, 2.0],), {}), ((tensors(1),), {})]
    elif base in ("addcmul", "addcdiv"):
        pair = (tensors(1), tensors(2))
        one = [(pair, {}), (pair, {"value": 0.5}), ((*pair, [0.5, 2.0]), {}), ((*pair, module.tensor([0.5, 2.0])), {})]
    elif base == "lerp":
        one = [((tensors(1), 0.3), {}), ((tensors(1), tensors(2)), {}), ((tensors(1), [0.1, 0.2]), {})]
    elif base in ("copy", "mm"):
        one = [((tensors(1),), {})]
    elif base == "norm":
        one = [((), {}), ((1,), {}), ((float("inf"),), {}), ((2,), {"dtype": module.float64})]
    elif base == "powsum":
        one = [((2,), {}), ((3,), {})]
    return [(tensors(0), args, kwargs) for args, kwargs in one]


@pytest.mark.parametrize("name", NAMES)
def test_same_numbers(name):
    for (mine, args, kwargs), (real, their_args, their_kwargs) in zip(calls(rl, name), calls(torch, name), strict=True):
        found, expected = (
            getattr(rl, name)(mine, *args, **kwargs),
            getattr(torch, name)(real, *their_args, **their_kwargs),
        )
        assert type(found) is type(expected)
        for a, b in zip([*mine, *(found or ())], [*real, *(expected or ())], strict=True):
            assert str(a.dtype) == str(b.dtype)
            np.testing.assert_allclose(a.numpy(), b.numpy(), 2e-5, 1e-6)


def test_errors():
    for wrong in ([[1.0]], [[]], [[1.0, 2.0, 3.0]]):
        messages = []
        for module in (rl, torch):
            tensors = [module.ones(2), module.ones(3)]
            with pytest.raises(RuntimeError) as error:
                module._foreach_add(tensors, *wrong)
            messages.append(str(error.value).partition("\n")[0])
        assert messages[0] == messages[1]
    assert not hasattr(rl, "_foreach_nothing")
