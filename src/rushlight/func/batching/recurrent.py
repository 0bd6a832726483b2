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


@rule("lstm_gates", "lstm_gates_backward", "gru_gates", "gru_gates_backward")
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
