"""Arguments of the wrong kind, in every place of every function, method and layer, against PyTorch: the error's type and first line.

What differs is counted: the numbers here are those of today, for the kinds that a test tries, and may only go down.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl

sys.path.insert(0, str(Path(__file__).parent))
from wrong_arguments import IT_ACCEPTS, KINDS, LEAK, OTHER, PROTOCOL, SAME, TYPE, WE_ACCEPT, measure, measure_layers

torch = pytest.importorskip("torch")

FEW = ("an array", "an LSTM's output", "None", "a string")


def check(counts, differing, limits):
    listed = "\n".join(map(str, differing[:: max(len(differing) // 20, 1)]))
    for found in (TYPE, OTHER, IT_ACCEPTS, WE_ACCEPT, LEAK, PROTOCOL):
        assert counts[found] <= limits.get(found, 0), f"{counts}\n{listed}"
    assert counts[SAME] >= limits[SAME], counts


def test_functions_and_methods():
    few = {kind: KINDS[kind] for kind in FEW}
    check(*measure(torch, kinds=few), {SAME: 28_100, TYPE: 140, OTHER: 25, WE_ACCEPT: 75, IT_ACCEPTS: 10})


def test_layers():
    few = {kind: KINDS[kind] for kind in FEW}
    check(*measure_layers(torch, kinds=few), {SAME: 1095, TYPE: 14, OTHER: 5})


@pytest.mark.slow
def test_functions_and_methods_with_every_kind():
    limits = {SAME: 137_500, TYPE: 460, OTHER: 495, WE_ACCEPT: 115, IT_ACCEPTS: 305}
    check(*measure(torch), limits)


@pytest.mark.slow
def test_layers_with_every_kind():
    check(*measure_layers(torch), {SAME: 5460, TYPE: 90, OTHER: 35, WE_ACCEPT: 2, IT_ACCEPTS: 3})


def test_hints_name_the_argument_and_the_cure():
    x, lstm = rl.ones(2, 2), rl.nn.LSTM(2, 2)
    linear = rl.nn.Linear(2, 2)
    for call, hint in (
        (lambda: linear(np.ones((2, 2), np.float32)), "input is a numpy.ndarray; wrap it with torch.from_numpy(input)"),
        (lambda: linear(lstm(x)), "input is a tuple: an LSTM returns (output, state): use output, _ = lstm(x)"),
        (lambda: linear([[1.0, 2.0]]), "input is a list; make a tensor of it with torch.tensor(input)"),
        (lambda: linear(None), "input is None: a function without a return statement gives that"),
        (lambda: rl.matmul(x, linear), "other is a module: call it, and pass on what it returns"),
        (
            lambda: rl.nn.functional.relu(rl.nn.ReLU),
            "input is the class ReLU, not an object of it: ReLU(...) makes one",
        ),
        (lambda: x.unsqueeze(1.0), "dim is 1.0: write int(dim), or divide with // where it was computed"),
        (lambda: x.unsqueeze(x), "dim is a tensor of shape [2, 2], where one int is taken"),
        (lambda: x.mv("a"), "vec is a str; tensors are made by torch.tensor(...)"),
        (
            lambda: rl.nn.functional.mse_loss(x, [1.0]),
            "target is a list; make a tensor of it with torch.tensor(target)",
        ),
    ):
        with pytest.raises((TypeError, AttributeError)) as caught:
            call()
        assert str(caught.value).split("hint: ")[1] == hint


@pytest.mark.parametrize("code", [
    "x.add([1])", "torch.add(x, [1])", "x.clip('a')", "torch.special.expit(1)", "torch.linalg.matmul(x, 1)", "x.sigmoid_(1)",
    "torch.zeros('a')", "torch.zeros(2, 'a')", "torch.cat([x, 1])", "torch.exp()", "torch.mv(x, x[0], x[0], 1)",
    "torch.mv(x, vec=1)", "x.view(1.5)", "torch.nn.functional.cross_entropy(1, x)", "torch.nn.functional.mse_loss(x, x.tolist())",
    "x.to(torch.float64, copy=1)", "x.to('cpu', True, non_blocking=True)", "x.numpy(force=1)", "x.cpu(memory_format=1)",
    "torch.xlogy(1, 2)", "torch.xlogy(input=1, other=x)", "torch.remainder(input=1.5, other=x)", "torch.pow(2, exponent=3)",
    "torch.special.zeta(1.5, 2)", "torch.bitwise_and(1, other=2)", "x.squeeze(True)", "torch.split_with_sizes(x, 2)",
    "torch.mm(x, x, out=[])", "torch.nn.functional.dropout([1], 0.5)", "x.split('a')", "torch.matmul(x, None)", "x @ None", "torch.ones(2, device=2.5)",
    "torch.nn.functional.conv2d(x, x, None, 'a')", "x.float(1)", "x.scatter_(0, x, {})", "torch.permute(x, [0, 'a'])",
    "torch.scatter(input=1, dim=0, index=x, value=1)", "torch.add(x, x, x, x, foo=2, input=1)", "torch.as_tensor(x, torch.float32)",
    "torch.tensor([1], requires_grad=None)", "torch.nonzero(x, as_tuple=1)", "x.size([1])", "torch.ones(2, device=x[0, 0].long())",
    "torch.nn.functional.adaptive_avg_pool2d(x, 2.5)", "torch.grid_sampler(x, x, 0, 0, 1)", "x.to_sparse(layout=1)", "torch.smm(x, [1])",
    "x.double(memory_format=1)", "torch.nn.functional.leaky_relu_(input=1)", "torch.promote_types(type1=1, type2=2)",
])  # fmt: skip
def test_first_lines(code):
    outcomes = []
    for module in (rl, torch):
        with pytest.raises((TypeError, AttributeError)) as caught:
            eval(code, {"torch": module, "x": module.ones(2, 2)})
        outcomes.append((caught.type, str(caught.value).split("\n")[0]))
    assert outcomes[0] == outcomes[1]


def test_many_names_stand_in_the_order_of_pytorchs_table():
    names = [f"name_{number}" for number in range(40)]
    for count in (1, 5, 13, 14, 29, 30, 40):
        lines = []
        for module in (rl, torch):
            with pytest.raises(TypeError) as caught:
                module.sum(0, **dict.fromkeys(names[:count], 1))
            lines.append(str(caught.value).split("\n")[0])
        assert lines[0] == lines[1]


@pytest.mark.parametrize("code", [
    "torch.dsplit(x, sections=2)", "x.hsplit(indices=[1])", "torch.tile(x[0], dims=(2, 2))", "torch.where(condition=x > 0, self=1, other=x)",
    "torch.isin(element=1, test_elements=x)", "torch.linalg.matrix_norm(input=x[0])", "torch.result_type(scalar=1, tensor=x)",
    "torch.searchsorted(sorted_sequence=x[0, 0], self=1.0)", "torch.tensor_split(x, tensor_indices_or_sections=torch.tensor(2))",
])  # fmt: skip
def test_names_of_arguments_that_only_pytorchs_parser_has(code):
    found = [eval(code, {"torch": module, "x": module.ones(2, 2, 2)}) for module in (rl, torch)]
    assert str(found[0]) == str(found[1])


def test_errors_of_values_stay_theirs():
    """What fits a form is not refused, whatever else is wrong with the call."""
    x = rl.ones(2, 3)
    for call, error in (
        (lambda: x.mm(x), RuntimeError),
        (lambda: x.split(-1), RuntimeError),
        (lambda: rl.cat([x, rl.ones(3, 2)]), RuntimeError),
        (lambda: x.sum(5), IndexError),
        (lambda: rl.nn.functional.dropout(x, 2.0), ValueError),
        (lambda: x.view(7), RuntimeError),
    ):
        with pytest.raises(error):
            call()


def test_names_in_errors_stay_under_autocast():
    with rl.autocast("cpu"):
        pass
    counts, _ = measure(torch, kinds={"None": KINDS["None"]})
    assert counts[LEAK] == 0


def test_a_number_has_no_memory_to_write_into():
    x = rl.ones(2)
    for _ in range(3):  # the general path first, then the short one
        with pytest.raises(
            TypeError, match=r"xlogy_\(\) received an invalid combination of arguments - got \(int, Tensor\)"
        ):
            rl.xlogy_(2, x)
