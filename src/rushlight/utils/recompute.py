"""A call that forgets what it saves for backward, and runs again when that is asked for: checkpoints without re-entrance."""

from __future__ import annotations

import contextlib
import weakref

from ..amp.autocast_mode import autocast
from ..amp.state import as_now
from ..autograd.graph import saved_tensors_hooks
from ..autograd.modes import enable_grad, state
from ..autograd.node import SavedInput
from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..base.user_code import user_location, written
from ..random import get_rng_state, set_rng_state


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one had."""


class _Enough(Exception):
    """Ends a second run in which all that is needed has been saved."""


class _Place:
    """Stands in the graph for a tensor that the first run saved."""

    __slots__ = ("__weakref__",)


def is_tensor(value):
    """Whether ``value`` is a tensor."""
    return hasattr(value, "_edge")


def name_of(function):
    """The name by which messages call a function."""
    return getattr(function, "__name__", type(function).__name__)


@contextmanager
def random_state(saved):
    """Draw random numbers from the ``saved`` state on inside; None changes nothing."""
    if saved is None:
        yield
        return
    before = get_rng_state()
    try:
        set_rng_state(saved)
        yield
    finally:
        try:
            set_rng_state(before)
        except BaseException:  # Ctrl-C came before it was done
            set_rng_state(before)
            raise


@contextmanager
def _operations(names):
    """Note the operations that are recorded inside, with the lines that called them; None: note nothing."""
    if names is None:
        yield
        return
    before = state.observers, state.recording
    try:
        state.observers = (*before[0], lambda node: names.append(f"{node.name()} at {written(user_location())}"))
        state.update()
        yield
    finally:
        state.observers, state.recording = before
        state.update()


def _looks(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class ForgetfulCall:
    """A call of ``function`` that keeps a `_Place` for each tensor saved inside, and its own arguments.

    Whoever caused the first run may set ``compares`` (the two runs), ``stops_early`` and ``debug`` before `run`.
    """

    compares = stops_early = True
    debug = False

    def __init__(self, function, args, kwargs, contexts, preserve_rng_state):
        self.function, self.kwargs = function, kwargs
        self.first_context, self.second_context = contexts
        self.random = get_rng_state() if preserve_rng_state else None
        self.autocast = as_now()
        self.args = args
        self.places, self.looks = [], []  # of each saved tensor: a weak reference to its place, and how it looked
        self.finished = False
        self.operations = None

    def run(self):
        """The first run: what ``function`` returns."""
        args, self.args = self.args, [SavedInput(value) if is_tensor(value) else value for value in self.args]
        self.operations = [] if self.debug else None
        with saved_tensors_hooks(self.forget, self.remember), _operations(self.operations), self.first_context:
            result = self.function(*args, **self.kwargs)
            self.finished = True
            return result
        raise RuntimeError(
            hinted(
                "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
                "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward.",
                "let the context's __exit__ return False",
            )
        )

    def forget(self, tensor):
        """The pack hook of the first run."""
        place = _Place()
        self.places.append(weakref.ref(place))
        self.looks.append(_looks(tensor) if self.compares else None)
        return place

    def remember(self, place):
        """The unpack hook of the first run: the tensor of ``place``, from a second run."""
        notes = {} if state.task is None else state.task.notes
        found = notes.get(self)
        if found is None:
            found = notes[self] = self.recompute()
        if place not in found:
            raise CheckpointError(
                hinted(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                    "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                    "details on your use case.",
                    "the second run's tensors are let go as soon as they are used: keep what ctx.saved_tensors returned",
                )
            )
        return found.pop(place)

    def recompute(self):
        """What the second run saves, by its place."""
        second = _SecondRun(self)
        args = [value.unpack(None) if value.__class__ is SavedInput else value for value in self.args]
        operations = None if self.operations is None else []
        with random_state(self.random), enable_grad(), saved_tensors_hooks(second.keep, _same), _operations(operations):
            with contextlib.suppress(_Enough), autocast(**self.autocast), self.second_context:
                self.function(*args, **self.kwargs)
        try:
            second.compare()
        except CheckpointError as error:
            if operations is None:
                raise
            raise _with_operations(self.operations, operations) from error
        return second.found


class _SecondRun:
    """What the second run of a `ForgetfulCall` saves."""

    def __init__(self, call):
        self.call, self.found, self.looks = call, {}, []
        self.inner = False  # whether the first run, not finished yet, asked for this one

    def keep(self, tensor):
        """The pack hook of the second run."""
        call, number = self.call, len(self.looks)
        kept = tensor.detach() if tensor.requires_grad else tensor
        if number >= len(call.places):
            if not call.finished:
                self.inner = True
                return kept
            raise CheckpointError(
                hinted(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.",
                    f"the first run of {name_of(call.function)} saved {number}: the function must do the same both times",
                )
            )
        self.looks.append(_looks(kept) if call.compares else None)
        place = call.places[number]()
        if place is not None:
            self.found[place] = kept
        if call.stops_early and number + 1 == len(call.places):
            raise _Enough
        return kept

    def compare(self):
        """Refuse a second run that saved something else than the first."""
        call = self.call
        if self.inner:
            return
        if len(self.looks) != len(call.places):
            raise CheckpointError(
                hinted(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.",
                    f"{len(call.places)} in the first run of {name_of(call.function)}, {len(self.looks)} in the second: the function "
                    "must do the same both times; debug=True lists the operations of both",
                )
            )
        for number, (before, now) in enumerate(zip(call.looks, self.looks)):
            if before != now and call.places[number]() is not None:
                raise CheckpointError(
                    hinted(
                        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                        "forward pass.",
                        f"tensor {number} that {name_of(call.function)} saves was {before}, and is {now} now: the function must do "
                        "the same both times; debug=True lists the operations of both",
                    )
                )


def _same(tensor):
    return tensor


def _with_operations(first, second):
    listed = "\n".join(
        ["the first run recorded:", *(f"  {each}" for each in first), "the second:", *(f"  {each}" for each in second)]
    )
    return CheckpointError(
        hinted(
            " An error happened while unpacking tensors; dumping logs of latest computation",
            f"the two runs of the checkpointed function differ; {listed}",
        )
    )
