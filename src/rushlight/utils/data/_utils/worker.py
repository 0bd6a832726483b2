"""``torch.utils.data._utils.worker``: what programs import of a worker's life."""

from ..worker import _generate_state
from ..worker_info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "_generate_state", "get_worker_info"]
