"""Operands and results that are written to before backward: where PyTorch does not mind, gradients are PyTorch's."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = {
    "max_pool1d": (lambda m, x: m.nn.functional.max_pool1d(x[0], 2), [(2, 3, 8)]),
    "max_pool2d": (lambda m, x: m.nn.functional.max_pool2d(x, 2), [(2, 3, 8, 8)]),
    "max_pool2d, overlapping": (lambda m, x: m.nn.functional.max_pool2d(x, 3, 2, 1), [(2, 3, 9, 9)]),
    "max_pool2d, large": (lambda m, x: m.nn.functional.max_pool2d(x, 2), [(4, 16, 32, 32)]),
    "max_pool3d": (lambda m, x: m.nn.functional.max_pool3d(x, 2), [(1, 2, 4, 4, 4)]),
    "avg_pool2d": (lambda m, x: m.nn.functional.avg_pool2d(x, 2), [(2, 3, 8, 8)]),
    "repeat": (lambda m, x: x.repeat(2, 3), [(2, 3)]),
    "repeat, nothing": (lambda m, x: x.repeat(2, 0), [(2, 3)]),
    "tile": (lambda m, x: x.tile(2), [(2, 3)]),
    "block_diag": (lambda m, x, y, z: m.block_diag(x, y, z), [(2, 3), (3,), ()]),
    "masked_scatter": (lambda m, x, y: x.masked_scatter(m.arange(6).view(2, 3) % 2 == 0, y), [(2, 3), (2, 4)]),
    "scatter": (lambda m, x, y: x.scatter(1, m.tensor([[0, 2], [1, 0]]), y), [(2, 3), (2, 2)]),
    "scatter_add": (lambda m, x, y: x.scatter_add(0, m.tensor([[0, 1], [1, 1]]), y), [(2, 3), (2, 2)]),
    "lu_unpack": (lambda m, x: sum(m.lu_unpack(x, m.tensor([1, 2], dtype=m.int32))[1:]), [(2, 2)]),
    "group_norm": (lambda m, x, w, b: m.nn.functional.group_norm(x, 2, w, b), [(2, 4, 5), (4,), (4,)]),
    "batch_norm": (lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True), [(3, 4, 5), (4,), (4,)]),
    "layer_norm": (lambda m, x, w, b: m.nn.functional.layer_norm(x, (5,), w, b), [(3, 5), (5,), (5,)]),
    "linear": (lambda m, x, w, b: m.nn.functional.linear(x, w, b), [(3, 5), (4, 5), (4,)]),
    "conv2d": (lambda m, x, w, b: m.nn.functional.conv2d(x, w, b), [(1, 2, 6, 6), (3, 2, 3, 3), (3,)]),
    "relu": (lambda m, x: x.relu(), [(2, 3)]),
    "softmax": (lambda m, x: x.softmax(1), [(2, 3)]),
    "gelu": (lambda m, x: m.nn.functional.gelu(x), [(2, 3)]),
    "mul": (lambda m, x, y: x * y, [(2, 3), (3,)]),
    "where": (lambda m, x, y: m.where(m.arange(3) > 1, x, y), [(2, 3), (3,)]),
    "index_put": (lambda m, x, y: x.index_put((m.tensor([1, 0]),), y), [(3, 2), (2, 2)]),
    "cat": (lambda m, x, y: m.cat([x, y]), [(2, 3), (1, 3)]),
    "index_select": (lambda m, x: x.index_select(1, m.tensor([2, 0])), [(2, 3)]),
    "sort": (lambda m, x: x.sort(1)[0], [(2, 3)]),
    "cumsum": (lambda m, x: x.cumsum(1), [(2, 3)]),
    "pad": (lambda m, x: m.nn.functional.pad(x, (1, 2)), [(2, 3)]),
    "normal": (lambda m, x, y: m.normal(x, y.abs() + 1), [(2, 3), (2, 3)]),
}


def story(module, name, place, change=lambda tensor: tensor.fill_(0.25)):
    """The gradients of a call whose operand number ``place``, or result where that is behind them, was changed."""
    function, shapes = CALLS[name]
    leaves = [
        (module.arange(float(max(1, module.empty(shape).numel()))).reshape(shape) * 0.37)
        .sin()
        .detach()
        .requires_grad_()
        for shape in shapes
    ]
    operands = [leaf.clone() for leaf in leaves]
    result = function(module, *operands)
    weights = (module.arange(float(result.numel())).reshape(result.shape) * 0.11).cos()
    with module.no_grad():
        change((*operands, result)[place])
    try:
        result.backward(weights)
    except RuntimeError as error:
        return str(error).splitlines()[0].split(";")[0].split("[")[0]
    return [leaf.grad.tolist() for leaf in leaves]


@pytest.mark.parametrize("name", CALLS)
def test_writes_that_pytorch_allows(name):
    allowed = []
    for place in range(len(CALLS[name][1]) + 1):
        wanted = story(torch, name, place)
        if isinstance(wanted, list):
            allowed.append(place)
            found = story(rl, name, place)
            assert isinstance(found, list), f"place {place}: {found}"
            for one, other in zip(found, wanted, strict=True):
                torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-4, atol=1e-5)
    assert allowed or name in ("softmax", "layer_norm")


@pytest.mark.parametrize("name", CALLS)
def test_detached_in_place(name):
    """An operand that leaves the graph by ``detach_()`` is refused where its node keeps it, also if it is written then."""
    for place in range(len(CALLS[name][1])):
        if (name, place) == ("linear", 1):
            continue  # PyTorch keeps a view of the weight, which goes on in the graph
        for change in (lambda tensor: tensor.detach_(), lambda tensor: tensor.detach_().add_(1)):
            wanted, found = (story(library, name, place, change) for library in (torch, rl))
            if isinstance(found, str):
                assert found == wanted, f"place {place}"
                continue
            if isinstance(wanted, str):  # which PyTorch keeps, and Rushlight does not
                wanted = story(torch, name, place, lambda tensor: None)
            for one, other in zip(found, wanted, strict=True):
                torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-4, atol=1e-5)


def versions(library):
    """Versions, and what backward says, of a tensor that leaves the graph twice between writes of it and of its views."""
    x = library.ones(3, requires_grad=True)
    y = x * 2
    y.mul_(2)
    row, told = y[:1], []
    for _ in range(2):
        z = (y * y).sum()
        y.detach_()
        told.append([y._version, row._version, y.is_leaf])
        y.mul_(x)
        row.data.add_(1)
        told.append([y._version, row._version, y[:1]._version, y.is_leaf])
        try:
            z.backward()
        except RuntimeError as error:
            told.append(str(error).splitlines()[0])
    y.sum().backward()
    return told, x.grad.tolist()


def test_versions_of_what_was_detached_in_place():
    assert versions(rl) == versions(torch)


def test_relu_in_place_behind_max_pooling():
    def gradient(module):
        x = (module.arange(256.0).reshape(1, 4, 8, 8) * 0.7).sin().requires_grad_()
        layers = module.nn.Sequential(module.nn.MaxPool2d(2), module.nn.ReLU(inplace=True))
        layers(x * 2).pow(2).sum().backward()
        return x.grad.tolist()

    torch.testing.assert_close(torch.tensor(gradient(rl)), torch.tensor(gradient(torch)))
