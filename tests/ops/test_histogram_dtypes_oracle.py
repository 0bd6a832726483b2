"""Histograms over every combination of dtypes of samples, weights and edges, as PyTorch takes or refuses them."""

from itertools import product

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

DTYPES = ("float16", "bfloat16", "float32", "float64", "int64", "complex64", "bool")
NONE_TOO = (None, *DTYPES)


def outcome(t, form, shape, samples, weight, edges):
    x = t.ones(shape).to(getattr(t, samples))
    weight = None if weight is None else t.ones(shape).to(getattr(t, weight))
    bins = 3 if edges is None else t.tensor([0.0, 1.0, 3.0]).to(getattr(t, edges))
    try:
        if form == "histogram":
            counts, found = t.histogram(x, bins, weight=weight, density=True)
        else:
            weight = None if weight is None else weight.reshape(-1)
            counts, (found,) = t.histogramdd(x.reshape(-1, 1), [bins], weight=weight)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    return str(counts.dtype), np.round([*counts.double().reshape(-1).tolist(), *found.double().tolist()], 4)


@pytest.mark.parametrize("form", ["histogram", "histogramdd"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_dtypes(form, shape):
    for samples, weight, edges in product(DTYPES, NONE_TOO, NONE_TOO):
        if edges is None and not all(shape) and samples in ("float16", "bfloat16"):
            continue  # edges of nothing at all, rounded by PyTorch in another place
        found, expected = (outcome(t, form, shape, samples, weight, edges) for t in (rl, torch))
        assert found[0] == expected[0], (samples, weight, edges)
        np.testing.assert_equal(found[1], expected[1], str((samples, weight, edges)))


def test_no_result_has_a_derivative():
    for t in (rl, torch):
        x, edges = t.rand(4, 2, requires_grad=True), t.tensor([0.0, 0.5, 1.0])
        calls = {
            "histogram": [*t.histogram(x, 3), *t.histogram(x.detach(), edges, weight=x)],
            "_histogramdd_bin_edges": t.histogramdd(x, 2)[1],
            "_histogramdd_from_bin_cts": t.histogramdd(x, 2)[:1],
            "_histogramdd_from_bin_tensors": t.histogramdd(x, [edges, edges])[:1],
        }
        for name, results in calls.items():
            for result in results:
                with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
                    result.sum().backward()
        assert t.histogramdd(x, [edges, edges])[1][0] is edges
