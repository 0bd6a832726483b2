"""The former name of `device_mesh`."""

from ..tensor.device_mesh import *  # noqa: F403
