"""Where arrays become tensors: whatever dtype objects they bring, a tensor's array has the one that operations compare with."""

import copy
import io
import multiprocessing
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.base import dtypes
from rushlight.base.lazy import stored_in
from rushlight.ops.table import COMPOSITES, CREATE, TABLE, functions
from rushlight.utils.data import DataLoader, TensorDataset

sys.path[:0] = [str(Path(__file__).parent.parent / room) for room in ("autograd", "func")]
from composite_inputs import DIFFERENTIABLE  # noqa: E402
from mapped_inputs import REFUSED, THROUGH_GRADIENTS, MappedCall, tensors_in  # noqa: E402

DTYPES = [dtype for dtype in dtypes.ALL if dtype is not rl.bfloat16] + [rl.bfloat16]


def unpickled(array):
    return pickle.loads(pickle.dumps(array))


def described(array):
    """The array with a dtype that says more than tensors hold."""
    return array.view(np.dtype(array.dtype, metadata={"unit": "m"})) if array.dtype.isbuiltin == 1 else array


def swapped_twice(array):
    return array.view(array.dtype.newbyteorder().newbyteorder())


FOREIGN = [unpickled, described, swapped_twice]


def saved(tensor):
    file = io.BytesIO()
    rl.save(tensor, file)
    file.seek(0)
    return rl.load(file)


def storage_of(array):
    return rl.from_numpy(array).untyped_storage()


# Each makes a tensor of an array.
DOORS = {
    "from_numpy": rl.from_numpy,
    "tensor": rl.tensor,
    "tensor of rows": lambda a: rl.tensor([a, a]),
    "tensor of scalars": lambda a: rl.tensor(list(a)),
    "as_tensor": rl.as_tensor,
    "as_tensor of rows": lambda a: rl.as_tensor([a, a]),
    "asarray": rl.asarray,
    "asarray, copied": lambda a: rl.asarray(a, copy=True),
    "frombuffer": lambda a: rl.frombuffer(a.view(np.uint8), dtype=dtypes.from_numpy(a.dtype)),
    "constructor": lambda a: rl.Tensor(a),
    "typed constructor": lambda a: rl.DoubleTensor(a),
    "new_tensor": lambda a: rl.zeros(1).new_tensor(a),
    "dlpack": lambda a: rl.from_dlpack(a),
    "pickle": lambda a: pickle.loads(pickle.dumps(rl.from_numpy(a))),
    "copy": lambda a: copy.copy(rl.from_numpy(a)),
    "deepcopy": lambda a: copy.deepcopy(rl.from_numpy(a)),
    "deepcopy of a module": lambda a: copy.deepcopy(rl.nn.ParameterList([rl.from_numpy(a)]))[0]
    if a.dtype.kind in "fc"
    else rl.from_numpy(a),
    "pickled module": lambda a: pickle.loads(pickle.dumps(rl.nn.BatchNorm1d(2))).running_mean,
    "save and load": lambda a: saved(rl.from_numpy(a)),
    "shared memory": lambda a: rl.from_numpy(a).share_memory_(),
    "storage": lambda a: rl.empty(0, dtype=dtypes.from_numpy(a.dtype)).set_(rl.from_numpy(a).untyped_storage()),
    "pickled storage": lambda a: rl.empty(0, dtype=rl.uint8).set_(pickle.loads(pickle.dumps(storage_of(a)))),
    "view in bytes": lambda a: rl.from_numpy(a).view(rl.uint8),
    "view in its dtype": lambda a: rl.from_numpy(a).view(rl.uint8).view(dtypes.from_numpy(a.dtype)),
    "real part": lambda a: rl.from_numpy(a).real,
    "parts": lambda a: rl.view_as_real(rl.from_numpy(a)) if a.dtype.kind == "c" else rl.from_numpy(a),
    "a NumPy function": lambda a: rl.zeros(2).__array_wrap__(a),
    "an operand": lambda a: rl.ones(2, dtype=dtypes.from_numpy(a.dtype)) == a,
    "an assigned value": lambda a: assigned(a),
    "collate": lambda a: rl.utils.data.default_collate([a, a]),
    "convert": rl.utils.data.default_convert,
    "a buffer's state": lambda a: rl.nn.ParameterDict({"a": rl.zeros(2)})["a"].data.copy_(rl.from_numpy(a))
    if a.dtype.kind != "c"
    else rl.from_numpy(a),
}  # fmt: skip
WITHOUT = {  # dtypes that a door does not let in
    "dlpack": "V", "an operand": "V", "a NumPy function": "V",
    "tensor of scalars": "V", "typed constructor": "cV", "constructor": "cV", "a buffer's state": "c", "collate": "V", "convert": "V",
}  # fmt: skip


def assigned(array):
    made = rl.zeros(2, dtype=dtypes.from_numpy(array.dtype))
    made[:] = rl.from_numpy(array)
    return made


def assert_interned(tensor):
    assert stored_in(tensor._array).dtype is tensor.dtype.numpy


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("door", DOORS)
def test_doors(door, foreign):
    for dtype in DTYPES:
        array = foreign(np.array([1, 2]).astype(dtype.numpy))
        if array.dtype.kind not in WITHOUT.get(door, ""):
            made = DOORS[door](array)
            assert_interned(made)


@pytest.mark.parametrize("letter", "qQlLbBhHiI")
def test_integers_by_other_names(letter):
    """``longlong`` is equal to ``int64``, and another object."""
    for made in (
        rl.from_numpy(np.zeros(2, letter)),
        rl.tensor(np.zeros(2, letter)),
        rl.as_tensor([np.zeros(2, letter)]),
    ):
        assert_interned(made)
        assert int(rl.nn.functional.one_hot(made.long(), 2).sum()) == made.numel()


def test_memory_stays_shared():
    array = unpickled(np.zeros(3, np.float32))
    rl.from_numpy(array).fill_(2)
    assert array.tolist() == [2, 2, 2]


def test_masks_and_positions_that_were_unpickled():
    x = rl.arange(4)
    assert x[unpickled(np.array([True, False, True, False]))].tolist() == [0, 2]
    assert x[unpickled(np.array([1, 3]))].tolist() == [1, 3]


def test_byte_order_is_refused_as_pytorch_does():
    for make in (rl.from_numpy, rl.tensor, rl.as_tensor):
        with pytest.raises(ValueError, match="byte order different from the native"):
            make(np.zeros(2, ">f4"))


# ---------------------------------------------------------------- operations on what came through the doors


def as_worker_sends(tensors):
    """Tensors after the way from a DataLoader's worker to its loader, without the process."""
    from rushlight.utils.data.transport import BatchReceiver, BatchSender

    here, there = multiprocessing.Pipe()
    BatchSender(there).send(tensors)
    receiver = BatchReceiver(here)
    return receiver.unpack(receiver.read())


def as_pickled(tensors):
    return [pickle.loads(pickle.dumps(x.detach())) for x in tensors]


def as_arrays(tensors):
    return [rl.from_numpy(unpickled(x.detach()._array)) for x in tensors]


WAYS = {"pickled": as_pickled, "from a worker": as_worker_sends, "deepcopied": copy.deepcopy, "unpickled": as_arrays}
NAMES = [name for name in TABLE if name not in REFUSED | THROUGH_GRADIENTS and not name.startswith("_test")]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert_interned(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.array_equal(a.detach()._array, b.detach()._array, equal_nan=a.is_floating_point() and a.itemsize > 2)


def call_of(name):
    return None if TABLE[name].kind == CREATE else MappedCall(name)


@pytest.mark.parametrize("way", WAYS)
def test_records_on_small_tensors(way):
    ran = 0
    for name in NAMES:
        call = call_of(name)
        if call is None or name.startswith(("empty", "new_empty")):
            continue
        tensors = [x.detach() for x in call.tensors]
        rl.manual_seed(3)
        expected = call(*[x.clone() for x in tensors])
        rl.manual_seed(3)
        assert_same(call(*WAYS[way](tensors)), expected)
        ran += 1
    assert ran > 400


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("way", ["pickled", "from a worker"])
def test_composites_on_small_tensors(way):
    for name, make in DIFFERENTIABLE.items():
        if name in COMPOSITES and "empty" not in name:
            args, kwargs = make()
            found = []
            for travel in (lambda tensors: tensors, WAYS[way]):
                came = iter(travel([x.detach().clone() for x in tensors_in([*args, *kwargs.values()])]))
                rl.manual_seed(3)
                filled = [replaced(value, came) for value in args], {k: replaced(v, came) for k, v in kwargs.items()}
                found.append(tensors_in(getattr(functions, name)(*filled[0], **filled[1])))
            assert_same(*found[::-1])


def replaced(value, tensors):
    if hasattr(value, "value") or hasattr(value, "_edge"):
        return next(tensors)
    return type(value)(replaced(item, tensors) for item in value) if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize("kind", ["unary", "binary", "elementwise"])
@pytest.mark.parametrize("way", ["pickled", "unpickled"])
def test_elementwise_records_on_large_tensors(way, kind):
    """The generated kernels, on operands of several million bytes."""
    for name in NAMES:
        call = call_of(name)
        if call is None or call.op.kind != kind:
            continue
        tensors = [x.detach().repeat(*([1] * (x.dim() - 1)), 1 << 14) if x.dim() else x for x in call.tensors]
        assert_same(call(*WAYS[way](tensors)), call(*tensors))


def test_large_products_and_windows():
    image, weight = rl.randn(8, 16, 32, 32), rl.randn(32, 16, 3, 3)
    square = rl.randn(128, 128)
    calls = (
        (rl.conv2d, (image, weight)),
        (rl.conv_transpose2d, (image, weight.transpose(0, 1).contiguous())),
        (rl.matmul, (square, square)),
        (rl.nn.functional.linear, (square, square, square[0].clone())),
        (rl.nn.functional.max_pool2d, (image, 2)),
        (rl.nn.functional.batch_norm, (image, None, None, None, None, True)),
        (rl.softmax, (square, 1)),
        (rl.nn.functional.layer_norm, (square, (128,))),
        (rl.nn.functional.cross_entropy, (square, rl.arange(128))),
        (rl.sort, (square,)),
        (rl.cumsum, (square, 0)),
    )
    for function, args in calls:
        expected = tensors_in(function(*args))
        for way in ("pickled", "unpickled", "from a worker"):
            came = iter(WAYS[way](tensors_in(args)))
            assert_same(tensors_in(function(*[replaced(value, came) for value in args])), expected)


# ---------------------------------------------------------------- a network on batches from workers


@pytest.mark.parametrize(("context", "persistent"), [("fork", False), ("fork", True), ("spawn", True)])
def test_a_convolutional_network_learns_from_workers(context, persistent):
    rl.manual_seed(0)
    images = rl.randn(64, 1, 8, 8)
    labels = (images.mean((1, 2, 3)) > 0).long()
    images += labels.view(-1, 1, 1, 1)
    net = rl.nn.Sequential(
        rl.nn.Conv2d(1, 4, 3), rl.nn.ReLU(), rl.nn.MaxPool2d(2), rl.nn.Flatten(), rl.nn.Linear(36, 2)
    )
    optimizer = rl.optim.Adam(net.parameters(), 0.02)
    loader = DataLoader(TensorDataset(images, labels), 16, num_workers=2, multiprocessing_context=context,
                        persistent_workers=persistent)  # fmt: skip
    losses = []
    for _ in range(6):
        for batch, target in loader:
            assert_interned(batch)
            assert_interned(target)
            loss = rl.nn.functional.cross_entropy(net(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
