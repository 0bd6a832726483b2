"""Embeddings with sparse gradients, and the optimizers that take them, or refuse, as PyTorch's do."""

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "maximize": True, "initial_accumulator_value": 0.3}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("SparseAdam", {}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.8, 0.9), "maximize": True}),
    *[
        (name, {})
        for name in (
            "Adam",
            "AdamW",
            "NAdam",
            "RAdam",
            "Adamax",
            "Adadelta",
            "RMSprop",
            "Rprop",
            "ASGD",
            "Adafactor",
            "Muon",
        )
    ],
]


def trained(module, name, options, mixed):
    """Parameters and state after three steps, as a flat list of numbers, or the error."""
    table, head = module.nn.Embedding(6, 2, sparse=True), module.nn.Linear(2, 1)
    with module.no_grad():
        table.weight.copy_(module.arange(12.0).reshape(6, 2) / 5)
        head.weight.fill_(0.5)
        head.bias.fill_(0.1)
    parameters = [table.weight, *(head.parameters() if mixed else ())]
    try:
        optimizer = getattr(module.optim, name)(parameters, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (head(table(module.tensor([1, 3, 1, 5]))) ** 2).sum().backward()
            optimizer.step()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    tensors = [*parameters, table.weight.grad]
    for values in optimizer.state_dict()["state"].values():
        tensors += [module.as_tensor(values[key]) for key in sorted(values)]
    return [np.asarray(tensor.detach().to_dense().tolist()) for tensor in tensors]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_optimizers(name, options, mixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = trained(torch, name, options, mixed), trained(rushlight, name, options, mixed)
    if isinstance(expected, tuple):
        assert found == expected
    else:
        for mine, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, wanted, 1e-4, 1e-5)


STEPS = {
    "once": "e(torch.tensor([[1, 1], [3, 0]])).sum().backward()",
    "twice": "[e(torch.tensor([1, 2])).sum().backward(), e(torch.tensor([3, 1])).sum().backward()]",
    "then dense": "[e(torch.tensor([1, 2])).sum().backward(), e.weight.sum().backward()]",
    "dense, then sparse": "[e.weight.sum().backward(), e(torch.tensor([1, 2])).sum().backward()]",
    "one": "e(torch.tensor(1)).sum().backward()",
    "none": "e(torch.tensor([], dtype=torch.int64)).sum().backward()",
    "zeroed": "[e(torch.tensor([1, 2])).sum().backward(), e.zero_grad(False)]",
    "both in one graph": "(e(torch.tensor([1, 2])).sum() + e.weight.sum()).backward()",
    "retained": "torch.autograd.grad(e(torch.tensor([1, 2])).sum(), e.weight)",
    "bag sum": "F.embedding_bag(torch.tensor([[1, 1], [3, 0]]), e.weight, mode='sum', sparse=True).sum().backward()",
    "bag mean": "F.embedding_bag(torch.tensor([[1, 1], [3, 0]]), e.weight, mode='mean', sparse=True, padding_idx=3).sum().backward()",
    "bag weighted": "F.embedding_bag(torch.tensor([[1, 1], [3, 0]]), e.weight, mode='sum', sparse=True, per_sample_weights=torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()",
    "bag offsets": "F.embedding_bag(torch.tensor([1, 2, 3, 1]), e.weight, torch.tensor([0, 3]), sparse=True).sum().backward()",
    "bag max": "F.embedding_bag(torch.tensor([[1, 1]]), e.weight, mode='max', sparse=True)",
    "padded": "F.embedding(torch.tensor([[1, 1], [3, 0]]), e.weight, padding_idx=3, sparse=True).sum().backward()",
    "by frequency": "F.embedding(torch.tensor([1]), e.weight, scale_grad_by_freq=True, sparse=True).sum().backward()",
    "scaled": "(e(torch.tensor([1, 2])) * torch.tensor([[2.0, 3.0]])).sum().backward()",
    "sparse adam of dense": "[e.weight.sum().backward(), torch.optim.SparseAdam(e.parameters()).step()]",
    "sparse adam's parameters": "torch.optim.SparseAdam([torch.ones(2).to_sparse().requires_grad_()])",
}


def gradient(module, code):
    table = module.nn.Embedding(4, 2, sparse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(code, {"torch": module, "F": module.nn.functional, "e": table})
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    return repr(table.weight.grad)


@pytest.mark.parametrize("name", STEPS)
def test_gradients_of_embeddings(name):
    assert gradient(rushlight, STEPS[name]) == gradient(torch, STEPS[name])
