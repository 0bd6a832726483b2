"""Autograd: modes, nodes, the engine, saved tensors, hooks, views and versions."""

import importlib

from ..base.errors import hinted
from . import anomaly as anomaly_mode
from . import forward_ad, function, grad_mode, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
    state,
)
from .node import Node
from .saved import SavedTensor
from .variable import Variable

_FROM_PROFILER = ("DeviceType", "ProfilerActivity", "ProfilerState", "kineto_available")


def __getattr__(name):
    if name in ("functional", "profiler", "profiler_util"):  # imported when first used
        return importlib.import_module(f".{name}", __name__)
    if name in _FROM_PROFILER:
        return getattr(importlib.import_module(".profiler", __name__), name)
    hint = f"Rushlight does not have torch.autograd.{name}"
    raise AttributeError(hinted(f"module '{__name__}' has no attribute '{name}'", hint))


def _profiler_enabled():
    """Whether this thread is profiled."""
    return state.run_leaf is not None


__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
