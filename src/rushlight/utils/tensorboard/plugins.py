"""Summaries of TensorBoard's plugins: hyperparameters, precision and recall, meshes, charts of one's own."""

from __future__ import annotations

import json

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

from ...base.errors import hinted
from ...tensor import Tensor, creation
from .arrays import check, make_np
from .summaries import for_plugin, shape_proto

_MOST_THRESHOLDS = 127
_LEAST_COUNT = 1e-7  # which divides by no zero

# How values of a class are written: field of the value, type of the parameter.
_KINDS = (((int, float), "number_value", "DATA_TYPE_FLOAT64"), ((str,), "string_value", "DATA_TYPE_STRING"))


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Three summaries: the experiment, the beginning of a session with these parameters, and its end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        _require(isinstance(given, dict), f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    _require(isinstance(domains, dict), "parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        fits = key in hparam_dict and isinstance(values, list)
        _require(
            fits and all(isinstance(value, type(hparam_dict[key])) for value in values),
            f"parameter: hparam_domain_discrete[{key}] should be a list of same type as hparam_dict[{key}].",
        )
    begin, infos = plugin_data_pb2.SessionStartInfo(), []
    for key, value in hparam_dict.items():
        if value is not None:
            infos.append(_parameter(key, value, domains.get(key), begin))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        _session(hparams_metadata.EXPERIMENT_TAG, experiment=experiment),
        _session(hparams_metadata.SESSION_START_INFO_TAG, session_start_info=begin),
        _session(hparams_metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _require(condition, message):
    if not condition:
        raise TypeError(hinted(message, "{name: value}, and {name: [values that it may have]}"))


def _parameter(key, value, domain, begin):
    """Note the value of a parameter in ``begin``; what it is."""
    if isinstance(value, Tensor):
        begin.hparams[key].number_value = make_np(value)[0]
        return api_pb2.HParamInfo(name=key, type=api_pb2.DataType.Value("DATA_TYPE_FLOAT64"))
    for classes, field, kind in _KINDS:
        if isinstance(value, classes):
            setattr(begin.hparams[key], field, value)
            values = None
            if domain is not None:
                values = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: each}) for each in domain])
            return api_pb2.HParamInfo(name=key, type=api_pb2.DataType.Value(kind), domain_discrete=values)
    raise ValueError(
        hinted("value should be one of int, float, str, bool, or torch.Tensor", f"{key} is of {type(value).__name__}")
    )


def _session(tag, **content):
    found = plugin_data_pb2.HParamsPluginData(version=hparams_metadata.PLUGIN_DATA_VERSION, **content)
    metadata = for_plugin(hparams_metadata.PLUGIN_NAME, found.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


def custom_scalars(layout):
    """Charts of several numbers: ``{category: {chart: ["Multiline" or "Margin", tags]}}``."""
    categories = []
    for category, named in layout.items():
        charts = []
        for title, (kind, tags, *_) in named.items():
            if kind == "Margin":
                check(len(tags) == 3, "len(tags) != 3", "a margin has a value, a lower and an upper bound")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                content = {"margin": layout_pb2.MarginChartContent(series=[series])}
            else:
                content = {"multiline": layout_pb2.MultilineChartContent(tag=tags)}
            charts.append(layout_pb2.Chart(title=title, **content))
        categories.append(layout_pb2.Category(title=category, chart=charts))
    written = layout_pb2.Layout(category=categories).SerializeToString()
    found = TensorProto(dtype="DT_STRING", string_val=[written], tensor_shape=TensorShapeProto())
    metadata = for_plugin("custom_scalars")
    return Summary(value=[Summary.Value(tag="custom_scalars__config__", tensor=found, metadata=metadata)])


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """A curve of precision and recall whose counts are known."""
    return _pr_summary(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds)


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """A curve of precision and recall, of labels and the probabilities that were predicted."""
    count = min(num_thresholds, _MOST_THRESHOLDS)
    return _pr_summary(tag, compute_curve(labels, predictions, count, weights), count)


def _pr_summary(tag, data, thresholds):
    content = PrCurvePluginData(version=0, num_thresholds=min(thresholds, _MOST_THRESHOLDS)).SerializeToString()
    found = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=shape_proto(data.shape))
    return Summary(value=[Summary.Value(tag=tag, metadata=for_plugin("pr_curves", content), tensor=found)])


def compute_curve(labels, predictions, num_thresholds=None, weights=None):
    """Six rows, a column for each threshold: true and false positives, true and false negatives, precision, recall."""
    weights = 1.0 if weights is None else weights
    places = np.int32(np.floor(predictions * (num_thresholds - 1)))
    right = labels.astype(np.float64)
    options = {"bins": num_thresholds, "range": (0, num_thresholds - 1)}
    found, _ = np.histogram(places, weights=right * weights, **options)
    wrong, _ = np.histogram(places, weights=(1.0 - right) * weights, **options)
    tp, fp = (np.cumsum(counts[::-1])[::-1] for counts in (found, wrong))
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(_LEAST_COUNT, tp + fp), tp / np.maximum(_LEAST_COUNT, tp + fn)))


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """A mesh or a cloud of points: vertices, faces and colours of shape (batch, count, 3)."""
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    parts = [(vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)]
    parts = [(tensor, kind) for tensor, kind in parts if tensor is not None]
    components = mesh_metadata.get_components_bitmask([kind for _, kind in parts])
    values = []
    for given, kind in parts:
        tensor = creation.as_tensor(given)
        shape = tensor.shape
        metadata = mesh_metadata.create_summary_metadata(
            tag, display_name, kind, components, shape, description, json_config=config
        )
        numbers = tensor.reshape(-1).tolist()
        found = TensorProto(dtype="DT_FLOAT", float_val=numbers, tensor_shape=shape_proto(shape[:3]))
        name = mesh_metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=found, metadata=metadata))
    return Summary(value=values)
