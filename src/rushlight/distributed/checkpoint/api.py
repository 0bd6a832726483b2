"""``torch.distributed.checkpoint.api``: the error of a checkpoint that failed in some processes."""

from __future__ import annotations

import traceback


class CheckpointException(BaseException):
    """What failed, in which processes: ``failures`` by rank, each an error and the lines that led to it."""

    def __init__(self, msg: str, failures: dict[int, BaseException]) -> None:
        super().__init__(msg, failures)
        self._failures = {rank: (error, traceback.extract_tb(error.__traceback__)) for rank, error in failures.items()}

    @property
    def failures(self) -> dict[int, tuple[BaseException, traceback.StackSummary]]:
        """The error of each process that failed, and the lines that led to it."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, lines) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(lines))
            text += "".join(traceback.format_exception_only(type(error), error))
        return text
