"""``torch.quantization``: tensors are not quantized in this version."""

from ....base.absent import AbsentNames as _AbsentNames

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QuantStub QuantWrapper convert default_observer default_per_channel_weight_observer default_qconfig default_weight_observer disable_observer enable_observer float_qparams_weight_only_qconfig fuse_modules get_default_qat_qconfig get_default_qconfig prepare prepare_qat quantize quantize_dynamic",
        "observer": "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QuantStub QuantWrapper convert default_observer default_per_channel_weight_observer default_qconfig default_weight_observer disable_observer enable_observer float_qparams_weight_only_qconfig fuse_modules get_default_qat_qconfig get_default_qconfig prepare prepare_qat quantize quantize_dynamic",
        "qconfig": "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QuantStub QuantWrapper convert default_observer default_per_channel_weight_observer default_qconfig default_weight_observer disable_observer enable_observer float_qparams_weight_only_qconfig fuse_modules get_default_qat_qconfig get_default_qconfig prepare prepare_qat quantize quantize_dynamic",
        "quantize_fx": "convert_fx fuse_fx prepare_fx prepare_qat_fx",
    },
    "bfloat16 (model.bfloat16(), torch.autocast) halves memory and time",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")
