"""Collectives of Python objects. What a process receives is a copy, as if it came from another one."""

from __future__ import annotations

import copy

from ..base.errors import hinted
from .collectives import check_root
from .groups import ALONE, group_of


def all_gather_object(object_list, obj, group=None):
    """Write the objects of all processes into ``object_list``, one for each process.

    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [None]
    >>> dist.all_gather_object(found, {"loss": 0.5})
    >>> found
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    group_of(group)
    object_list[0] = copy.deepcopy(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Write the objects of all processes into ``object_gather_list`` of process ``dst`` (0)."""
    group_of(group)
    check_root("gather", 0 if dst is group_dst is None else dst, group_dst)
    if not object_gather_list:
        message = "Argument ``gather_list`` must be specified on destination rank."
        raise ValueError(hinted(message, "a list with a place for each process"))
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Write the objects of process ``src`` into the lists of the others."""
    group_of(group)
    check_root("broadcast", 0 if src is group_src is None else src, group_src)
    list(object_list)  # TypeError where it is none


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Give each process one object of the list of process ``src`` (0)."""
    group_of(group)
    check_root("scatter", 0 if src is group_src is None else src, group_src)
    if scatter_object_input_list is None:
        message = "source rank must provide non-None scatter_object_input_list"
        raise ValueError(hinted(message, "a list with an object for each process"))
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Send objects to process ``dst``: there is no other in this version."""
    _refuse("destination", group)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receive objects of process ``src``: there is no other in this version."""
    _refuse("source", group)


def _refuse(what, group):
    group_of(group)
    message = f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process."
    raise ValueError(hinted(message, ALONE))
