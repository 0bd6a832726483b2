"""``torch._dynamo.eval_frame``: the class of compiled modules, of which there are none."""

import rushlight.nn as _nn


class OptimizedModule(_nn.Module):
    """A module that was compiled: `torch.compile` makes none here; programs ask whether a module is one."""
