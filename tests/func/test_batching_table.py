"""vmap of every operation of the table: over each choice of its tensors it must equal a loop."""

from functools import partial

import pytest
from mapped_inputs import BY_MEMORY, REFUSED, THROUGH_GRADIENTS, MappedCall, assert_same

import rushlight as rl
from rushlight.func import grad, vmap
from rushlight.func.batching import RANDOM, RULES, is_aligned
from rushlight.func.batching.one_by_one import ONE_BY_ONE
from rushlight.ops.table import CREATE, TABLE, op
from rushlight.tensor.compute import schema_of
from rushlight.tensor.dispatch import run

NAMES = [name for name in TABLE if not name.startswith("_test")]
PLAIN = [
    name for name in NAMES if TABLE[name].kind != CREATE and name not in RANDOM | REFUSED | THROUGH_GRADIENTS
]  # fmt: skip
DIFFERENTIABLE = [name for name in PLAIN if TABLE[name].differentiable and TABLE[name].kind != "inplace"]
# Their derivatives are refused, or (the last two) ask for a selection by elements, or for memory of given strides.
NO_GRADIENT = frozenset(
    ("floor_divide", "heaviside", "igamma", "igammac", "special_zeta", "hardsigmoid_backward", "multi_margin_loss_backward",
     "multilabel_margin_loss_backward", "masked_scatter", "as_strided_gradient")
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_a_rule_or_a_reason(name):
    entry = TABLE[name]
    ways = [entry.kind == CREATE, is_aligned(entry), name in RULES, name in RANDOM, name in ONE_BY_ONE]
    assert sum(ways) == 1 or (entry.kind == CREATE and name in RANDOM)


def test_no_rule_is_for_an_operation_that_is_gone():
    assert not (set(RULES) | set(ONE_BY_ONE) | set(RANDOM)) - set(TABLE)
    assert all(ONE_BY_ONE.values())


@pytest.mark.parametrize("name", PLAIN)
def test_equals_a_loop(name):
    call = MappedCall(name)
    for chosen in call.subsets():
        for dim, size in ((0, 3), (0, 1)) if name in BY_MEMORY else ((0, 3), (-1, 2), (0, 1)):
            mapped, in_dims, entries = call.batch(chosen, size, dim)
            found = vmap(call, in_dims)(*mapped)
            results = [call(*entry) for entry in entries]
            assert len(found) == len(results[0])
            for result, column in zip(found, zip(*results)):
                assert_same(result, rl.stack(column), (chosen, dim, size))


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in ONE_BY_ONE])
def test_no_entry_gives_an_empty_batch(name):
    call = MappedCall(name)
    chosen = next(call.subsets(), None)
    if chosen is None:
        pytest.skip("no tensors")
    mapped, in_dims, (entry,) = call.batch(chosen, 1)
    empty = [tensor[:0] if mapped_here else tensor for tensor, mapped_here in zip(mapped, chosen)]
    for result, expected in zip(vmap(call, in_dims)(*empty), call(*entry)):
        assert result.shape == (0, *expected.shape) and result.dtype is expected.dtype


@pytest.mark.parametrize("name", PLAIN)
def test_nested(name):
    call = MappedCall(name)
    for chosen in list(call.subsets())[:1]:
        mapped, in_dims, entries = call.batch(chosen, 2)
        twice = [rl.stack([each, each]) if here else each for each, here in zip(mapped, chosen)]
        found = vmap(vmap(call, in_dims), in_dims)(*twice)
        results = [call(*entry) for entry in entries]
        for result, column in zip(found, zip(*results)):
            assert_same(result, rl.stack([rl.stack(column)] * 2))


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name not in NO_GRADIENT])
def test_gradients_of_entries(name):
    call = MappedCall(name)
    places = call.places()

    def gradients(*tensors):
        def total(*leaves):
            given = list(tensors)
            for place, leaf in zip(places, leaves):
                given[place] = leaf
            outputs = [out for out in call(*given) if out.is_floating_point() or out.is_complex()]
            return sum((out.abs() ** 2).sum() for out in outputs)

        return grad(total, tuple(range(len(places))))(*[tensors[place] for place in places])

    if not places or not any(out.is_floating_point() or out.is_complex() for out in call(*call.tensors)):
        pytest.skip("nothing to differentiate")
    for chosen in list(call.subsets())[:2]:
        mapped, in_dims, entries = call.batch(chosen, 2)
        found = vmap(gradients, in_dims)(*mapped)
        for result, column in zip(found, zip(*[gradients(*entry) for entry in entries])):
            assert_same(result, rl.stack(column), chosen)


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name not in NO_GRADIENT])
def test_gradients_of_the_whole(name):
    """What a rule computes is differentiated where the gradient is taken outside of vmap."""
    call = MappedCall(name)
    places = call.places()
    if not places or not any(out.is_floating_point() or out.is_complex() for out in call(*call.tensors)):
        pytest.skip("nothing to differentiate")

    def total(outputs):
        return sum((out.abs() ** 2).sum() for out in outputs if out.is_floating_point() or out.is_complex())

    def through(function, given):
        leaves = [given[place].detach().requires_grad_() for place in places]
        found = list(given)
        for place, leaf in zip(places, leaves):
            found[place] = leaf
        return rl.autograd.grad(function(found), leaves, allow_unused=True, materialize_grads=True)

    for chosen in list(call.subsets())[:2]:
        mapped, in_dims, _ = call.batch(chosen, 2)

        def loop(given):
            entries = [[t[n].clone() if here else t for t, here in zip(given, chosen)] for n in range(2)]
            return sum(total(call(*entry)) for entry in entries)

        found = through(lambda given: total(vmap(call, in_dims)(*given)), mapped)
        for result, expected in zip(found, through(loop, mapped)):
            assert_same(result, expected, chosen)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_sizes_that_depend_on_elements_are_refused(name):
    call = MappedCall(name)
    mapped, in_dims, _ = call.batch((True,), 2)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(call, in_dims)(*mapped)


def test_an_operation_without_a_rule_runs_one_by_one():
    calls = []

    @op("_test_alone(Tensor self) -> Tensor", names=())
    class _test_alone:
        """Twice the tensor, noting the shapes that it was called with."""

        def forward(self):
            calls.append(self.shape)
            return self * 2

    try:
        alone = partial(run, TABLE["_test_alone"], schema_of(TABLE["_test_alone"]))
        found = vmap(lambda x: alone([x]))(rl.arange(6.0).reshape(3, 2))
        assert found.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]] and calls == [(2,)] * 3
        with pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"):
            vmap(lambda x: alone([x]))(rl.ones(0, 2))
    finally:
        del TABLE["_test_alone"]
