"""``torch.testing``: comparisons for tests."""

from .comparison import assert_allclose, assert_close, make_tensor
from .file_check import FileCheck
