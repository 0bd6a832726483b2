"""``torch.utils.flop_counter``: counting the arithmetic of a block, which is not here: refused where it is entered."""

from __future__ import annotations

from ..base.errors import hinted


class FlopCounterMode:
    """A block whose floating-point operations are counted: refused where it is entered."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.mods, self.depth, self.display, self.custom_mapping = mods, depth, display, custom_mapping

    def __enter__(self):
        raise NotImplementedError(
            hinted(
                "FlopCounterMode is not implemented",
                "count a model's multiplications by its layers' shapes, or in PyTorch itself",
            )
        )

    def __exit__(self, *error):
        return None

    def get_flop_counts(self):
        """What was counted, by module: nothing, as no block was entered."""
        return {}

    def get_total_flops(self):
        """How many operations were counted: none, as no block was entered."""
        return 0
