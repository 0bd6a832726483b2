"""The former name of `tensor.placement_types`."""

from ..tensor.placement_types import *  # noqa: F403
