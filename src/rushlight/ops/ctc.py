"""Connectionist temporal classification: the loss of all alignments of label sequences with longer inputs."""

import numpy as np

from ..base.errors import hinted
from .loss import REDUCTIONS
from .table import composite, functions, op


def _states(targets, lengths, blank):
    """Each sample's labels with blanks around them: (numbers, which states exist, which may be entered from two before)."""
    longest = max(lengths, default=0)
    states = np.full((len(lengths), 2 * longest + 1), blank, np.int64)
    states[:, 1::2] = _padded_labels(targets, lengths, longest, blank)
    exists = np.arange(2 * longest + 1) < 2 * np.asarray(lengths, np.int64)[:, None] + 1
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = states[:, 2:] != states[:, :-2]
    return states, exists, skips


def _padded_labels(targets, lengths, longest, blank):
    """(samples, longest) labels from rows of labels, or from all samples' labels one after another."""
    if targets.ndim == 2:
        return targets[:, :longest]
    labels = np.full((len(lengths), longest), blank, np.int64)
    start = 0
    for row, length in enumerate(lengths):
        labels[row, :length] = targets[start : start + length]
        start += length
    return labels


def _log_sum(*terms):
    """``log(sum(exp(terms)))`` where some or all of them may be minus infinity."""
    top = np.maximum.reduce(terms)
    shift = np.where(np.isneginf(top), 0, top)
    return np.log(sum(np.exp(term - shift) for term in terms)) + shift


def _from_before(logs, skips):
    """What flows into each state from itself, the state before it, and where allowed the one before that."""
    one, two = np.full_like(logs, -np.inf), np.full_like(logs, -np.inf)
    one[:, 1:], two[:, 2:] = logs[:, :-1], logs[:, :-2]
    return _log_sum(logs, one, np.where(skips, two, -np.inf))


def _from_behind(logs, skips):
    """The same backwards in time: from itself, the state after it, and where allowed the one after that."""
    one, two = np.full_like(logs, -np.inf), np.full_like(logs, -np.inf)
    one[:, :-1] = logs[:, 1:]
    two[:, :-2] = np.where(skips, logs, -np.inf)[:, 2:]
    return _log_sum(logs, one, two)


@op("ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity) "
    "-> Tensor[]", names=(), node="CtcLossBackward0")  # fmt: skip
class ctc_loss_parts:
    """Minus the log-likelihood of each sample's labels, and the log-likelihoods of all alignments' beginnings.

    All samples move through time together: one step of the forward recursion is a few operations on (samples, states).
    """

    def forward(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
        states, exists, skips = _states(targets, target_lengths, blank)
        steps, samples = log_probs.shape[:2]
        rows = np.arange(samples)
        alphas = np.full((samples, steps, states.shape[1]), -np.inf, log_probs.dtype)
        for step in range(steps):
            emitted = np.take_along_axis(log_probs[step], states, 1)
            if step:
                found = _from_before(alphas[:, step - 1], skips) + emitted
            else:
                found = np.full(states.shape, -np.inf, log_probs.dtype)
                found[:, :2] = emitted[:, :2]
            alphas[:, step] = np.where(exists, found, -np.inf)
        ends, last = 2 * np.asarray(target_lengths, np.int64), np.asarray(input_lengths, np.int64) - 1
        final = alphas[rows, np.maximum(last, 0)] if steps else np.full(states.shape, -np.inf, log_probs.dtype)
        before = np.where(ends > 0, final[rows, np.maximum(ends - 1, 0)], -np.inf)
        loss = -_log_sum(final[rows, ends], before).astype(log_probs.dtype)
        loss = np.where(last < 0, np.where(ends == 0, 0, np.inf), loss).astype(log_probs.dtype)
        return loss, alphas

    def d_log_probs(grad, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, result0, result1):
        return functions.ctc_loss_gradient(
            grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
        )


@op("ctc_loss_gradient(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "Tensor losses, Tensor alphas, int blank, bool zero_infinity) -> Tensor", names=())  # fmt: skip
class ctc_loss_gradient:
    """The gradient of `ctc_loss` with respect to log-probabilities that are a log_softmax's output."""

    def forward(grad, log_probs, targets, input_lengths, target_lengths, losses, alphas, blank, zero_infinity):
        states, exists, skips = _states(targets, target_lengths, blank)
        steps, samples = log_probs.shape[:2]
        rows = np.arange(samples)[:, None]
        ends, lengths = 2 * np.asarray(target_lengths, np.int64)[:, None], np.asarray(input_lengths, np.int64)[:, None]
        places = np.arange(states.shape[1])
        is_final = (places == ends) | (places == ends - 1)
        # PyTorch sets the last step's share of the last label, which takes the blank's place where that is the label.
        ends_in_blank = (ends > 0) & (np.take_along_axis(states, np.maximum(ends - 1, 0), 1) == blank)
        betas = np.full(states.shape, -np.inf, log_probs.dtype)
        found = np.zeros_like(log_probs)
        for step in range(steps - 1, -1, -1):
            emitted = np.take_along_axis(log_probs[step], states, 1)
            going = np.where(exists, _from_behind(betas, skips) + emitted, -np.inf)
            starting = np.where(is_final, emitted, -np.inf)
            betas = np.where(step == lengths - 1, starting, going)
            # How likely each state is at this step: the paths to it times the paths from it, which both count its label.
            share = np.exp(alphas[:, step] + betas - emitted + losses[:, None])
            share[(places == ends) & ends_in_blank & (step == lengths - 1)] = 0
            expected = np.zeros((samples, log_probs.shape[2]), log_probs.dtype)
            expected[np.isinf(losses)] = np.nan  # without any path there are no shares of it
            np.add.at(expected, (rows, states), np.where(exists & np.isfinite(betas), share, 0))
            found[step] = np.where(step < lengths, np.exp(log_probs[step]) - expected, 0)
        found *= grad[:, None]
        if zero_infinity:
            found[:, np.isinf(losses)] = 0
        return found

    def gradients(grads):
        raise RuntimeError(
            hinted(
                "derivative for aten::_ctc_loss_backward is not implemented",
                "ctc_loss can be differentiated once: leave create_graph=True away",
            )
        )


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check_ctc(log_probs, targets, input_lengths, target_lengths, blank):
    steps, samples, classes = log_probs.shape
    if targets.ndim not in (1, 2):
        message = (
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {_WHERE}"
        )
        raise RuntimeError(hinted(message, "targets are (samples, longest), or all labels one after another"))
    if len(input_lengths) != samples:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(target_lengths) != samples:
        raise RuntimeError("target_lengths must be of size batch_size")
    if not 0 <= blank < classes:
        raise RuntimeError(hinted("blank must be in label range", f"blank is {blank}, there are {classes} classes"))
    for name, lengths, most in (("input_lengths", input_lengths, steps), ("target_lengths", target_lengths, None)):
        for value in lengths:
            if value < 0:
                raise RuntimeError(f"Expected {name} to have value at least 0, but got value {value} {_WHERE}")
            if most is not None and value > most:
                raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {value} {_WHERE}")
    longest, total = max(target_lengths, default=0), sum(target_lengths)
    if targets.ndim == 2 and targets.shape[0] != samples:
        raise RuntimeError(
            f"Expected tensor to have size {samples} at dimension 0, but got size {targets.shape[0]} for argument #2 "
            f"'targets' {_WHERE}"
        )
    if targets.ndim == 2 and targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for argument "
            f"#2 'targets' {_WHERE}"
        )
    if targets.ndim == 1 and targets.shape[0] != total:
        raise RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {targets.shape[0]} for argument "
            f"#2 'targets' {_WHERE}"
        )


def _lengths(value, name):
    """Lengths given as a tensor, a number or a sequence, as a tuple of ints."""
    if hasattr(value, "_edge"):
        if value._array.dtype.kind not in "iu":
            raise RuntimeError(hinted(f"{name} must be integral", f"its dtype is {value.dtype!r}"))
        value = value.reshape(-1).tolist()
    return tuple(int(v) for v in (value if isinstance(value, (tuple, list)) else (value,)))


def _losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """(the loss of each sample, the target lengths)."""
    input_lengths, target_lengths = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    if not log_probs.numel():
        raise RuntimeError(hinted("log_probs tensor must not be empty", f"its shape is {list(log_probs.shape)}"))
    if not log_probs.is_floating_point() or log_probs.dtype.itemsize < 4:
        raise NotImplementedError(
            hinted(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.legacy_name}'", "use float32: x.float()")
        )
    batched = log_probs.ndim == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1) if log_probs.ndim else log_probs
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 'log_probs' {_WHERE}"
        )
    _check_ctc(log_probs, targets, input_lengths, target_lengths, blank)
    loss = functions.ctc_loss_parts(
        log_probs, targets.long(), input_lengths, target_lengths, blank, bool(zero_infinity)
    )[0]
    if zero_infinity:
        loss = functions.where(loss == float("inf"), functions.zeros((), dtype=loss.dtype, device=loss.device), loss)
    return (loss if batched else loss.squeeze(0)), target_lengths


@composite(names=("nn.functional",))
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Minus the log-likelihood of label sequences, summed over all their alignments with a longer input.

    ``log_probs`` is (steps, samples, classes), or (steps, classes), as `log_softmax` gives it; ``targets`` is
    (samples, longest) or all labels one after another. "mean" divides each sample's loss by its number of labels.
    Follows "Connectionist Temporal Classification" (Graves et al., 2006).

    >>> import rushlight as torch
    >>> scores = torch.zeros(4, 1, 3).log_softmax(2)
    >>> torch.nn.functional.ctc_loss(scores, torch.tensor([[1]]), (4,), (1,))
    tensor(2.0919)
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    loss, lengths = _losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    return (
        loss / functions.tensor(lengths, dtype=loss.dtype, device=loss.device).clamp(min=1).reshape(loss.shape)
    ).mean()


@composite(names=("torch:ctc_loss",))
def numbered_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """`nn.functional.ctc_loss` with a number for ``reduction``: 0 (the default) none, 1 mean, 2 sum."""
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)
