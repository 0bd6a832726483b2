"""``torch.distributed``: processes that train together, over MPI. A group of one process needs no MPI."""

from __future__ import annotations

import os as _os
from importlib import import_module as _import_module

from ..nn.parallel.buckets import GradBucket
from ..nn.parallel.reducer import Reducer
from . import algorithms, distributed_c10d, elastic, fsdp, nn, optim
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .device_mesh import DeviceMesh, init_device_mesh
from .elastic import multiprocessing as _elastic_multiprocessing
from .algorithms import ddp_comm_hooks as _ddp_comm_hooks
from .checking import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from .later import LATER as _LATER
from .groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from .messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from .reductions import ReduceOp, supports_complex
from .file_stores import FileStore, TCPStore
from .stores import HashStore, PrefixStore, Store, default_pg_timeout
from .transport import has_mpi as _has_mpi
from .work import Work

reduce_op = ReduceOp
_LAZY = frozenset(
    ("_composable", "_tensor", "checkpoint", "pipelining", "tensor")
)  # packages that are loaded when they are asked for


def is_available():
    """Whether the package is there: True. More than one process needs MPI: `is_mpi_available`."""
    return True


def is_gloo_available():
    """Whether "gloo", the backend for CPUs, is there."""
    return True


def is_mpi_available():
    """Whether mpi4py is installed, over which several processes work together."""
    return _has_mpi()


def is_nccl_available():
    """Whether "nccl" is there: not in a build for the CPU."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend):
    """Whether a backend is there."""
    return backend.lower() == Backend.GLOO or (backend.lower() == Backend.MPI and _has_mpi())


def is_torchelastic_launched():
    """Whether an elastic launcher started this process."""
    return _os.environ.get("TORCHELASTIC_RUN_ID") is not None


_LATER.made.update(DeviceMesh=DeviceMesh, init_device_mesh=init_device_mesh)  # under several modules
_LATER.make_modules()
globals()["rpc"].is_available = lambda: False  # as in a build without it
_absent = _LATER.of("")


def __getattr__(name):
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    return _absent(name)
