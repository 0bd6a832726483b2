"""``nt[key] = value``: what is written, and what is refused, as in PyTorch."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

WRITES = """n[0] = 0.0|n[1] = torch.ones(2)|n[-1] = torch.ones(2, 2)|n[0] = torch.ones(5, 2)|n[0, 0] = 1|n[0, 1, 1] = 5.0|n[:] = 1|n[...] = 2|n[:, 0] = 1
n[0:1] = 1|n[torch.tensor(1)] = 0|n[None] = 1|n[..., 0] = 4|n[:, :, 1] = 4|n[0, :2] = 1|n[:] = n * 2|n[1][0] = 7""".replace(
    "\n", "|"
).split("|")


def written(library, text, layout):
    """The elements of a nested tensor after a write, or the error's type and first line."""
    parts = [library.arange(6.0).reshape(3, 2), library.arange(4.0).reshape(2, 2) + 10]
    nested = library.nested.nested_tensor(parts, layout=getattr(library, layout))
    try:
        exec(text, {"n": nested, "torch": library})
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].partition("resolutions.")[0]
    return [part.tolist() for part in nested.unbind()]


@pytest.mark.parametrize("layout", ["jagged", "strided"])
@pytest.mark.parametrize("text", WRITES)
def test_writes(text, layout):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert written(rushlight, text, layout) == written(torch, text, layout)


def test_writes_that_autograd_would_have_to_know_are_refused():
    part = rushlight.ones(2, 2, requires_grad=True)
    nested = rushlight.nested.as_nested_tensor([part, part], layout=rushlight.jagged) * 2
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        nested[0] = 5.0


@pytest.mark.parametrize("layout", [rushlight.jagged, rushlight.strided])
def test_vmap_is_refused(layout):
    nested = rushlight.nested.nested_tensor([rushlight.ones(2), rushlight.ones(3)], layout=layout)
    with pytest.raises(NotImplementedError, match="vmap over nested tensors"):
        rushlight.vmap(rushlight.neg)(nested)
    with pytest.raises(RuntimeError, match=r"^Nested tensors can only be vmapped over dim=0, but got dim=1"):
        rushlight.vmap(rushlight.neg, in_dims=1)(nested)
