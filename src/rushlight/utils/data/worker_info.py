"""What a dataset can ask about the worker process that it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...utils.data.dataset import Dataset

_FIELDS = ("id", "num_workers", "seed", "dataset", "rng", "worker_method")

_current = None


class WorkerInfo:
    """``id``, ``num_workers``, ``seed``, ``dataset`` (this worker's copy) of a DataLoader worker; read-only."""

    __slots__ = _FIELDS

    def __init__(
        self,
        id: int,
        num_workers: int,
        seed: int,
        dataset: Dataset[Any],
        rng: Any = None,
        worker_method: str = "multiprocessing",
    ) -> None:
        for name, value in zip(_FIELDS, (id, num_workers, seed, dataset, rng, worker_method)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{name}={getattr(self, name)!r}' for name in _FIELDS)})"


def get_worker_info() -> WorkerInfo | None:
    """The WorkerInfo of the current worker process; None in the main process.

    >>> import rushlight as torch
    >>> print(torch.utils.data.get_worker_info())
    None
    """
    return _current


def set_worker_info(info):
    """Say which worker this process is."""
    global _current
    _current = info
