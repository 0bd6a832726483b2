"""``torch.multiprocessing``: Python's own module; tensors travel between processes by value."""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context


def get_all_sharing_strategies():
    """The ways tensors can be shared between processes: by value alone."""
    return {"file_system"}


def get_sharing_strategy():
    """How tensors travel between processes."""
    return "file_system"


def set_sharing_strategy(new_strategy):
    """Accepted for the one strategy there is."""
    if new_strategy not in get_all_sharing_strategies() | {"file_descriptor"}:
        raise AssertionError(f"invalid sharing strategy '{new_strategy}'")


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run ``fn(rank, *args)`` in ``nprocs`` new processes and wait for them."""
    context = get_context(start_method)
    processes = [context.Process(target=fn, args=(rank, *args), daemon=daemon) for rank in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for rank, process in enumerate(processes):
        process.join()
        if process.exitcode:
            raise RuntimeError(f"process {rank} terminated with exit code {process.exitcode}")
    return None
