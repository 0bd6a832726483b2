"""What PyTorch does differently on different processors."""

import pytest

torch = pytest.importorskip("torch")

# Convolutions and products of float16 are oneDNN's where it has instructions for them: with other refusals and other sums.
HALF_BY_ONEDNN = torch.ops.mkldnn._is_mkldnn_fp16_supported()
