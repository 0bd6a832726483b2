"""The graphs that operations record against PyTorch's: the name of every node, for a sample of each operation."""

import pytest
from composite_inputs import DIFFERENTIABLE
from gradient_inputs import IN_PLACE, REFUSED, Fixed, arguments_of
from node_name_differences import DIFFERENT, REFUSED_BY_PYTORCH
from test_composite_gradients import mapped

import rushlight as rl
from rushlight.ops.schema import Schema
from rushlight.ops.table import COMPOSITES, TABLE

torch = pytest.importorskip("torch")

RECORDS = {name: op for name, op in TABLE.items() if op.differentiable and op.names and not name.startswith("_test")}
NAMES = [name for name in RECORDS if name not in REFUSED | REFUSED_BY_PYTORCH]
NAMES += [name for name in DIFFERENTIABLE if COMPOSITES[name].names]  # those that PyTorch has, too


def public_function(module, names, name):
    """The function, or method, under the first public name of an operation; None where a library lacks it."""
    for place in names:
        where, _, alias = place.partition(":")
        found = module.Tensor if where == "Tensor" else module
        for part in () if where in ("torch", "Tensor") else where.split("."):
            found = getattr(found, part)
        found = getattr(found, alias or name, None)
        if found is not None:
            return found
    return None


def to_torch(value):
    if isinstance(value, rl.Tensor):
        return torch.from_numpy(value.detach().numpy().copy(order="K"))
    if isinstance(value, rl.dtype):
        return getattr(torch, value.name)
    if isinstance(value, dict):
        return {key: to_torch(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)([to_torch(item) for item in value])
    return Fixed(to_torch(value.value)) if isinstance(value, Fixed) else value


def tracked(value, in_place):
    """Nested arguments in which each floating tensor requires grad; made by a view where it will be written to."""
    if isinstance(value, Fixed):
        return value.value
    if isinstance(value, dict):
        return {key: tracked(item, in_place) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)([tracked(item, in_place) for item in value])
    if not hasattr(value, "requires_grad") or not (value.is_floating_point() or value.is_complex()):
        return value
    leaf = value.detach().requires_grad_()
    return leaf.clone() if in_place else leaf


def names_of(node):
    """The names of all nodes from one to the leaves, as nested tuples."""
    if node is None:
        return None
    inputs = [names_of(next_node) for next_node, _ in node.next_functions]
    name = node.name().removeprefix("torch::autograd::")
    return (name, *inputs) if inputs and name != "AccumulateGrad" else name


def graphs(module, names, name, args, kwargs):
    function = public_function(module, names, name)
    in_place = name.endswith("_") or name in IN_PLACE
    results = function(*tracked(args, in_place), **tracked(kwargs, in_place))
    found = []
    mapped([results], lambda x: found.append(names_of(x.grad_fn)))
    return found


def sample(name):
    rl.manual_seed(1)
    if name in COMPOSITES:
        return DIFFERENTIABLE[name]()
    op = TABLE[name]
    args, arguments = arguments_of(op), Schema(op.schema).arguments
    while len(args) <= len(arguments) and _is_default(args[-1], arguments[len(args) - 1].default):
        args.pop()  # PyTorch tells calls with and without it apart
    return args, {}


def _is_default(value, default):
    return value is default or (isinstance(value, (bool, int, float, str)) and value == default)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NAMES)
def test_names_of_nodes(name):
    names = (COMPOSITES if name in COMPOSITES else TABLE)[name].names
    args, kwargs = sample(name)
    expected = graphs(torch, names, name, to_torch(args), to_torch(kwargs))
    assert (graphs(rl, names, name, args, kwargs) == expected) is (name not in DIFFERENT)
