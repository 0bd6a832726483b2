"""``torch.utils.tensorboard``: what TensorBoard shows, written by the package ``tensorboard``, which has to be installed."""

import importlib.util

if importlib.util.find_spec("tensorboard") is None:
    raise ModuleNotFoundError(
        "No module named 'tensorboard'\nhint: pip install 'rushlight[tensorboard]', or tensorboard itself, for utils.tensorboard",
        name="tensorboard",
    )

from tensorboard.summary.writer.record_writer import RecordWriter

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
