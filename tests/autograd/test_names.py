"""What hints call a tensor: names of variables, of parameters of modules, of items of lists, in the caller's frames."""

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.autograd.names import described, name_of, names_in_scope

GLOBAL = rl.ones(2)


def test_variables_parameters_and_items():
    weight, several, by_name = rl.ones(2), [rl.zeros(1), rl.ones(1)], {"mask": rl.ones(3)}
    model = nn.Sequential(nn.Linear(2, 2))
    assert name_of(weight) == "`weight`"
    assert name_of(several[1]) == "`several[1]`"
    assert name_of(by_name["mask"]) == "`by_name['mask']`"
    assert name_of(model[0].bias) == "`model.0.bias`"
    assert name_of(GLOBAL) == "`GLOBAL`"
    assert name_of(rl.ones(1)) is None
    assert described(weight) == "`weight` (shape [2])"
    assert described(rl.ones(4)) == "a tensor of shape [4]"


def test_the_innermost_function_and_the_largest_module_come_first():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 2))
    part = model[0]
    assert name_of(model[0][0].weight) == "`model.0.0.weight`"
    assert part is model[0]

    def inner(x):
        return name_of(x)

    y = rl.ones(2)
    assert inner(y) == "`x`"


class Half(nn.Module):
    def __init__(self):
        self.seen = name_of(GLOBAL)  # Module.__init__ has not run: its parameters cannot be asked for


def test_unfinished_modules_and_helpful_objects_do_no_harm():
    class Helpful:
        def __getattr__(self, name):
            return lambda *_: 1 / 0

    helpful = Helpful()
    assert Half().seen == "`GLOBAL`"
    assert name_of(GLOBAL) == "`GLOBAL`"
    assert helpful is not None


def test_modules_and_tensors_of_pytorch_beside_ours():
    torch = pytest.importorskip("torch")
    theirs, tensor = torch.nn.Linear(2, 2), torch.ones(2)
    ours = rl.ones(2)
    assert name_of(ours) == "`ours`"
    assert id(tensor) not in names_in_scope()
    assert theirs is not None


def test_tensors_inside_of_transforms():
    seen = []

    def function(x):
        seen.append(name_of(x))
        with pytest.raises(RuntimeError, match=r"hint: .*`x`"):
            x.retain_grad()
        return x

    rl.func.vmap(function)(rl.ones(2, 3))
    assert seen == ["`x`"]


def test_the_copy_of_the_locals_that_the_user_made_stays_as_it_is():
    x = rl.ones(2)
    mine = locals()
    assert name_of(x) == "`x`"
    assert "x" in mine
