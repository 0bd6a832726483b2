"""The quickstart of torchmetrics, and a metric of each kind."""

import copy
import pickle
import warnings

import torch
import torchmetrics
from torchmetrics import classification, image, regression, retrieval, text

warnings.simplefilter("ignore")
torch.manual_seed(0)
metric = torchmetrics.classification.Accuracy(task="multiclass", num_classes=5)
for _ in range(10):
    print(metric(torch.randn(10, 5).softmax(dim=-1), torch.randint(5, (10,))))
print("over all batches", metric.compute())

p, t = torch.randn(50, 5).softmax(-1), torch.randint(5, (50,))
chance, yes = torch.rand(50), torch.randint(2, (50,))
x, y = torch.randn(50), torch.randn(50)
one, other = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
for kind in (
    "F1Score",
    "Precision",
    "Recall",
    "ConfusionMatrix",
    "AUROC",
    "CohenKappa",
    "MatthewsCorrCoef",
    "CalibrationError",
):
    print(kind, getattr(classification, f"Multiclass{kind}")(5)(p, t))
for kind in ("AUROC", "AveragePrecision", "ROC", "PrecisionRecallCurve", "Specificity"):
    print(kind, getattr(classification, f"Binary{kind}")()(chance, yes))
for kind in (
    "MeanSquaredError",
    "MeanAbsoluteError",
    "R2Score",
    "PearsonCorrCoef",
    "SpearmanCorrCoef",
    "ExplainedVariance",
):
    print(kind, getattr(regression, kind)()(x, y))
print(
    image.PeakSignalNoiseRatio(data_range=1.0)(one, other),
    image.StructuralSimilarityIndexMeasure(data_range=1.0)(one, other),
)
print(
    retrieval.RetrievalMAP()(x, y > 0, indexes=torch.arange(50) // 10),
    text.WordErrorRate()(["hello there"], ["hello world"]),
)
print(
    torchmetrics.MetricCollection([classification.MulticlassAccuracy(5), classification.MulticlassPrecision(5)])(p, t)
)


class Own(torchmetrics.Metric):
    def __init__(self):
        super().__init__()
        self.add_state("correct", default=torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("total", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, scores, target):
        self.correct += (scores.argmax(-1) == target).sum()
        self.total += target.numel()

    def compute(self):
        return self.correct.float() / self.total


own = Own()
own.update(p, t)
print(own, own.compute(), pickle.loads(pickle.dumps(own)).compute(), copy.deepcopy(own).compute())
