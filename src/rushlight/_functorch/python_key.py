"""``make_fx``, which traces into PyTorch's graph modules: those do not exist here."""

from ..base.errors import hinted


def make_fx(f, *args, **options):
    """Refused: there are no graph modules to trace into."""
    raise NotImplementedError(
        hinted("make_fx traces into torch.fx graphs, which Rushlight does not have", "call the function itself")
    )
