"""Random operations against PyTorch: the same numbers for a seed, whatever the order in memory."""

import pytest

import rushlight as rl
from oracle_expressions import outcome

torch = pytest.importorskip("torch")

CASES = [
    "torch.rand(3, 2)", "torch.randn(20)", "torch.randint(10, (4,))", "torch.randint(2, 5, (4,))", "torch.randperm(7)",
    "torch.rand_like(p)", "torch.randn_like(p)", "torch.randint_like(p, 9)", "torch.randint_like(p, 2, 9)",
    "torch.randn_like(p, memory_format=torch.contiguous_format)", "torch.rand_like(p, dtype=torch.float64)",
    "F.dropout(p, 0.3)", "torch.dropout(p, 0.3, True)", "torch.dropout(p, 0.3, False)", "F.dropout(p, 1.0)",
    "F.dropout1d(p, 0.5)",
    "F.dropout(p, 1.5)", "p.bernoulli(0.3)", "torch.bernoulli(p / 20)", "p.clone().uniform_(2, 3)",
    "p.clone().normal_(1, 2)", "p.clone().exponential_()", "p.clone().random_()", "p.clone().random_(5)",
    "torch.normal(p, 1.0)", "torch.normal(0.0, 1.0, (3,))", "torch.normal(p, p + 1)", "torch.multinomial(p.contiguous() + 1, 2)",
    "torch.poisson(p)", "torch.binomial(p, p / 20)", "torch._standard_gamma(p + 1)", "torch._sample_dirichlet(p + 1)",
    "torch.rand(-1)", "torch.randint(0, (3,))", "torch.randint(5)", "torch.randint(0, 2**63, (3,))", "torch.randint(-2**64, 0, (3,))",
    "torch.randint(-2**63, 2**63 - 1, (3,))", "torch.randint(5, size=[3])", "torch.randint(1, high=5, size=(3,))",
    "torch.randint(300, (3,), dtype=torch.uint8)", "torch.randint(5, (3,), generator=torch.Generator().manual_seed(2))",
    "torch.normal(0.0, 1.0, (20,), generator=torch.Generator().manual_seed(2))", "torch.normal(0.0, -1.0, (2,))",
    "torch.normal(0.0, 1.0, (2,), dtype=torch.float64, requires_grad=True)", "torch.bernoulli(p)", "torch.bernoulli(p.long())",
    "torch.bernoulli(p / 20, generator=torch.Generator().manual_seed(2))", "torch.bernoulli(p * float('nan'))",
    "F.dropout(p.long(), 0.5)", "F.dropout(p.to(torch.complex64), 0.5)", "F.dropout(p.half(), 0.5)", "F.dropout(p[0, 0], 0.5)",
    "torch.multinomial(torch.ones(2, 3), 2)", "torch.multinomial(torch.ones(4), 9, True)", "torch.multinomial(-p.t(), 1)",
    "torch.zeros(20).normal_(0, 0)", "torch.zeros(20).normal_(-1, 1e-45)", "torch.zeros(20).normal_(0, 1e38)",
    "torch.zeros(20).normal_(0, float('inf'))", "1 / torch.zeros(20).normal_(0, 1e-45)", "torch.zeros(3).uniform_(-1e38, 1e38)",
    "torch.zeros(3).exponential_(1e-35)",
    "torch.normal(0, 1, (3,))", "torch.normal(2, 3.0, (2, 9), dtype=torch.float64)", "torch.normal(0.0, 1.0, (-1, 2))",
    "torch.normal(0.0, 1.0, (2,), dtype=torch.int64)", "torch.normal(0.0, 1.0, (2,), device='cpu', requires_grad=True)",
    "torch.normal(0.0, 1.0, (2,), out=torch.empty(2))", "torch.normal(1.0, 2.0, size=(16,))", "torch.rand(-2, -3)",
    "torch.rand_like(p, requires_grad=True)", "torch.rand_like(p.long())", "torch.randn_like(p.half())",
    "torch.randn_like(p, generator=torch.Generator().manual_seed(2))", "torch.randint_like(p, 9, 2)",
    "torch.bernoulli(p.double() / 20)", "torch.bernoulli(p[:, :0])", "torch.randint(3, 3, (2,))",
    "[t._version for t in (torch.randn_like(p), torch.rand_like(p), torch.randint_like(p, 3), torch.full_like(p, 2), "
    "p.bernoulli(0.5), torch.normal(0.0, 1.0, (3,)), torch.rand(2), torch.normal(p, 1.0))]",
]  # fmt: skip


def names(m):
    m.manual_seed(7)
    return {"p": m.arange(12.0).view(3, 4).t(), "F": m.nn.functional}


@pytest.mark.parametrize("code", CASES)
def test_same_numbers(code):
    assert outcome(rl, code, names) == outcome(torch, code, names)


@pytest.mark.parametrize(
    "code", ["normal_()", "uniform_()", "bernoulli_()", "bernoulli_(0.5)", "random_()", "cauchy_()"]
)
def test_filling_forgets_the_old_values(code):
    found = []
    for m in (torch, rl):
        leaf = m.ones(3, requires_grad=True)
        filled = eval(f"(leaf * 1).{code}", {"leaf": leaf})
        filled.sum().backward()
        found.append((type(filled.grad_fn).__name__, leaf.grad.tolist()))
    assert found[1] == found[0]
