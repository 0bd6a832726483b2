"""Join: processes with different numbers of batches train together; those that have none left take part in the others' collectives."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

from ...base.errors import hinted
from ...ops.table import functions
from .agreement import total

_MANY = 1000  # rounds that one process waits for the others, after which it warns


class JoinHook:
    """What a `Joinable` does while its process waits in `Join` for others that still have batches."""

    def main_hook(self) -> None:
        """Called once for each batch of the others: takes part in the collectives of a step."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when all processes have come; ``is_last_joiner``: this one was among the last."""


class Joinable(ABC):
    """Something that can be trained within `Join`: it calls ``Join.notify_join_context(self)`` before its collectives."""

    _joining: Any

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; ``kwargs`` are those that `Join` was given."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where the tensors lie by which processes tell each other how many still have batches."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes that wait for each other."""


class Join:
    """A context in which each process may have another number of batches (``torch.distributed.algorithms.Join``).

    Args:
        joinables: `Joinable` objects, all of one process group.
        enable: False: the context does nothing. Default: True
        throw_on_early_termination: all processes raise RuntimeError once one has none left. Default: False
        kwargs: given to all hooks.
    """

    NONE: Any = None  # what a Joinable is in while it is in no context

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError(hinted("The join context manager requires at least one joinable", "give it the module"))
        groups = [each.join_process_group for each in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError(
                hinted("Using join context manager with multiple process groups", "all joinables belong to one")
            )
        self._joinables, self._enabled, self._throws = joinables, enable, throw_on_early_termination
        self.group, self.options = groups[0], kwargs
        self._hooks = [each.join_hook(**kwargs) for each in joinables]

    def __enter__(self) -> Join:
        if self._enabled:
            for each in self._joinables:
                each._joining = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._enabled:
            return
        try:
            if error is None:
                self._wait_for_others()
        finally:
            for each in self._joinables:
                each._joining = Join.NONE

    def _wait_for_others(self) -> None:
        rounds = 0
        while total(self.group, 0):
            if self._throws:
                total(self.group, 1)
                line = f"Rank {self.group.rank()} exhausted all inputs."
                raise RuntimeError(hinted(line, "throw_on_early_termination=True asks for this"))
            if rounds == _MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self.group.rank()} has at least {_MANY} "
                    f"fewer inputs than other currently-active ranks. This level of skew could lead to performance degradation during training.",
                    stacklevel=3,
                )
            for hook in self._hooks:
                hook.main_hook()
            rounds += 1
        for hook in self._hooks:
            hook.post_hook(rounds == 0)

    @staticmethod
    def _exhausted() -> RuntimeError:
        return RuntimeError(
            hinted(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks.",
                "throw_on_early_termination=True asks for this",
            )
        )

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Tell those who wait that this process has another batch; a Work whose tensor counts who has, None outside a context."""
        context = joinable._joining
        if context is Join.NONE or context._joinables[0] is not joinable:
            return None
        work = context.group.allreduce(functions.tensor([1]))
        if context._throws and total(context.group, 0):
            raise context._exhausted()
        return work
