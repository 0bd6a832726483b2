"""Training steps, and some inferences, of some fifty small models beside PyTorch.

    python benchmarks/models.py                        # all, three minutes
    python benchmarks/models.py --only lstm unet

Times are those of `side_by_side`.
"""

from __future__ import annotations

import graph_models
import image_models
import sequence_models
import vector_models
from networks import MODELS
from side_by_side import survey

FAMILIES = vector_models, image_models, sequence_models, graph_models  # which have put their models there

if __name__ == "__main__":
    survey(__file__, __doc__, MODELS)
