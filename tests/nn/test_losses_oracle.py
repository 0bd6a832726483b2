"""Losses against PyTorch: values and gradients, in every reduction."""

import numpy as np
import pytest
from layer_pairs import check_layers, draw

import rushlight as rl

torch = pytest.importorskip("torch")

SCORES, OTHER = draw(4, 3), draw(4, 3, seed=1)
POSITIVE = np.abs(draw(4, 3, seed=2)) + 0.1
PROBABILITIES = 1 / (1 + np.exp(-SCORES))
BINARY = (OTHER > 0).astype(np.float64)
SIGNS = np.sign(OTHER)
CLASSES = np.array([0, 2, 1, 2])
LOG_PROBABILITIES = np.log(np.exp(SCORES) / np.exp(SCORES).sum(1, keepdims=True))
DISTRIBUTION = POSITIVE / POSITIVE.sum(1, keepdims=True)
WEIGHT = "torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)"

CASES = [
    ("L1Loss", "", [SCORES, OTHER]),
    ("MSELoss", "", [SCORES, OTHER]),
    ("SmoothL1Loss", "beta=0.5", [SCORES, OTHER]),
    ("HuberLoss", "delta=0.7", [SCORES, OTHER]),
    ("NLLLoss", "", [LOG_PROBABILITIES, CLASSES]),
    ("NLLLoss", f"weight={WEIGHT}, ignore_index=1", [LOG_PROBABILITIES, CLASSES]),
    ("CrossEntropyLoss", "", [SCORES, CLASSES]),
    ("CrossEntropyLoss", f"weight={WEIGHT}, ignore_index=1, label_smoothing=0.1", [SCORES, CLASSES]),
    ("CrossEntropyLoss", f"weight={WEIGHT}, label_smoothing=0.1", [SCORES, DISTRIBUTION]),
    ("CrossEntropyLoss", "", [draw(2, 3, 2, 2), np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]])]),
    ("PoissonNLLLoss", "full=True", [SCORES, np.round(POSITIVE * 3)]),
    ("PoissonNLLLoss", "log_input=False", [POSITIVE, np.round(POSITIVE * 3)]),
    ("GaussianNLLLoss", "full=True", [SCORES, OTHER, POSITIVE]),
    ("KLDivLoss", "", [LOG_PROBABILITIES, DISTRIBUTION]),
    ("KLDivLoss", "log_target=True", [LOG_PROBABILITIES, np.log(DISTRIBUTION)]),
    ("BCELoss", f"weight={WEIGHT}", [PROBABILITIES, BINARY]),
    ("BCEWithLogitsLoss", f"weight={WEIGHT}, pos_weight={WEIGHT}", [SCORES, BINARY]),
    ("HingeEmbeddingLoss", "margin=0.8", [SCORES, SIGNS]),
    ("SoftMarginLoss", "", [SCORES, SIGNS.astype(np.int64)]),
    ("MultiLabelMarginLoss", "", [SCORES, np.array([[1, -1, 0], [0, 2, -1], [2, 1, 0], [-1, 1, 1]])]),
    ("MultiLabelSoftMarginLoss", f"weight={WEIGHT}", [SCORES, BINARY]),
    ("MultiMarginLoss", f"p=2, margin=0.5, weight={WEIGHT}", [SCORES, CLASSES]),
    ("CosineEmbeddingLoss", "margin=0.1", [SCORES, OTHER, np.array([1.0, -1.0, 1.0, -1.0])]),
    ("MarginRankingLoss", "margin=0.2", [SCORES, OTHER, SIGNS]),
    ("TripletMarginLoss", "margin=0.9, p=1.5, swap=True", [SCORES, OTHER, POSITIVE]),
    ("TripletMarginWithDistanceLoss", "swap=True, margin=0.9", [SCORES, OTHER, POSITIVE]),
]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name, arguments, inputs", CASES)
def test_losses(name, arguments, inputs, reduction):
    source = f"{name}({', '.join(filter(None, [arguments, f'reduction={reduction!r}']))})"
    layers = [eval(f"nn.{source}", {"nn": library.nn, "torch": library}) for library in (rl, torch)]
    check_layers(*layers, inputs, training=(True,))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc(reduction):
    scores = draw(6, 2, 4)
    log_probabilities = scores - np.log(np.exp(scores).sum(2, keepdims=True))
    inputs = [log_probabilities, np.array([[1, 2, 2], [3, 1, 0]]), np.array([6, 5]), np.array([3, 2])]
    layers = [library.nn.CTCLoss(reduction=reduction) for library in (rl, torch)]
    check_layers(*layers, inputs, training=(True,))
