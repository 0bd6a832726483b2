"""Autograd: modes, nodes, the engine, saved tensors, hooks, views and versions."""

from . import anomaly as anomaly_mode
from . import function, functional, grad_mode, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .node import Node
from .variable import Variable
