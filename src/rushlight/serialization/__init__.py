"""Checkpoints: PyTorch's .pth files in both directions, read without ever running code, and safetensors."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from ..base.device import device as _device
from .legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from .loading import get_unsafe_globals_in_checkpoint, load
from .safe_tensors import load_safetensors, save_safetensors
from .saving import DEFAULT_PROTOCOL, save
from .settings import (
    LoadEndianness,
    add_safe_globals,
    clear_safe_globals,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_safe_globals,
    safe_globals,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)

# What `load` takes for ``map_location``.
MAP_LOCATION = _Callable[[_Any, str], _Any] | _device | str | dict[str, str] | None

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAGIC_NUMBER",
    "PROTOCOL_VERSION",
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_safetensors",
    "safe_globals",
    "save",
    "save_safetensors",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
