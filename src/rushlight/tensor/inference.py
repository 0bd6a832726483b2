"""Inference mode: the tensors made there carry `INFERENCE` in place of a version counter, and never meet autograd.

The short paths make their results with `new_tensor`. While any thread is in inference mode, that name stands for another
function, which marks what this thread makes there; so the mark costs nothing while nobody is.
"""

from __future__ import annotations

import threading

from ..autograd.modes import state
from ..autograd.node import INFERENCE
from ..base.errors import hinted
from ..ops.table import functions
from . import (
    base,
    creation,
    dispatch,
    fast,
    fast_nodes,
    fast_views,
    forms,
    internals,
    linear,
    short_elementwise,
    short_paths,
)

# The modules that make tensors.
_MAKERS = (
    base, creation, dispatch, fast, fast_nodes, fast_views, forms, internals, linear, short_elementwise, short_paths,
)  # fmt: skip
_lock = threading.Lock()
_plain_tensor = base.new_tensor
_threads_inside = 0


def _marked_tensor():
    made = _plain_tensor()
    if state.inference:
        made._version_counter = INFERENCE
    return made


def count_inference(change):
    """Note that a thread enters (1) or leaves (-1) inference mode."""
    global _threads_inside
    with _lock:
        _threads_inside += change
        maker = _marked_tensor if _threads_inside else _plain_tensor
        for module in _MAKERS:
            module.new_tensor = maker


def refuse_write(name):
    """PyTorch's error where an inference tensor was written outside of inference mode."""
    if not state.inference:
        raise RuntimeError(
            hinted(
                "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
                f"{name}() wrote into a tensor that was made inside torch.inference_mode()",
            )
        )


functions.count_inference, functions.refuse_write = count_inference, refuse_write
