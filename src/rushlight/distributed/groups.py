"""Process groups: which processes work together. In this version every group is this process alone."""

from __future__ import annotations

import os
from datetime import timedelta

from ..base.errors import hinted
from ..base.process_group import is_initialized, process_group, set_world
from ..base.process_group import world as the_world
from .stores import HashStore, PrefixStore, default_pg_timeout

ALONE = "this version trains in one process: rank 0 of a world of 1"


class Backend(str):
    """The name of what carries the messages, in lower case."""

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO}

    def __new__(cls, name):
        """The backend of a name, which PyTorch knows."""
        if not isinstance(name, str):
            raise ValueError(hinted("Backend constructor parameter must be string-ish", 'such as "gloo"'))
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Processes that work together. `init_process_group` and `new_group` make them."""

    def __init__(self, name, backend, store):
        self.group_name, self.group_desc = str(name), "default_pg" if name == "0" else "undefined"
        self._backend, self._store = backend, store

    def rank(self):
        """The number of this process in the group."""
        return 0

    def size(self):
        """How many processes the group has."""
        return 1

    def name(self):
        """The name of the backend."""
        return str(self._backend)


class _World(type):
    """Lets ``GroupMember.WORLD`` be the group of all processes, None before there is one."""

    @property
    def WORLD(cls):
        return the_world()

    @WORLD.setter
    def WORLD(cls, value):
        set_world(value)


class group(metaclass=_World):
    """``group.WORLD``: the group of all processes."""


class GroupMember(metaclass=_World):
    """``GroupMember.WORLD``: the group of all processes; ``NON_GROUP_MEMBER``: what those get that are in none."""

    NON_GROUP_MEMBER = -100


_groups: list[ProcessGroup] = []


def default_group():
    """The group of all processes; ValueError before `init_process_group`."""
    return process_group(f'init_process_group("gloo", ...); {ALONE}')


def group_of(given):
    """The group that an argument names, the default one for None."""
    world = default_group()
    if given is None or given is world:
        return world
    if given not in _groups:
        raise ValueError(hinted("The given group does not exist", "it was destroyed, or is no ProcessGroup"))
    return given


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
    device_id=None, _ranks=None,
):  # fmt: skip
    """Make this process a group, as ``torch.distributed.init_process_group`` does.

    Args:
        backend: "gloo", or None, which means it. "nccl" and "mpi" are refused as PyTorch's build for the CPU refuses them.
        init_method: "env://" (the default) reads RANK and WORLD_SIZE, "tcp://..." and "file://..." take ``rank`` and
            ``world_size``.
        timeout: how long collectives wait; alone, nothing waits.
        world_size, rank: 1 and 0 in this version; RuntimeError for more processes.
        store: instead of ``init_method``; needs ``world_size`` and ``rank``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if is_initialized():
        raise ValueError(
            hinted("trying to initialize the default process group twice!", "destroy_process_group() ends the first")
        )
    if store is not None and init_method is not None:
        raise AssertionError(hinted("Cannot specify both init_method and store.", "leave one out"))
    name = Backend("undefined" if backend is None else backend)
    if name == Backend.MPI:
        _check_backend(name)
    if store is not None:
        for what, value in (("world_size", world_size > 0), ("rank", rank >= 0)):
            if not value:
                wanted = "positive" if what == "world_size" else "non-negative"
                raise AssertionError(hinted(f"{what} must be {wanted} if using store", ALONE))
    else:
        rank, world_size = _meeting(init_method or "env://", rank, world_size)
        store = HashStore()
    _check_backend(name)
    if world_size != 1 or rank != 0:
        raise RuntimeError(
            hinted(
                f"init_process_group: rank {rank} of {world_size} processes was asked for",
                f"{ALONE}; others are not there",
            )
        )
    made = ProcessGroup("0", name, PrefixStore("default_pg", store))
    _groups.append(made)
    set_world(made)


def _check_backend(name):
    for part in name.split(","):
        kind = part.rpartition(":")[2]
        if kind == Backend.MPI:
            raise RuntimeError(
                hinted(
                    "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a "
                    "host that has MPI installed.",
                    'use "gloo"',
                )
            )
        if kind in (Backend.NCCL, Backend.UCC, Backend.XCCL):
            raise RuntimeError(hinted(f"Distributed package doesn't have {kind.upper()} built in", 'use "gloo"'))
        if kind not in (Backend.GLOO, Backend.UNDEFINED):
            raise ValueError(hinted(f"Unknown c10d backend type {kind.upper()}", 'the backend for CPUs is "gloo"'))


def _meeting(method, rank, world_size):
    """The rank and the number of processes that a way to meet names."""
    scheme = method.partition("://")[0]
    if scheme == "env":
        return tuple(
            int(_from_environment(name)) if given < 0 else given
            for name, given in (("RANK", rank), ("WORLD_SIZE", world_size))
        )
    if scheme not in ("tcp", "file"):
        raise RuntimeError(hinted(f"No rendezvous handler for {scheme}://", "env://, tcp:// and file:// are there"))
    for name, given in (("rank", rank), ("world size", world_size)):
        if given < 0:
            raise ValueError(
                hinted(
                    f"Error initializing torch.distributed using {scheme}:// rendezvous: {name} parameter missing",
                    ALONE,
                )
            )
    return rank, world_size


def _from_environment(name):
    if name not in os.environ:
        raise ValueError(
            hinted(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set",
                "torchrun and launchers of clusters set it; or pass rank= and world_size=",
            )
        )
    return os.environ[name]


def destroy_process_group(group=None):
    """End a group, or all of them."""
    if group is None and not is_initialized():
        raise AssertionError(hinted("Process group cannot be None", "there is none: init_process_group() makes it"))
    ended = the_world() if group is None else group
    if ended not in _groups:
        raise ValueError(hinted("Invalid process group specified", "it was destroyed before"))
    if ended is the_world():
        _groups.clear()
        set_world(None)
    else:
        _groups.remove(ended)


def new_group(
    ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None,
    device_id=None, sort_ranks=True,
):  # fmt: skip
    """A group of some of the processes: here, of this one."""
    world = default_group()
    ranks = [0] if ranks is None else list(ranks)
    if len(ranks) > 1:
        message = "the new group's world size should be less or equal to the world size set by init_process_group"
        raise ValueError(hinted(message, ALONE))
    for rank in ranks:
        if rank != 0:
            raise ValueError(hinted(f"Rank {rank} is out of range. Valid ranks are 0 to 0 (world_size=1)", ALONE))
    if not ranks:
        return GroupMember.NON_GROUP_MEMBER
    name = Backend(world._backend if backend is None else backend)
    _check_backend(name)
    made = ProcessGroup(str(len(_groups)), name, world._store)
    _groups.append(made)
    return made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Groups of ``group_size`` processes each: the group of this one, and the list of all."""
    made = new_group([0], timeout, backend, pg_options)
    return made, [made]


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """A group for each list of ranks: the group of this process, and the list of all."""
    made = [new_group(ranks, timeout, backend, pg_options) for ranks in ranks_per_subgroup_list]
    return made[0], made


def get_rank(group=None):
    """The number of this process in a group."""
    return group_of(group).rank()


def get_world_size(group=None):
    """How many processes a group has."""
    return group_of(group).size()


def get_backend(group=None):
    """The name of what carries a group's messages."""
    return group_of(group).name()


def get_backend_config(group=None):
    """The backend for each kind of device."""
    name = group_of(group).name()
    return f"cpu:{Backend.GLOO}" if name == Backend.UNDEFINED else f"cpu:{name},cuda:{name}"


def get_default_backend_for_device(device):
    """The backend that is used for tensors of a device."""
    return Backend.GLOO


def get_process_group_ranks(group):
    """The global ranks of a group's processes."""
    group_of(group)
    return [0]


def get_global_rank(group, group_rank):
    """The global rank of a process that has ``group_rank`` in a group."""
    group_of(group)
    if group_rank != 0:
        raise ValueError(hinted(f"Group rank {group_rank} is not part of group {group}", ALONE))
    return 0


def get_group_rank(group, global_rank):
    """The rank in a group of a process that has ``global_rank``."""
    group_of(group)
    if global_rank != 0:
        raise ValueError(hinted(f"Global rank {global_rank} is not part of group {group}", ALONE))
    return 0


def get_node_local_rank(fallback_rank=None):
    """The number of this process on its machine: LOCAL_RANK, which launchers set."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        hinted(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
            "assuming you are not running in a multi-device context and want the code to run locally instead.",
            "a launcher sets it; get_node_local_rank(fallback_rank=0) does without",
        )
    )


def get_pg_count():
    """How many groups there are."""
    return len(_groups)


def default_timeout(backend):
    """How long collectives of a backend wait."""
    return timedelta(minutes=10) if backend == Backend.NCCL else default_pg_timeout
