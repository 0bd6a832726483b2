"""``torch.distributed.launch``: the older ``torchrun``, which gives scripts an argument ``--local-rank`` unless ``--use-env`` is said."""

from __future__ import annotations

import warnings

from . import run

_OLD = (
    "The module torch.distributed.launch is deprecated\nand will be removed in future. Use torchrun.\n"
    "Note that --use-env is set by default in torchrun.\n"
    "If your script expects `--local-rank` argument to be set, please\n"
    "change it to read from `os.environ['LOCAL_RANK']` instead. See \n"
    "https://pytorch.org/docs/stable/distributed.html#launch-utility for \nfurther instructions\n"
)


def main(args=None):
    """`run.main`, with ``--local-rank=N`` before the script's own arguments."""
    warnings.warn(_OLD, FutureWarning, stacklevel=2)
    run.launch(args, "--local-rank-argument")


if __name__ == "__main__":
    main()
