"""torchmetrics: its quickstart, then metrics of classification, regression, images, retrieval, text, and a metric of one's own."""

import copy
import pickle
import warnings

import torch
import torchmetrics
from report import say
from torchmetrics import audio, clustering, nominal, regression, retrieval, segmentation, text, wrappers
from torchmetrics import classification as classes
from torchmetrics import image as pictures

warnings.simplefilter("ignore")  # its advice on memory and on classes that do not occur
torch.manual_seed(0)
metric = classes.Accuracy(task="multiclass", num_classes=5)
say("quickstart", [metric(torch.randn(10, 5).softmax(-1), torch.randint(5, (10,))).item() for _ in range(10)])
say("quickstart.all", metric.compute())

scores, labels = torch.randn(50, 5).softmax(-1), torch.randint(5, (50,))
chances, truth = torch.rand(50), torch.randint(2, (50,))
x, y = torch.randn(50), torch.randn(50)
first = torch.rand(2, 3, 48, 48)
second = first.lerp(torch.rand(2, 3, 48, 48), 0.3)
queries = torch.arange(50) // 10
METRICS = {
    "f1": (classes.MulticlassF1Score(5), scores, labels),
    "precision": (classes.MulticlassPrecision(5, average=None), scores, labels),
    "confusion": (classes.MulticlassConfusionMatrix(5), scores, labels),
    "auroc": (classes.MulticlassAUROC(5), scores, labels),
    "binary_auroc": (classes.BinaryAUROC(), chances, truth),
    "average_precision": (classes.BinaryAveragePrecision(thresholds=20), chances, truth),
    "roc": (classes.BinaryROC(thresholds=5), chances, truth),
    "curve": (classes.BinaryPrecisionRecallCurve(), chances, truth),
    "kappa": (classes.MulticlassCohenKappa(5), scores, labels),
    "matthews": (classes.MulticlassMatthewsCorrCoef(5), scores, labels),
    "jaccard": (classes.MulticlassJaccardIndex(5), scores, labels),
    "calibration": (classes.MulticlassCalibrationError(5), scores, labels),
    "hinge": (classes.MulticlassHingeLoss(5), scores, labels),
    "specificity": (classes.BinarySpecificity(), chances, truth),
    "mse": (regression.MeanSquaredError(), x, y),
    "r2": (regression.R2Score(), x, y),
    "pearson": (regression.PearsonCorrCoef(), x, y),
    "spearman": (regression.SpearmanCorrCoef(), x, y),
    "kendall": (regression.KendallRankCorrCoef(), x, y),
    "concordance": (regression.ConcordanceCorrCoef(), x, y),
    "divergence": (regression.KLDivergence(), scores, scores.flip(0)),
    "psnr": (pictures.PeakSignalNoiseRatio(data_range=1.0), first, second),
    "ssim": (pictures.StructuralSimilarityIndexMeasure(data_range=1.0), first, second),
    "uqi": (pictures.UniversalImageQualityIndex(), first, second),
    "variation": (pictures.TotalVariation(), first),
    "angle": (pictures.SpectralAngleMapper(), first, second),
    "cramer": (nominal.CramersV(5), labels, labels.flip(0)),
    "dice": (segmentation.GeneralizedDiceScore(3), torch.randint(2, (2, 3, 8, 8)), torch.randint(2, (2, 3, 8, 8))),
    "words": (text.WordErrorRate(), ["hello there world"], ["hello world"]),
    "bleu": (text.BLEUScore(n_gram=2), ["the cat is on the mat"], [["there is a cat on the mat"]]),
    "perplexity": (text.Perplexity(), torch.randn(2, 8, 5).softmax(-1), torch.randint(5, (2, 8))),
    "noise": (audio.SignalNoiseRatio(), x, y),
    "mean": (torchmetrics.MeanMetric(), x),
    "running": (torchmetrics.aggregation.RunningMean(3), x[0]),
    "collection": (
        torchmetrics.MetricCollection([classes.MulticlassAccuracy(5), classes.MulticlassPrecision(5)]),
        scores,
        labels,
    ),
    "extremes": (wrappers.MinMaxMetric(classes.MulticlassAccuracy(5)), scores, labels),
    "each_class": (wrappers.ClasswiseWrapper(classes.MulticlassAccuracy(5, average=None)), scores, labels),
    "composed": (classes.MulticlassAccuracy(5) + classes.MulticlassRecall(5), scores, labels),
}
for name, (metric, *inputs) in METRICS.items():
    say(name, metric(*inputs))
for name, metric in {
    "map": retrieval.RetrievalMAP(),
    "ndcg": retrieval.RetrievalNormalizedDCG(),
    "mrr": retrieval.RetrievalMRR(),
}.items():
    say(name, metric(x, (y > 0).long(), indexes=queries))
say("mutual_information", clustering.NormalizedMutualInfoScore()(labels, labels.flip(0)))
say("bootstrap", wrappers.BootStrapper(classes.MulticlassAccuracy(5), num_bootstraps=4)(scores, labels))


class Own(torchmetrics.Metric):
    def __init__(self):
        super().__init__()
        self.add_state("correct", default=torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("total", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, scores, labels):
        self.correct += (scores.argmax(-1) == labels).sum()
        self.total += labels.numel()

    def compute(self):
        return self.correct.float() / self.total


metric = Own()
metric.update(scores, labels)
metric.update(scores, labels.flip(0))
say(
    "own",
    [metric.compute(), pickle.loads(pickle.dumps(metric)).compute(), copy.deepcopy(metric).compute(), str(metric)],
)
