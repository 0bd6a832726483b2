"""``torch.distributed.distributed_c10d``: the module in which PyTorch keeps process groups and collectives, under the names that programs use."""

from .collectives import *  # noqa: F403
from .groups import (
    GroupMember,
)


def _rank_not_in_group(group):
    return group == GroupMember.NON_GROUP_MEMBER
