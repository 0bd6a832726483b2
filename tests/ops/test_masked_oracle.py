"""``torch.masked`` against PyTorch: values, dtypes and gradients."""

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
torch_masked = pytest.importorskip("torch.masked")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FLOATS = [[1.0, -2.0, 3.5], [0.5, 4.0, -1.0]]
INTS = [[1, -2, 3], [5, 4, -1]]
MASKS = {
    "same": [[True, False, True], [False, True, True]],
    "row": [True, False, True],
    "empty row": [[False, False, False], [True, True, False]],
    "none": None,
}
REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp", "var", "std", "norm")
ALONG_ONE = ("argmax", "argmin", "median", "cumsum", "cumprod", "softmax", "log_softmax", "softmin")


def outcome(module, name, data, mask, args, kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = torch_masked if module is torch else rl.masked
        x = module.tensor(data)
        if x.is_floating_point():
            x.requires_grad_()
        given = None if mask is None else module.tensor(mask)
        try:
            found = getattr(space, name)(x, *args, mask=given, **kwargs)
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            return type(error).__name__, str(error).split("\n")[0]
        if found.requires_grad:
            found.sum().backward()
    return str(found.dtype), found.detach(), x.grad


def assert_same(ours, theirs):
    if isinstance(theirs[1], str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    for mine, other in zip(ours[1:], theirs[1:]):
        assert (mine is None) == (other is None)
        if other is not None:
            torch.testing.assert_close(torch.from_numpy(mine.numpy().copy()), other, equal_nan=True)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("data", [FLOATS, INTS], ids=["float", "int"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, data, mask):
    first = (2.0,) if name == "norm" else ()
    for args, kwargs in (((), {}), ((0,), {"keepdim": True}), (((0, 1),), {}), ((-1,), {"dtype": "float64"})):
        ours, theirs = (
            outcome(
                module,
                name,
                data,
                MASKS[mask],
                (*first, *args),
                {key: module.float64 if key == "dtype" else value for key, value in kwargs.items()},
            )
            for module in (rl, torch)
        )
        assert_same(ours, theirs)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("data", [FLOATS, INTS], ids=["float", "int"])
@pytest.mark.parametrize("name", ALONG_ONE)
def test_along_one_dimension(name, data, mask):
    data = data if "soft" not in name else FLOATS
    for dim in (0, 1):
        assert_same(*(outcome(module, name, data, MASKS[mask], (dim,), {}) for module in (rl, torch)))


@pytest.mark.parametrize(
    ("name", "args"), [("normalize", (2.0, 1)), ("var", (1, False)), ("sum", ((0, 0),)), ("sum", (5,))]
)
def test_others(name, args):
    assert_same(*(outcome(module, name, FLOATS, MASKS["same"], args, {}) for module in (rl, torch)))


def test_a_mask_with_too_many_dimensions():
    assert_same(*(outcome(module, "sum", FLOATS, [[[True]]], (), {}) for module in (rl, torch)))


def test_logaddexp():
    def run(module, space):
        x, y, mask = module.tensor(FLOATS), module.tensor(FLOATS) + 1, module.tensor(MASKS["same"])
        return space.logaddexp(x, y, input_mask=mask, other_mask=~mask)

    torch.testing.assert_close(torch.from_numpy(run(rl, rl.masked).numpy()), run(torch, torch_masked))
