"""Imports torchvision beside a PyTorch for which its compiled operations were not built, or skips.

Such a torchvision stops at import for two operations that do not exist; a declaration of them is enough for the rest,
which is written in Python. `TORCHVISION` in the environment may name the folder that it lies in.
"""

import importlib
import os
import sys

import pytest

torch = pytest.importorskip("torch")

if "TORCHVISION" in os.environ:
    sys.path.append(os.environ["TORCHVISION"])


def declared():
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def imported():
    try:
        return importlib.import_module("torchvision")
    except ImportError:
        return pytest.skip("torchvision is not installed", allow_module_level=True)
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    LIBRARIES.append(declared())
    return importlib.import_module("torchvision")


LIBRARIES = []  # a declaration lasts as long as its library
torchvision = imported()
torch.set_num_threads(1)  # small models: with more, a loaded machine spends its time on waiting
