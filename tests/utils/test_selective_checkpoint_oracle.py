"""Checkpoints that keep some results: gradients, what runs twice, policies and refusals, as in PyTorch."""

import functools
import importlib
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def parts(library):
    aten = importlib.import_module("rushlight.compat.inside.ops").aten if library is rushlight else torch.ops.aten
    return importlib.import_module(f"{library.__name__}.utils.checkpoint"), aten


def run(library, policy, body=None, backwards=1, **options):
    """Gradient, operations that were asked about, and floating-point operations of both runs."""
    checkpointing, aten = parts(library)
    counting = importlib.import_module(f"{library.__name__}.utils.flop_counter")
    asked = []

    def noted(context, operation, *args, **kwargs):
        asked.append((str(operation), context.is_recompute, tuple(context.op_output.shape)))
        return policy(checkpointing, aten, operation)

    chosen = policy(checkpointing, aten, None) if options.pop("listed", False) else noted
    contexts = functools.partial(checkpointing.create_selective_checkpoint_contexts, chosen, **options)
    x = (library.arange(12.0) / 12).reshape(3, 4).requires_grad_()
    weight = (library.arange(16.0) / 16).reshape(4, 4).requires_grad_()
    body = body or (lambda x, weight: ((x @ weight).sigmoid() @ weight).relu())
    with counting.FlopCounterMode(display=False) as counter:
        y = checkpointing.checkpoint(body, x, weight, use_reentrant=False, context_fn=contexts).sum()
        for number in range(backwards):
            y.backward(retain_graph=number + 1 < backwards)
    return x.grad.tolist(), weight.grad.tolist(), asked, counter.get_total_flops()


POLICIES = {
    "products": lambda c, aten, op: (
        c.CheckpointPolicy.MUST_SAVE if op == aten.mm.default else c.CheckpointPolicy.PREFER_RECOMPUTE
    ),
    "nothing": lambda c, aten, op: c.CheckpointPolicy.MUST_RECOMPUTE,
    "everything": lambda c, aten, op: c.CheckpointPolicy.PREFER_SAVE,
    "bools": lambda c, aten, op: op == aten.sigmoid.default,
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies(name):
    ours, theirs = (run(library, POLICIES[name]) for library in LIBRARIES)
    assert ours[2:] == theirs[2:]
    for mine, other in zip(ours[:2], theirs[:2]):
        assert rushlight.tensor(mine).allclose(rushlight.tensor(other))


def test_operations_have_pytorchs_overloads():
    body = lambda x, weight: (
        (((x @ weight) ** 2).sum(1, keepdim=True) * x.clamp(0, 1)).masked_fill(x > 0.5, 2.0).amax(1).log_softmax(0)
    )
    asked = [[call for call in run(library, POLICIES["nothing"], body)[2] if not call[1]] for library in LIBRARIES]
    assert [name for name, *_ in asked[0]] == [name for name, *_ in asked[1]]


def test_a_list_of_operations():
    ours, theirs = (run(library, lambda c, aten, op: [aten.mm.default], listed=True) for library in LIBRARIES)
    assert ours[2:] == theirs[2:] and ours[3] == 7 * 2 * 3 * 4 * 4 - 2 * 3 * 4 * 4


def outcome(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:
            found = type(error).__name__, str(error).partition("\n")[0].partition(" of type")[0]
    return found, [str(each.message).partition("\n")[0] for each in caught]


def refusals(library):
    checkpointing, aten = parts(library)
    create = checkpointing.create_selective_checkpoint_contexts
    keep = POLICIES["everything"]

    def writing(x, weight):
        y = x @ weight
        y.sin_()
        return y.cos()

    state = [0]

    def changing(x, weight):
        state[0] += 1
        return (x @ weight).sin() if state[0] == 1 else (x.cos() @ weight).sin()

    for call in (
        lambda: create([aten.mm]),
        lambda: create(3),
        lambda: run(library, keep, writing)[3],
        lambda: run(library, keep, writing, allow_cache_entry_mutation=True)[3],
        lambda: run(library, keep, backwards=2)[3],
        lambda: run(library, keep, changing)[3],
        lambda: checkpointing.detach_variable([1]),
        lambda: [
            getattr(each, "requires_grad", each)
            for each in checkpointing.detach_variable((library.ones(1, requires_grad=True), 3))
        ],
        lambda: checkpointing.check_backward_validity([library.ones(1)]),
        lambda: checkpointing.check_backward_validity([library.ones(1, requires_grad=True)]),
        lambda: checkpointing.DefaultDeviceType.get_device_type(),
        lambda: {each.name: each.value for each in checkpointing.CheckpointPolicy},
    ):
        yield outcome(call)


def test_refusals():
    for number, (ours, theirs) in enumerate(zip(*map(refusals, LIBRARIES), strict=True)):
        assert ours == theirs, number
