"""Files of the projector: vectors, what they are called, pictures of them."""

from __future__ import annotations

import io
import math

import numpy as np
from google.protobuf import text_format
from tensorboard.compat import tf
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from .arrays import check, make_grid, make_np


def join(folder, name):
    """The path of a file in a folder of whatever file system: TensorFlow's stub has no function for it."""
    known = getattr(tf.io.gfile, "join", None)
    return known(folder, name) if known else tf.io.gfile.get_filesystem(folder).join(folder, name)


def write_file(folder, name, content):
    """Write bytes into a folder, local or of a system that TensorBoard knows."""
    with tf.io.gfile.GFile(join(folder, name), "wb") as file:
        file.write(content)


def make_folder(path):
    """Make a folder; a warning where it is there, PyTorch's error where it is a file."""
    files = tf.io.gfile
    if not files.exists(path):
        files.makedirs(path)
    elif files.isdir(path):
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    else:
        raise NotADirectoryError(f"Path: `{path}` exists, but is a file. Cannot proceed.")


def write_metadata(metadata, folder, header=None):
    """A line for each vector; with a ``header``, columns of these names."""
    lines = metadata
    if header:
        message = "len of header must be equal to the number of columns in metadata"
        check(len(header) == len(metadata[0]), message, f"{len(header)} names, {len(metadata[0])} columns")
        lines = ["\t".join(map(str, row)) for row in [header, *metadata]]
    write_file(folder, "metadata.tsv", ("\n".join(map(str, lines)) + "\n").encode())


def write_sprite(images, folder):
    """All images (count, channels, height, width) as one square picture."""
    from PIL import Image

    rows = math.ceil(len(images) ** 0.5)
    arranged = make_grid(make_np(images), ncols=rows).transpose(1, 2, 0)
    square = np.zeros((arranged.shape[1], arranged.shape[1], 3))
    square[: len(arranged)] = arranged
    written = io.BytesIO()
    Image.fromarray(np.uint8((square * 255).clip(0, 255))).save(written, format="PNG")
    write_file(folder, "sprite.png", written.getvalue())


def write_vectors(vectors, folder):
    """A line of numbers for each vector."""
    lines = ["\t".join(str(number.item()) for number in vector) + "\n" for vector in vectors]
    write_file(folder, "tensors.tsv", "".join(lines).encode())


def embedding_info(metadata, images, folder, step, tag):
    """What the projector's configuration says of one set of vectors."""
    info = EmbeddingInfo(tensor_name=f"{tag}:{str(step).zfill(5)}", tensor_path=join(folder, "tensors.tsv"))
    if metadata is not None:
        info.metadata_path = join(folder, "metadata.tsv")
    if images is not None:
        info.sprite.image_path = join(folder, "sprite.png")
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
    return info


def write_configuration(configuration, folder):
    """Write the projector's configuration."""
    write_file(folder, "projector_config.pbtxt", text_format.MessageToString(configuration).encode())
