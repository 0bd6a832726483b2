"""``SummaryWriter`` and ``FileWriter``: events for TensorBoard, written to files."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...base.errors import hinted
from . import embeddings, graphs, plugins, summaries
from .arrays import check, figure_to_image, make_np

__all__ = ["FileWriter", "SummaryWriter"]


def _default_bins():
    """Limits of buckets that grow by a tenth, from 1e-12 to 1e20, of both signs."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-each for each in reversed(limits)] + [0] + limits


class FileWriter:
    """Writes events into a file of a folder, in a thread of its own.

    Args:
        log_dir: the folder.
        max_queue: how many events may wait, 10 by default.
        flush_secs: how often they are written out, every 120 seconds by default.
        filename_suffix: the end of the file's name.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Write an event, of a step and a time if they are given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Write a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        """Write a graph and on what it runs."""
        graph, stats = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        run = TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(Event(tagged_run_metadata=run), None, walltime)

    def add_onnx_graph(self, graph, walltime=None):
        """Write a graph that was read from an ONNX file."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self):
        """Write out what waits."""
        self.event_writer.flush()

    def close(self):
        """Write out what waits, and close the file."""
        self.event_writer.close()

    def reopen(self):
        """Begin another file."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes what TensorBoard shows of a run: numbers, histograms, images, texts, graphs.

    Args:
        log_dir: the folder; ``runs/TIME_HOST`` and the ``comment`` by default.
        comment: the end of the folder's name.
        purge_step: after a crash, the step from which on what was written before is not shown.
        max_queue, flush_secs, filename_suffix: as of `FileWriter`.

    Methods take a ``tag``, a ``global_step`` and a ``walltime`` (now by default).

    >>> import os, tempfile
    >>> import rushlight as torch
    >>> from rushlight.utils.tensorboard import SummaryWriter
    >>> folder = tempfile.mkdtemp()
    >>> with SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
    ...     writer.add_histogram("weights", torch.ones(10), 0)
    >>> [name.startswith("events.out.tfevents") for name in os.listdir(folder)]
    [True]
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", now + "_" + socket.gethostname() + comment)
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _default_bins()
        self._projector = ProjectorConfig()

    def _get_file_writer(self):
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                log = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(step=self.purge_step, session_log=log))
                self.purge_step = None
        return self.file_writer

    def _open(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(self, summary, step=None, walltime=None):
        self._get_file_writer().add_summary(summary, step, walltime)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Hyperparameters and what they led to, in a folder of their own below."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError(hinted("hparam_dict and metric_dict should be dictionary.", "{name: value}"))
        written = plugins.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for summary in written:
                writer.file_writer.add_summary(summary, global_step)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """A number."""
        found = summaries.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(found, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Numbers of one chart, each in a folder of its own: ``{name: number}``."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            name = folder + "/" + main_tag.replace("/", "_") + "_" + tag
            if name not in self.all_writers:
                self.all_writers[name] = self._open(name)
            self.all_writers[name].add_summary(summaries.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A tensor."""
        self._add(summaries.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """The histogram of values: ``bins`` as NumPy takes them, or "tensorflow" for buckets that grow by a tenth."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summaries.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None
    ):
        """A histogram whose buckets are known."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                hinted("len(bucket_limits) != len(bucket_counts), see the document.", "a limit is a bucket's upper one")
            )
        found = summaries.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(found, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """An image: numbers from 0 to 1, or bytes; ``dataformats`` names its dimensions."""
        self._add(summaries.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """A batch of images, as one."""
        self._add(summaries.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None
    ):
        """An image with boxes (left, top, right, bottom), and labels where there is one for each."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        found = summaries.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(found, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib, or a list of them, which are closed then unless ``close`` is False."""
        dimensions = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dimensions)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Videos (count, time, channels, height, width), by the package moviepy."""
        self._add(summaries.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound of one channel: numbers from -1 to 1."""
        self._add(summaries.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text in Markdown."""
        self._add(summaries.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt):
        """The graph of an ONNX file, read by the package onnx."""
        self._get_file_writer().add_onnx_graph(graphs.load_onnx_graph(prototxt))

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The graph of one call of a model: what ran, below the modules that it ran in."""
        self._get_file_writer().add_graph(graphs.graph(model, input_to_model, verbose, use_strict_trace))

    @staticmethod
    def _encode(rawstr):
        for character in "%/\\":
            rawstr = rawstr.replace(character, f"%{ord(character):02x}")
        return rawstr

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Vectors for the projector, a row each; with what they are called, and pictures (count, channels, height, width)."""
        mat, step = make_np(mat), 0 if global_step is None else global_step
        below = f"{str(step).zfill(5)}/{self._encode(tag)}"
        folder = os.path.join(self._get_file_writer().get_logdir(), below)
        embeddings.make_folder(folder)
        if metadata is not None:
            check(
                len(mat) == len(metadata), "#labels should equal with #data points", f"{len(metadata)} and {len(mat)}"
            )
            embeddings.write_metadata(metadata, folder, metadata_header)
        if label_img is not None:
            count = label_img.shape[0]
            check(len(mat) == count, "#images should equal with #data points", f"{count} and {len(mat)}")
            embeddings.write_sprite(label_img, folder)
        message = "mat should be 2D, where mat.size(0) is the number of data points"
        check(mat.ndim == 2, message, f"its shape is {mat.shape}")
        embeddings.write_vectors(mat, folder)
        info = embeddings.embedding_info(metadata, label_img, below, step, tag)
        self._projector.embeddings.extend([info])
        embeddings.write_configuration(self._projector, self._get_file_writer().get_logdir())

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall of labels (0 or 1) and predicted probabilities, by threshold."""
        found = plugins.pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights)
        self._add(found, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """Precision and recall by threshold, where the counts are known."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        found = plugins.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(found, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """A chart of several numbers."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """A chart of a number between two others: three tags."""
        check(len(tags) == 3, f"Expected 3 tags, got {len(tags)}.", "a value, a lower and an upper bound")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        """Charts of several numbers: ``{category: {chart: ["Multiline" or "Margin", tags]}}``."""
        self._add(plugins.custom_scalars(layout))

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Meshes or clouds of points: vertices, colours (0 to 255) and faces of shape (batch, count, 3)."""
        self._add(plugins.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def flush(self):
        """Write out what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Write out what waits, and close the files; what is added later begins another one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


for _kind in (FileWriter, SummaryWriter):
    _kind.__module__ = "torch.utils.tensorboard.writer"
