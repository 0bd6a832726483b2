"""Checkpoints that keep the results of some operations: which, a function of the program's says."""

from __future__ import annotations

import enum
import functools
from collections import defaultdict

from ..base.errors import hinted
from ..ops import table
from ..tensor import Tensor
from ..tensor.interposers import INTERPOSERS, Interposer, below
from .flop_formulas import OF_OTHERS, aten, native_calls
from .native_operations import native_call

_RECOMPUTE, _CONSUMED = object(), object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed "
    "between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """What becomes of an operation's result: it is kept, or computed again. ``MUST`` and ``PREFER`` differ for compilers alone."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told of the moment: whether it is the second run, and what the operation gave."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Two contexts, for the two runs of a checkpoint: give ``checkpoint(..., context_fn=...)`` a function that makes them.

    Args:
        policy_fn_or_list: a list of operations (``torch.ops.aten.mm.default``) whose results are kept; or a function
            ``(context, operation, *args)`` that returns a `CheckpointPolicy`, or whether to keep the result.
        allow_cache_entry_mutation: False raises an error where a kept result was written in place meanwhile.

    Operations are those that run here: what PyTorch makes of several may be one. Views are always computed again.

    >>> import functools
    >>> import rushlight as torch
    >>> from rushlight.compat.inside.ops import aten
    >>> from rushlight.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [aten.mm.default])
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    >>> x.grad
    tensor([[-1.6646, -1.6646],
            [-1.6646, -1.6646]])
    """
    if isinstance(policy_fn_or_list, list):
        for each in policy_fn_or_list:
            if "_overloadname" not in getattr(each, "__dict__", ()):
                way = ""
                if hasattr(each, "_qualified_op_name"):
                    way = (
                        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                first = f"Expected op in `op_list` to be an OpOverload but got: {each} of type {type(each)}. {way}"
                raise ValueError(hinted(first, "a list names operations with their overloads"))
        policy = lambda context, op, *args, **kwargs: op in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(
            hinted("policy_fn_or_list must be either a function or a list of ops.", f"got {type(policy_fn_or_list)}")
        )
    storage: dict = defaultdict(dict)
    second = functools.partial(_Second, storage, allow_cache_entry_mutation)
    return _Run(functools.partial(_First, storage, policy)), _Run(second)


class _Run:
    """A context in which an interposer, made anew by ``make``, sees the operations of the thread."""

    def __init__(self, make):
        self.make, self.entered = make, []

    def __enter__(self):
        interposer, entered, interposers = self.make(), self.entered, INTERPOSERS
        # In one row without calls, for Ctrl-C: autograd/modes.py.
        entered += [interposer]
        interposers += [interposer]
        return self

    def __exit__(self, *error):
        while self.entered:
            INTERPOSERS[:] = [each for each in INTERPOSERS if each is not self.entered[-1]]
            self.entered.pop()


class _Selecting(Interposer):
    """Numbers the calls of each operation."""

    def __init__(self, storage):
        super().__init__()
        self.storage, self.counts = storage, defaultdict(int)

    def next_call(self, op, schema, values):
        """The operation of PyTorch's that a call stands for, its arguments, and how many calls of it there were."""
        if op.name in OF_OTHERS:
            name, given, _ = native_calls(op, schema, values, None)[0]
            operation = _overload(name, "default")
        else:
            native = native_call(op, schema, values)
            operation, given = _overload(native.name, native.overload), native.arguments
        number = self.counts[operation]
        self.counts[operation] += 1
        return operation, given, number


@functools.cache
def _overload(name, overload):
    try:
        return getattr(aten(name), overload)
    except AttributeError:
        return f"rushlight.{name}"


class _First(_Selecting):
    """Keeps the results that the policy asks for."""

    def __init__(self, storage, policy):
        super().__init__(storage)
        self.policy = policy

    def call(self, op, schema, values, again, around, writes=False):
        with below(self):
            found = again(values)
            if not writes:
                operation, given, number = self.next_call(op, schema, values)
                context = SelectiveCheckpointContext(is_recompute=False, op_output=found)
                chosen = self.policy(context, operation, *given)
                keeps = chosen if isinstance(chosen, bool) else chosen in _SAVING
                kept = keeps and op.kind != table.VIEW and not op.in_parts
                self.storage[operation][number] = _kept(found) if kept else _RECOMPUTE
        return found


class _Second(_Selecting):
    """Gives the results that were kept, once each."""

    def __init__(self, storage, allows_writes):
        super().__init__(storage)
        self.allows_writes = allows_writes

    def call(self, op, schema, values, again, around, writes=False):
        with below(self):
            entry = _RECOMPUTE
            if not writes:
                operation, _, number = self.next_call(op, schema, values)
                entry = self._entry(operation, number)
            if entry is _RECOMPUTE:
                return again(values)
            self.storage[operation][number] = _CONSUMED
            return around(values, lambda _: self._unchanged(entry))

    def _entry(self, operation, number):
        if operation not in self.storage:
            first = f"{operation} encountered during backward but not found in storage. {_MISMATCH}"
            raise RuntimeError(hinted(first, "the second run calls what the first did not"))
        entry = self.storage[operation].get(number)
        if entry is None:
            first = f"{operation} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            raise RuntimeError(hinted(first, "the second run calls it more often than the first"))
        if entry is _CONSUMED:
            raise RuntimeError(
                hinted(
                    "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                    "selective activation checkpoint.",
                    "what was kept is given back once: run the forward pass again",
                )
            )
        return entry

    def _unchanged(self, entry):
        results, versions, several = entry
        if not self.allows_writes and versions != [result._version for result in results]:
            raise RuntimeError(
                hinted(
                    "Tensor cached during selective activation checkpoint has been mutated",
                    "a kept result was written in place: clone it before, or allow_cache_entry_mutation=True",
                )
            )
        return results if several else results[0]


def _kept(found):
    """The results of a call without their graph, their versions, and whether there may be several."""
    several = isinstance(found, (tuple, list))
    results = tuple(each.detach() for each in (found if several else (found,)) if isinstance(each, Tensor))
    return results, [each._version for each in results], several


CheckpointPolicy.__module__ = SelectiveCheckpointContext.__module__ = "torch.utils.checkpoint"
