"""Process groups: which processes work together, by `init_process_group` and `new_group`."""

from __future__ import annotations

import warnings
from datetime import timedelta

from ..base.device import sparse_coo
from ..base.errors import hinted
from ..base.process_group import is_initialized, process_group, set_world
from ..base.process_group import world as the_world
from ..base.user_code import user_place
from . import checking, meeting, monitor, operations, sparse_sums
from .connection import connect, disconnect, part, world_of_mpi
from .reductions import RedOpType
from .stores import HashStore, PrefixStore, default_pg_timeout
from .transport import Alone, has_mpi


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
    """Processes that work together. `init_process_group` and `new_group` make them.

    ``transport`` moves their arrays, ``ranks`` are their numbers among all processes, ``seconds`` is how long a collective waits.
    """

    def __init__(self, name, backend, store, transport, ranks, seconds):
        self.group_name, self.group_desc = str(name), "default_pg" if name == "0" else "undefined"
        self._backend, self._store = backend, store
        self.transport, self.ranks, self.seconds = transport, ranks, seconds
        self.number = 0  # of collectives so far
        self._compares = checking.get_debug_level() is checking.DebugLevel.DETAIL and transport.size > 1
        self.last_tag = 32767  # the largest that every MPI has
        self.made = 0  # groups of some of these processes so far

    def rank(self):
        """The number of this process in the group."""
        return self.transport.rank

    def size(self):
        """How many processes the group has."""
        return self.transport.size

    def name(self):
        """The name of the backend."""
        return str(self._backend)

    def call(self, name, number, size=0):
        """What an error says of a collective or message that is waited for now."""
        return monitor.Call(name, number, self.group_name, user_place(3), size)

    def enter(self, name, tensor):
        """Begin a collective: count it, and with TORCH_DISTRIBUTED_DEBUG=DETAIL compare it with the other processes'."""
        self.number += 1
        if self._compares:
            checking.compare(self, self.call(name, self.number), tensor)

    def allreduce(self, tensors, op=RedOpType.SUM):
        """Begin to join a tensor of all processes, in place."""
        tensor = _one(tensors)
        join = operations.all_reduce if tensor.layout is not sparse_coo else sparse_sums.all_reduce
        return join(self, tensor, op)

    def broadcast(self, tensors, root=0):
        """Begin to write a tensor of process ``root`` of the group into those of the others."""
        return operations.broadcast(self, _one(tensors), root)

    def allgather(self, output_tensors, input_tensor):
        """Begin to write the tensors of all processes into a list of tensors."""
        return operations.all_gather(self, output_tensors, _one(input_tensor))

    def barrier(self):
        """Begin to wait until all processes have come."""
        return operations.barrier(self)


def _one(tensors):
    return tensors[0] if isinstance(tensors, (list, tuple)) else tensors


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
    return process_group("init_process_group() makes it")


def group_of(given):
    """The group that an argument names, the default one for None; GroupMember.NON_GROUP_MEMBER as it is."""
    world = default_group()
    if given is None or given is world:
        return world
    if given == GroupMember.NON_GROUP_MEMBER:
        return given
    if given not in _groups:
        raise ValueError(hinted("The given group does not exist", "it was destroyed, or is no ProcessGroup"))
    return given


def member_of(given, name):
    """The group that an argument of collective ``name`` names; None, with PyTorch's warning, where this process is not in it."""
    group = group_of(given)
    if group == GroupMember.NON_GROUP_MEMBER:
        rank = default_group().rank()
        message = f"Running {name} on global rank {rank} which does not belong to the given group."
        warnings.warn(message, stacklevel=3)
        return None
    return group


def place_of(group, rank, group_rank, default=None):
    """The rank in a group of the process that an argument names, by its number among all processes or in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(hinted("Can't specify both group_rank and global_rank", "one says who is meant"))
    if group_rank is not None:
        return group_rank
    rank = default if rank is None else rank
    if rank is None:
        raise ValueError(hinted("Must specify global_rank or group_rank", "one says who is meant"))
    return get_group_rank(group, rank)


def root_of(name, group, rank, group_rank, default=None):
    """`place_of` the process that a collective comes from or goes to."""
    place = place_of(group, rank, group_rank, default)
    if not 0 <= place < group.size():
        message = f"ProcessGroupGloo::{name}: invalid root rank: {place}"
        raise RuntimeError(hinted(message, f"the group has ranks 0 to {group.size() - 1}"))
    return place


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
    device_id=None, _ranks=None,
):  # fmt: skip
    """Join the group of all processes, as ``torch.distributed.init_process_group`` does. More than one work over MPI.

    Args:
        backend: "mpi", or "gloo" and None, which are other names for it here. "nccl" is refused as PyTorch's build for the CPU
            refuses it. With "mpi" rank and number of processes are MPI's.
        init_method: "env://" (the default) reads RANK and WORLD_SIZE, as torchrun sets them, or what the launchers of MPICH,
            OpenMPI and Slurm set; "tcp://..." and "file://..." take ``rank`` and ``world_size``.
        timeout: how long collectives wait. Default: 30 minutes
        world_size, rank: how many processes there are, and which of them this is.
        store: instead of ``init_method``; needs ``world_size`` and ``rank``.

    Raises:
        RuntimeError: MPI is not installed, or has another number of processes.

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
    method = init_method or getattr(store, "meeting_place", "env://")
    if name == Backend.MPI:
        _check_backend(name)
        world = world_of_mpi()
        rank, world_size = world.Get_rank(), world.Get_size()
    elif store is not None:
        for what, value in (("world_size", world_size > 0), ("rank", rank >= 0)):
            if not value:
                wanted = "positive" if what == "world_size" else "non-negative"
                raise AssertionError(hinted(f"{what} must be {wanted} if using store", "who this process is"))
    else:
        rank, world_size = meeting.ranks(method, rank, world_size)
    _check_backend(name)
    seconds = (default_pg_timeout if timeout is None else timeout).total_seconds()
    transport = Alone() if world_size == 1 else connect(method, rank, world_size, seconds)
    store = PrefixStore("default_pg", HashStore() if store is None else store)
    made = ProcessGroup("0", name, store, transport, list(range(world_size)), seconds)
    _groups.append(made)
    set_world(made)


def _check_backend(name):
    for each in name.split(","):
        kind = each.rpartition(":")[2]
        if kind == Backend.MPI and not has_mpi():
            raise RuntimeError(
                hinted(
                    "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a "
                    "host that has MPI installed.",
                    "pip install 'rushlight[mpi]' brings mpi4py and an MPI",
                )
            )
        if kind in (Backend.NCCL, Backend.UCC, Backend.XCCL):
            raise RuntimeError(hinted(f"Distributed package doesn't have {kind.upper()} built in", 'use "gloo"'))
        if kind not in (Backend.GLOO, Backend.MPI, Backend.UNDEFINED):
            raise ValueError(hinted(f"Unknown c10d backend type {kind.upper()}", 'the backend for CPUs is "gloo"'))


def destroy_process_group(group=None):
    """End a group, or all of them."""
    if group is None and not is_initialized():
        raise AssertionError(hinted("Process group cannot be None", "there is none: init_process_group() makes it"))
    ended = the_world() if group is None else group
    if ended not in _groups:
        raise ValueError(hinted("Invalid process group specified", "it was destroyed before"))
    if ended is the_world():
        for each in _groups[1:]:
            each.transport.close()
        disconnect(ended.transport)
        _groups.clear()
        set_world(None)
    else:
        ended.transport.close()
        _groups.remove(ended)


def new_group(
    ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None,
    device_id=None, sort_ranks=True,
):  # fmt: skip
    """A group of the processes with the given ranks, of all without; ``GroupMember.NON_GROUP_MEMBER`` in the others.

    All processes call it, in the same order.
    """
    world = default_group()
    size = world.size()
    ranks = list(range(size)) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(ranks) > size:
        message = "the new group's world size should be less or equal to the world size set by init_process_group"
        raise ValueError(hinted(message, f"{len(ranks)} ranks for {size} processes"))
    if len(set(ranks)) < len(ranks):
        raise ValueError(hinted(f"ranks list must not contain duplicate entries, got {ranks}", "each process once"))
    for rank in ranks:
        if not 0 <= rank < size:
            message = f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            raise ValueError(hinted(message, "ranks are those of all processes"))
    name = Backend(world._backend if backend is None else backend)
    _check_backend(name)
    world.made += 1
    if world.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    seconds = world.seconds if timeout is None else timeout.total_seconds()
    transport = Alone() if len(ranks) == 1 else part(world.transport, ranks, world.made)
    made = ProcessGroup(str(world.made), name, world._store, transport, ranks, seconds)
    _groups.append(made)
    return made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Groups of ``group_size`` consecutive processes each: the group of this one, and the list of all."""
    size = default_group().size()
    each = size if group_size is None else group_size
    if each > size or size % each:
        raise ValueError(
            hinted(
                "The world size must be divisible by 'group_size'" if each <= size else
                f"The arg 'group_size' ({each}) must not exceed the world size ({size})",
                f"{size} processes in groups of {each}",
            )
        )  # fmt: skip
    lists = [list(range(start, start + each)) for start in range(0, size, each)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options)


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """A group for each list of ranks: the group of this process, and the list of all."""
    made = [new_group(ranks, timeout, backend, pg_options) for ranks in ranks_per_subgroup_list]
    own = [each for each in made if each != GroupMember.NON_GROUP_MEMBER]
    return own[0] if own else None, made


def get_rank(group=None):
    """The number of this process in a group, -1 where it is in none."""
    group = group_of(group)
    return -1 if group == GroupMember.NON_GROUP_MEMBER else group.rank()


def get_world_size(group=None):
    """How many processes a group has, -1 where this one is not in it."""
    group = group_of(group)
    return -1 if group == GroupMember.NON_GROUP_MEMBER else group.size()


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
    return list(group_of(group).ranks)


def get_global_rank(group, group_rank):
    """The global rank of a process that has ``group_rank`` in a group."""
    if group is the_world():
        return group_rank
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        message = f"Group rank {group_rank} is not part of group {group}"
        raise ValueError(hinted(message, f"it has {len(ranks)} processes"))
    return ranks[group_rank]


def get_group_rank(group, global_rank):
    """The rank in a group of a process that has ``global_rank``."""
    if group is the_world():
        return global_rank
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        message = f"Global rank {global_rank} is not part of group {group}"
        raise ValueError(hinted(message, f"it has the ranks {ranks}"))
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank=None):
    """The number of this process on its machine: LOCAL_RANK, which launchers set."""
    told = meeting.local_rank()
    if told is not None:
        return told
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
