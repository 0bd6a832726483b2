"""Classes with a ``__torch_function__`` are asked for `torch.numel` and its like, and for attributes as ``is_cuda``."""

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")
FLAGS = [
    "is_cuda",
    "is_xpu",
    "is_mps",
    "is_sparse",
    "is_sparse_csr",
    "is_quantized",
    "is_mkldnn",
    "is_mtia",
    "is_ipu",
    "is_maia",
    "is_vulkan",
    "is_xla",
    "is_nested",
]
QUERIES = ["numel", "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "is_inference"]


def asked(t, call):
    seen = []

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(
                (func.__name__, func is getattr(t, func.__name__, None), [kind.__name__ for kind in types], len(args))
            )
            return "answered"

    class Seeing(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, func is getattr(t, func.__name__, None), len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    found = call(t, t.ones(2, 3).as_subclass(Seeing), Other())
    return found, seen


@pytest.mark.parametrize("name", QUERIES)
def test_queries(name):
    for call in (
        lambda t, tensor, other: getattr(t, name)(tensor),
        lambda t, tensor, other: getattr(t, name)(other),
        lambda t, tensor, other: getattr(t, name)(t.ones(2)),
    ):
        assert asked(rl, call) == asked(torch, call)


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name):
    def call(t, tensor, other):
        return getattr(tensor, name), getattr(t.ones(1), name)

    assert asked(rl, call) == asked(torch, call)
    assert asked(rl, call)[1] == [("__get__", False, 1)]


@pytest.mark.parametrize("name", QUERIES)
def test_what_nobody_answers_is_refused(name):
    found = []
    for t in (rl, torch):
        with pytest.raises(TypeError) as error:
            getattr(t, name)(3)
        found.append(str(error.value).splitlines()[0])
    assert found[0] == found[1]
