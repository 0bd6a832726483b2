"""Attention and recurrent layers: the batch makes more samples."""

from __future__ import annotations

from .call import aligned, each, folded, merged, rule, split, unfolded
from .one_by_one import ONE_BY_ONE, one_by_one


@rule("attention", "attention_backward")
def attention(call):
    """Every tensor is (samples, heads, ...); a mask is broadcast to that."""
    changes = {name: folded(call.batched(name)) for name in call.tensors() if name != "mask"}
    mask = call.given("mask")
    if mask is not None and (call.is_batched("mask") or mask.dim() == 4):
        rows = aligned(call.batched("mask"), 4)
        samples = call.given("query").shape[0]
        changes["mask"] = folded(rows.expand(rows.shape[0], samples, *rows.shape[2:]))
    return each(call.run(**changes), lambda part: unfolded(part, call.size))


@rule("split_heads")
def split_heads(call):
    """The rows are (steps, samples)."""
    batch = call.given("batch")
    rows = call.batched("self")
    rows = merged(rows.reshape(rows.shape[0], -1, batch, rows.shape[2]), 1).flatten(0, 1)
    return each(call.run(self=rows, batch=batch * call.size), lambda part: unfolded(part, call.size))


@rule("merge_heads")
def merge_heads(call):
    """As for `split_heads`; what was joined, and samples, stand before the heads."""
    batch, heads, tensor = call.given("batch"), call.given("heads"), call.batched("self")
    apart = tensor.reshape(call.size, -1, batch * heads, *tensor.shape[2:])
    found = call.run(self=merged(apart, 1).flatten(0, 1), batch=batch * call.size)
    return split(found.reshape(-1, batch * call.size, found.shape[1]), 1, call.size).flatten(1, 2)


@rule("lstm_layer", "rnn_layer", "gru_layer", "lstm_sequence", "rnn_sequence", "gru_sequence")
def layer(call):
    """Sequences (steps, samples, ...) and states (samples, ...); layers of their own run one by one."""
    sequence = call.tensors()[0]
    states = [name for name in ("hidden", "cell") if name in call.schema.index and call.given(name) is not None]
    if any(call.is_batched(name) for name in call.tensors() if name != sequence and name not in states):
        return one_by_one(call)
    changes = {name: folded(call.batched(name)) for name in states}
    found = call.run(**{sequence: merged(call.batched(sequence), 1)}, **changes)
    return each(found, lambda part: split(part, 1, call.size))


@rule("lstm_gates", "lstm_gates_backward", "gru_gates", "gru_gates_backward", "scaled_scores")
def gates(call):
    """Every tensor is (samples, ...), and each sample is on its own."""
    return each(
        call.run(**{name: folded(call.batched(name)) for name in call.tensors()}), lambda x: unfolded(x, call.size)
    )


ONE_BY_ONE.update(
    dict.fromkeys(
        [f"{kind}_{part}_backward" for kind in ("lstm", "rnn", "gru") for part in ("layer", "sequence")],
        "the gradient of the weights is summed over the samples in one pass, and each entry needs its own",
    )
)
