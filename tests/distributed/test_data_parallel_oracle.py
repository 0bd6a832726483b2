"""DistributedDataParallel in a world of one, SyncBatchNorm and nn.parallel without devices, as PyTorch has them."""

import contextlib
import copy
import pickle
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
pytest.importorskip(
    "torch.distributed.nn.functional"
)  # keeps the group there is when it is imported: none, for others' sake
LIBRARIES = (torch, rushlight)


@pytest.fixture
def world():
    for library in LIBRARIES:
        library.distributed.init_process_group("gloo", store=library.distributed.HashStore(), rank=0, world_size=1)
    yield
    for library in LIBRARIES:
        library.distributed.destroy_process_group()


def outcome(act, library):
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = act(library)
    except Exception as error:
        return type(error).__name__, str(error).split("\nhint:")[0].replace("rushlight.tensor.base", "torch")
    return result, [(each.category.__name__, str(each.message)) for each in told]


def agree(act):
    ours, theirs = outcome(act, rushlight), outcome(act, torch)
    assert ours == theirs


def branching(library):
    """A module of two branches, of which a forward takes one, all of whose numbers are known."""

    class Branching(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = library.nn.Linear(2, 2), library.nn.Linear(2, 2)
            self.norm = library.nn.BatchNorm1d(2)
            for place, parameter in enumerate(self.parameters()):
                library.nn.init.constant_(parameter, place + 1.0)

        def forward(self, x, which=0):
            return {"result": [(self.first, self.second)[which](x)]}

    return Branching()


def gradients(module):
    return {name: None if each.grad is None else each.grad.tolist() for name, each in module.named_parameters()}


def wrapped(library, **options):
    return library.nn.parallel.DistributedDataParallel(branching(library), **options)


def step(library, module, which=0):
    module(library.ones(1, 2), which=which)["result"][0].sum().backward()


@pytest.mark.parametrize(
    "options",
    [
        {}, {"find_unused_parameters": True}, {"static_graph": True}, {"gradient_as_bucket_view": True, "find_unused_parameters": True},
        {"broadcast_buffers": False}, {"forward_sync_buffers": False}, {"broadcast_buffers": True, "forward_sync_buffers": False},
        {"check_reduction": True}, {"bucket_cap_mb": 3}, {"bucket_cap_mb_list": [1, 2], "find_unused_parameters": True},
        {"device_ids": [0]}, {"device_ids": [0, 1]}, {"device_ids": []}, {"output_device": 1}, {"dim": 1}, {"init_sync": False},
        {"delay_all_reduce_named_params": []}, {"param_to_hook_all_reduce": 1}, {"process_group": 1, "device_mesh": 1},
        {"batched_grad_copy": True}, {"skip_all_reduce_unused_params": True},
    ],
    ids=str,
)  # fmt: skip
def test_options(world, options):
    def act(library):
        module = wrapped(library, **options)
        seen = [
            list(module.state_dict()),
            module.bucket_bytes_cap,
            module.bucket_bytes_cap_list,
            module.broadcast_buffers,
            module.dim,
        ]
        for which in (0, 0, 1):
            step(library, module, which)
            seen.append(gradients(module))
        return seen

    agree(act)


@pytest.mark.parametrize("find", [False, True])
def test_unfinished_reductions_and_contexts(world, find):
    calls = {
        "eval": lambda library, module: module.eval(),
        "no_grad": lambda library, module: library.no_grad(),
        "no_sync": lambda library, module: module.no_sync(),
        "join": lambda library, module: module.join(enable=False),
        "nothing": lambda library, module: None,
    }
    for context in calls.values():

        def act(library, context=context):
            module = wrapped(library, find_unused_parameters=find)
            module(library.ones(1, 2))  # without a backward
            step(library, module)
            given = context(library, module)
            with given if hasattr(given, "__enter__") else contextlib.nullcontext():
                seen = [module(library.ones(1, 2), which=1)["result"][0].tolist()]
            seen += [module.require_backward_grad_sync, module.require_forward_param_sync]
            return [*seen, module.will_sync_module_buffers()]

        agree(act)


@pytest.mark.parametrize("find", [False, True])
@pytest.mark.parametrize("as_views", [False, True])
def test_communication_hooks(world, find, as_views):
    def act(library):
        module = wrapped(library, find_unused_parameters=find, gradient_as_bucket_view=as_views)
        seen = []

        def hook(state, bucket):
            shapes = sorted(tuple(each.shape) for each in bucket.gradients())
            seen.append([state, bucket.index(), bucket.is_last(), sorted(bucket.buffer().tolist()), shapes])
            assert [each.shape for each in bucket.parameters()] == [each.shape for each in bucket.gradients()]
            future = library.futures.Future()
            future.set_result(bucket.buffer() * 3)
            return future

        module.register_comm_hook("state", hook)
        for which in (0, 1) if find else (0,):
            step(library, module, which)
            seen.append(gradients(module))
        with module.no_sync():
            step(library, module)
        return [*seen, gradients(module)]

    # All parameters get gradients only where both branches run.
    agree(act)


def test_buckets_of_the_first_iteration_and_after(world):
    def act(library):
        layers = library.nn.Sequential(
            library.nn.Linear(300, 1000), library.nn.Linear(1000, 300), library.nn.Linear(300, 3)
        )
        module = library.nn.parallel.DistributedDataParallel(layers)
        seen = []

        def hook(state, bucket):
            seen.append([bucket.index(), bucket.is_last(), len(bucket.parameters())])
            future = library.futures.Future()
            bucket.set_buffer(bucket.buffer().clone())
            future.set_result(bucket.buffer())
            return future

        module.register_comm_hook(None, hook)
        module(library.ones(1, 300)).sum().backward()
        first = list(seen)
        module(library.ones(1, 300)).sum().backward()
        return first, sum(count for _, _, count in seen[1:]), gradients(module)["module.2.bias"]

    agree(act)


@pytest.mark.parametrize(
    "make",
    [
        lambda library: 3,
        lambda library: lambda state, other: None,
        lambda library: lambda state, bucket: bucket.buffer(),
        lambda library: lambda state, bucket: 1 / 0,
    ],
)
def test_hooks_that_are_refused(world, make):
    def act(library):
        module = library.nn.parallel.DistributedDataParallel(library.nn.Linear(2, 2))
        module.register_comm_hook(None, make(library))
        module(library.ones(1, 2)).sum().backward()

    agree(act)


def test_annotations_of_hooks(world):
    def act(library, argument, result):
        module = library.nn.parallel.DistributedDataParallel(library.nn.Linear(2, 2))

        def hook(state, bucket):
            return None

        hook.__annotations__ = {"bucket": argument, "return": result}
        module.register_comm_hook(None, hook)
        module.register_comm_hook(None, hook)

    buckets = {library: library.distributed.GradBucket for library in LIBRARIES}
    agree(lambda library: act(library, int, None))
    agree(lambda library: act(library, buckets[library], int))
    agree(lambda library: act(library, buckets[library], library.futures.Future[library.Tensor]))


def test_modules_that_are_refused(world):
    parallel = {library: library.nn.parallel.DistributedDataParallel for library in LIBRARIES}
    agree(lambda library: parallel[library](library.nn.ReLU()))
    agree(lambda library: parallel[library](library.nn.Linear(2, 2).requires_grad_(False)))
    agree(lambda library: parallel[library](library.nn.LazyLinear(2)))


def test_copies_and_ignored_parameters(world):
    def act(library):
        module = branching(library)
        kind = library.nn.parallel.DistributedDataParallel
        kind._set_params_and_buffers_to_ignore_for_model(
            module, ["second.weight", "second.bias", "norm.weight", "norm.bias"]
        )
        module = kind(module)
        for _ in range(2):
            step(library, module)
        copied = copy.deepcopy(module)
        step(library, copied)
        return sorted(copied.parameters_to_ignore), gradients(copied), gradients(module)

    agree(act)


def test_pickled(world):
    kinds = [library.nn.parallel.DistributedDataParallel for library in LIBRARIES]
    texts = [pickle.dumps(kind(library.nn.Linear(2, 2))) for kind, library in zip(kinds, LIBRARIES, strict=True)]
    for kind, text in zip(kinds, texts, strict=True):
        assert type(pickle.loads(text)) is kind
    for library in LIBRARIES:
        library.distributed.destroy_process_group()
    try:
        agree(lambda library: pickle.loads(texts[LIBRARIES.index(library)]))
        agree(lambda library: library.nn.parallel.DistributedDataParallel(library.nn.Linear(2, 2)))
    finally:
        for library in LIBRARIES:
            store = library.distributed.HashStore()
            library.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


def test_a_training(world):
    def act(library):
        library.manual_seed(0)
        plain = library.nn.Sequential(library.nn.Linear(3, 8), library.nn.Tanh(), library.nn.Linear(8, 1))
        module = library.nn.parallel.DistributedDataParallel(plain)
        optimizer = library.optim.Adam(module.parameters(), lr=0.1)
        x = library.linspace(-1, 1, 12).reshape(4, 3)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (module(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    np.testing.assert_allclose(act(rushlight), act(torch), rtol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (3,)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_sync_batch_norm(shape, training, request):
    def act(library):
        return library.nn.SyncBatchNorm(3).train(training)(library.ones(shape)).tolist()

    alone = outcome(act, rushlight)
    assert alone == outcome(act, torch)
    request.getfixturevalue("world")
    assert outcome(act, rushlight) == alone  # PyTorch refuses tensors of the CPU within a group


CALLS = [
    "replicate(m, [0])", "replicate(m, [])", "replicate(m, ['cpu'])", "len(replicate(nn.ReLU(), [0, 1]))", "scatter([], [0])",
    "scatter((1, 2), [0, 1])", "scatter([1, 'a'], ['cuda'])", "scatter({'a': 1}, [0, 1])", "scatter(x, [0, 1])", "scatter(x, ['cpu'])",
    "scatter({'a': x}, [0, 1])", "gather([x], 0)", "gather([x, x], 'cpu')", "gather([None], 0)", "gather([{'a': None}], 0)",
    "gather([{'a': None}, {}], 0)", "gather([[x], [x]], 0)", "gather([[None], [None]], 0)", "gather([1, 2], 0)",
    "parallel_apply([m], [x])", "parallel_apply([m], [])", "parallel_apply([m], [1], [{}, {}])", "parallel_apply([m], [1], None, [0, 1])",
    "data_parallel(m, x)", "data_parallel(m, x, [0])",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_without_devices(text):
    def act(library):
        return eval(
            text, {**vars(library.nn.parallel), "m": library.nn.Linear(2, 2), "x": library.ones(2, 2), "nn": library.nn}
        )

    agree(act)
