"""The meta device: tensors with shape, dtype and strides, and no elements."""

import copy
import pickle
import resource
import threading

import pytest

import rushlight as rl
from rushlight import nn

HUGE = 10**6


def meta(*shape, **options):
    return rl.empty(*shape, device="meta", **options)


def test_no_memory_is_taken():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x = meta(HUGE, HUGE)
    found = ((x.relu() + x.T) @ x).softmax(-1).sum(0, keepdim=True)
    with rl.device("meta"):
        model = nn.Transformer(4096, 32, 24, 24, 16384, batch_first=True)
    y = model(meta(8, 512, 4096), meta(8, 512, 4096))
    assert found.shape == (1, HUGE) and y.shape == (8, 512, 4096) and y.is_meta
    assert sum(p.numel() for p in model.parameters()) > 10**10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_training_finds_the_shapes_of_all_gradients():
    layers = [
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LazyLinear(10),
    ]
    model = nn.Sequential(*layers)
    model(rl.zeros(2, 3, 32, 32))
    model.to("meta")
    state = rl.get_rng_state()
    optimizer = rl.optim.AdamW(model.parameters())
    loss = nn.functional.cross_entropy(model(rl.randn(64, 3, 32, 32, device="meta")), meta(64, dtype=rl.long))
    loss.backward()
    optimizer.step()
    assert loss.shape == () and loss.is_meta
    for parameter in model.parameters():
        assert parameter.is_meta and parameter.grad.is_meta and parameter.grad.shape == parameter.shape
    assert rl.equal(state, rl.get_rng_state())  # nothing was drawn


def test_views_share_and_know_their_strides():
    x = meta(4, 6)
    views = [
        x.T,
        x[1:, ::2],
        x.view(2, 12),
        x.unsqueeze(0).expand(3, 4, 6),
        x.as_strided((2, 2), (1, 2), 3),
        x.unfold(1, 3, 2),
    ]
    like = rl.empty(4, 6)
    copies = [like.T, like[1:, ::2], like.view(2, 12), like.unsqueeze(0).expand(3, 4, 6), like.as_strided((2, 2), (1, 2), 3),
              like.unfold(1, 3, 2)]  # fmt: skip
    for view, other in zip(views, copies):
        assert view.is_meta and view._base is x and view.shape == other.shape and view.stride() == other.stride()
        assert view.storage_offset() == other.storage_offset()
    assert x.untyped_storage().nbytes() == 96 and x.data_ptr() == 0 and x.untyped_storage().device.type == "meta"


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda m, c: m.sum().item(), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m, c: bool(m.sum()), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m, c: m.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m, c: m.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m, c: c.copy_(m), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m, c: m.numpy(), TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy"),
        (lambda m, c: m + c, RuntimeError, "Tensor on device cpu is not on the expected device meta!"),
        (lambda m, c: c + m[0, 0], RuntimeError, "Tensor on device meta is not on the expected device cpu!"),
        (lambda m, c: rl.cat([m, c]), RuntimeError, "Tensor on device cpu is not on the expected device meta!"),
        (lambda m, c: c.add_(m), RuntimeError, "Tensor on device meta is not on the expected device cpu!"),
        (lambda m, c: m.add_(meta(4, 2, 3)), RuntimeError, "output with shape [2, 3] doesn't match the broadcast shape"),
        (lambda m, c: m @ m, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
        (lambda m, c: m.nonzero(), NotImplementedError, "The register_meta function for torch.nonzero() raises"),
        (lambda m, c: m[m > 0], NotImplementedError, "The register_meta function for torch.nonzero() raises"),
        (lambda m, c: m.unique(), NotImplementedError, "aten::_unique2: attempted to run this operator with Meta tensors"),
        (lambda m, c: rl.equal(m, m), NotImplementedError, "aten::equal: attempted to run this operator with Meta tensors"),
        (lambda m, c: setattr(c, "data", m), RuntimeError, "Attempted to call `variable.set_data(tensor)`"),
        (lambda m, c: nn.Linear(1, 1, device="meta").to("cpu"), NotImplementedError, "Cannot copy out of meta tensor; no data! Please use"),
    ],
)  # fmt: skip
def test_what_needs_elements_is_refused(call, error, line):
    with pytest.raises(error) as caught:
        call(meta(2, 3), rl.ones(2, 3))
    assert str(caught.value).startswith(line) and "\nhint: " in str(caught.value)


def test_operations_without_a_rule_are_refused_where_they_are_large():
    assert rl.linalg.svdvals(meta(3, 5)).shape == (3,)
    with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
        rl.linalg.svdvals(meta(HUGE, HUGE))


def test_factories_and_their_default_device():
    with rl.device("meta"):
        made = [rl.ones(2), rl.tensor([1.0]), rl.arange(3), rl.rand(2), rl.eye(2), rl.full((2,), 3), rl.as_tensor([1])]
        made += [
            rl.empty_like(rl.ones(2, device="cpu"), device="meta"),
            *nn.LSTM(2, 3).parameters(),
            rl.randint(3, (2,)),
        ]
        assert rl.get_default_device() == rl.device("meta")
        with rl.device("cpu"):
            assert not rl.ones(2).is_meta
        assert not rl.ones(2, device="cpu").is_meta and not rl.empty_like(rl.ones(2, device="cpu")).is_meta
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(rl.ones(1)))
        thread.start()
        thread.join()
    assert all(tensor.is_meta and not tensor.is_cpu and tensor.device.type == "meta" for tensor in made)
    assert not rl.ones(2).is_meta and not elsewhere[0].is_meta
    rl.set_default_device("meta")
    try:
        assert rl.zeros(2).is_meta and not rl.from_numpy(rl.ones(2, device="cpu").numpy()).is_meta
    finally:
        rl.set_default_device(None)
    assert not rl.zeros(2).is_meta


def test_modules_are_given_memory_and_values_later():
    source = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    with rl.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    nn.init.normal_(model[0].weight)
    twin = copy.deepcopy(model)
    assert all(parameter.is_meta for parameter in twin.parameters())
    model.load_state_dict(source.state_dict(), assign=True)
    twin.to_empty(device="cpu").load_state_dict(source.state_dict())
    x = rl.randn(5, 3)
    assert rl.equal(model(x), source(x)) and rl.equal(twin(x), source(x))
    assert isinstance(model[0].weight, nn.Parameter) and model[0].weight.requires_grad


def test_loading_values_into_meta_parameters_is_warned_of():
    model = nn.Linear(3, 4, bias=False, device="meta")
    with pytest.warns(
        UserWarning, match=r"for weight: copying from a non-meta parameter in the checkpoint to a meta parameter"
    ):
        model.load_state_dict(nn.Linear(3, 4, bias=False).state_dict())


def test_printing_and_pickling():
    weight = nn.Parameter(meta(2, 3).T)
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(weight).endswith("tensor(..., device='meta', size=(3, 2), requires_grad=True)")
    back = pickle.loads(pickle.dumps(weight))
    assert back.is_meta and type(back) is nn.Parameter and back.stride() == (1, 3) and back.requires_grad
    assert meta(2).type() == "torch.meta.FloatTensor"
