"""Summaries of numbers, histograms, images, sounds and texts, as TensorBoard reads them."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ...base import dtypes
from ...base.errors import hinted
from .arrays import check, convert_to_HWC, make_np, video_frames

_LARGEST = 1 << 31  # bytes of a message


def for_plugin(name, content=None):
    """The metadata of what a plugin of TensorBoard shows."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def shape_proto(shape):
    """A shape in TensorBoard's words."""
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A number; in the new style as a tensor of the plugin "scalars", in double precision if asked for."""
    array = make_np(tensor).squeeze()
    message = (
        "Tensor should contain one element (0 dimensions).             Was given size: "
        f"{array.size} and {array.ndim} dimensions."
    )
    check(array.ndim == 0, message, "reduce it first, with .mean() for one")
    number = float(array)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    found = TensorProto(float_val=[number], dtype="DT_FLOAT")
    if double_precision:
        found = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    return Summary(value=[Summary.Value(tag=name, tensor=found, metadata=for_plugin("scalars"))])


def _bits(tensor):
    return [struct.unpack("i", struct.pack("f", number))[0] for number in tensor.flatten().tolist()]


def _numbers(tensor):
    return tensor.flatten().tolist()


def _parts(tensor):
    return [part for number in _numbers(tensor) for part in (number.real, number.imag)]


_TENSORS = {
    dtypes.float16: ("DT_HALF", "half_val", _bits), dtypes.bfloat16: ("DT_BFLOAT16", "half_val", _bits),
    dtypes.float32: ("DT_FLOAT", "float_val", _numbers), dtypes.float64: ("DT_DOUBLE", "double_val", _numbers),
    dtypes.int8: ("DT_INT8", "int_val", _numbers), dtypes.int16: ("DT_INT16", "int_val", _numbers),
    dtypes.int32: ("DT_INT32", "int_val", _numbers), dtypes.int64: ("DT_INT64", "int64_val", _numbers),
    dtypes.uint8: ("DT_UINT8", "uint32_val", _numbers), dtypes.bool_: ("DT_BOOL", "bool_val", _numbers),
    dtypes.complex64: ("DT_COMPLEX64", "scomplex_val", _parts), dtypes.complex128: ("DT_COMPLEX128", "dcomplex_val", _parts),
}  # fmt: skip


def tensor_proto(tag, tensor):
    """A tensor."""
    if tensor.numel() * tensor.itemsize >= _LARGEST:
        raise ValueError(
            hinted(
                "tensor is bigger than protocol buffer's hard limit of 2GB in size",
                f"its shape is {tuple(tensor.shape)}",
            )
        )
    if tensor.dtype not in _TENSORS:
        raise ValueError(hinted(f"{tag} has unsupported tensor dtype {tensor.dtype}", "convert it with .to()"))
    kind, field, convert = _TENSORS[tensor.dtype]
    found = TensorProto(dtype=kind, tensor_shape=shape_proto(tensor.shape), **{field: convert(tensor)})
    return Summary(value=[Summary.Value(tag=tag, metadata=for_plugin("tensor"), tensor=found)])


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A histogram whose buckets are known."""
    found = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return Summary(value=[Summary.Value(tag=name, histo=found)])


def histogram(name, values, bins, max_bins=None):
    """The histogram of all values."""
    found = make_histogram(make_np(values).astype(float), bins, max_bins)
    return Summary(value=[Summary.Value(tag=name, histo=found)])


def make_histogram(values, bins, max_bins=None):
    """The histogram of an array: from the bucket before the first that holds something to the last, ``max_bins`` at most."""
    if values.size == 0:
        raise ValueError(hinted("The input has no element.", "a histogram is of one value at least"))
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _joined(counts, limits, len(counts) // max_bins)
    held = np.flatnonzero(counts)
    first, last = (int(held[0]), int(held[-1]) + 1) if held.size else (len(counts), 1)
    counts = counts[first - 1 : last] if first else np.concatenate([[0], counts[:last]])
    limits = limits[first : last + 1]
    if not (counts.size and limits.size):
        raise ValueError(hinted("The histogram is empty, please file a bug report.", "no value lies within the bins"))
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits.tolist(),
        bucket=counts.tolist(),
    )


def _joined(counts, limits, size):
    """Buckets of ``size`` buckets each."""
    rest = len(counts) % size
    if rest:
        counts = np.pad(counts, (0, size - rest))
    counts = counts.reshape(-1, size).sum(-1)
    wider = np.empty(counts.size + 1, limits.dtype)
    wider[:-1], wider[-1] = limits[:-1:size], limits[-1]
    return counts, wider


def _bytes_of(array):
    """Numbers from 0 to 1, or bytes, as bytes."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """An image, or a batch of them."""
    found = make_image(_bytes_of(convert_to_HWC(make_np(tensor), dataformats)), rescale)
    return Summary(value=[Summary.Value(tag=tag, image=found)])


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """An image with boxes (left, top, right, bottom) drawn upon it."""
    pixels = _bytes_of(convert_to_HWC(make_np(tensor_image), dataformats))
    found = make_image(pixels, rescale, make_np(tensor_boxes), labels)
    return Summary(value=[Summary.Value(tag=tag, image=found)])


def make_image(tensor, rescale=1, rois=None, labels=None):
    """An array (height, width, channels) of bytes as a PNG."""
    from PIL import Image

    height, width, channels = tensor.shape
    picture = Image.fromarray(tensor)
    if rois is not None:
        for number, box in enumerate(rois):
            _draw_box(picture, box, None if labels is None else labels[number])
    size = int(width * rescale), int(height * rescale)
    written = io.BytesIO()
    picture.resize(size, Image.Resampling.LANCZOS).save(written, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=written.getvalue())


def _draw_box(picture, box, label, color="Red"):
    from PIL import ImageDraw, ImageFont

    left, top, right, bottom = box[:4]
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default()
    draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill=color)
    if label:
        begin, above, end, below = font.getbbox(label)
        width, height = end - begin, below - above
        margin = np.ceil(0.05 * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill=color)
        draw.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def video(tag, tensor, fps=4):
    """Videos (count, time, channels, height, width) as a GIF."""
    found = make_video(_bytes_of(video_frames(make_np(tensor))), fps)
    return Summary(value=[Summary.Value(tag=tag, image=found)])


def make_video(tensor, fps):
    """Frames (time, height, width, channels) as a GIF, by the package moviepy."""
    import tempfile

    try:
        from moviepy import ImageSequenceClip
    except ImportError as error:
        raise ModuleNotFoundError(
            hinted("add_video needs package moviepy", "pip install moviepy; add_images shows single frames"),
            name="moviepy",
        ) from error
    _, height, width, channels = tensor.shape
    with tempfile.NamedTemporaryFile(suffix=".gif") as file:
        ImageSequenceClip(list(tensor), fps=fps).write_gif(file.name, logger=None)
        written = file.read()
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=written)


def audio(tag, tensor, sample_rate=44100):
    """A sound of one channel, numbers from -1 to 1."""
    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    check(
        array.ndim == 1, "input tensor should be 1 dimensional.", f"its shape is {array.shape}: one channel at a time"
    )
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.data)
    found = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=written.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=found)])


def text(tag, text):
    """A text in Markdown."""
    found = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape_proto([1]))
    metadata = for_plugin("text", TextPluginData(version=0).SerializeToString())
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", metadata=metadata, tensor=found)])
