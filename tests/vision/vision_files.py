"""Dataset files for the tests, in the formats of the real ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import struct
import tarfile

import numpy as np


def idx_bytes(array):
    """A uint8 array in the IDX format."""
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


def mnist_arrays(count=20, seed=0):
    """Random images and labels of the two parts: {"train": (images, labels), "t10k": (images, labels)}."""
    draw = np.random.default_rng(seed)
    return {
        part: (draw.integers(0, 256, (size, 28, 28), np.uint8), draw.integers(0, 10, size, np.uint8))
        for part, size in (("train", count), ("t10k", count // 2))
    }


def mnist_files(arrays):
    """The four raw files of an MNIST-like dataset: {name: bytes}."""
    files = {}
    for part, (images, labels) in arrays.items():
        files[f"{part}-images-idx3-ubyte"] = idx_bytes(images)
        files[f"{part}-labels-idx1-ubyte"] = idx_bytes(labels)
    return files


def write_mnist(root, name="MNIST", count=20):
    """An MNIST-like dataset below `root`; returns its arrays."""
    arrays = mnist_arrays(count)
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    for file, data in mnist_files(arrays).items():
        (folder / file).write_bytes(data)
    return arrays


def compressed(files):
    """The files with .gz, and torchvision's list of resources for them: ({name.gz: bytes}, [(name.gz, md5)])."""
    archives = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in files.items()}
    return archives, [(name, hashlib.md5(data).hexdigest()) for name, data in archives.items()]


def cifar_batch(images, labels, key, python2):
    """One pickled CIFAR batch; with `python2`, as Python 2 and NumPy 1 wrote the published files."""
    rows = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), 3072)
    if not python2:
        return pickle.dumps({key: labels, "data": rows, "batch_label": "a", "filenames": ["x.png"] * len(labels)})
    return Python2Pickle().dump({"batch_label": "training batch 1 of 5", key: labels, "data": rows, "filenames": ["x"]})


class Python2Pickle:
    """Writes protocol 2 as Python 2's cPickle did: byte strings for text, NumPy's old module names."""

    def dump(self, value):
        return b"\x80\x02" + self.item(value) + b"."

    def string(self, data):
        if len(data) < 256:
            return b"U" + bytes([len(data)]) + data
        return b"T" + struct.pack("<I", len(data)) + data

    def item(self, value):
        if isinstance(value, dict):
            return b"}(" + b"".join(self.item(key) + self.item(part) for key, part in value.items()) + b"u"
        if isinstance(value, list):
            return b"](" + b"".join(self.item(part) for part in value) + b"e"
        if isinstance(value, str):
            return self.string(value.encode("latin1"))
        if isinstance(value, int):
            return b"J" + struct.pack("<i", value)
        return self.array(value)

    def array(self, value):
        dtype = (
            b"cnumpy\ndtype\n("
            + self.string(b"u1")
            + b"K\x00K\x01tR(K\x03"
            + self.string(b"|")
            + b"NNNJ\xff\xff\xff\xff"
        )
        dtype += b"J\xff\xff\xff\xffK\x00tb"
        shape = b"".join(self.item(length) for length in value.shape)
        made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + self.string(b"b") + b"tR"
        return made + b"(K\x01(" + shape + b"t" + dtype + b"\x89" + self.string(value.tobytes()) + b"tb"


def write_cifar(root, kind, count=4, python2=True):
    """A CIFAR-like dataset below `root` for a subclass of `kind`; returns (subclass, images, labels) of the train part.

    The subclass has the checksums of the files that were written.
    """
    draw = np.random.default_rng(1)
    key = "labels" if kind.base_folder.startswith("cifar-10-") else "fine_labels"
    files, images, labels = {}, [], []
    for name, _ in kind.train_list + kind.test_list:
        pixels, found = draw.integers(0, 256, (count, 32, 32, 3), np.uint8), draw.integers(0, 10, count).tolist()
        files[name] = cifar_batch(pixels, found, key, python2)
        if name in [train for train, _ in kind.train_list]:
            images.append(pixels)
            labels += found
    meta = {kind.meta["key"]: ["airplane", "automobile", "bird"]}
    files[kind.meta["filename"]] = Python2Pickle().dump(meta) if python2 else pickle.dumps(meta)
    folder = root / kind.base_folder
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)

    def sums(listed):
        return [[name, hashlib.md5(files[name]).hexdigest()] for name, _ in listed]

    fields = {
        "train_list": sums(kind.train_list),
        "test_list": sums(kind.test_list),
        "meta": kind.meta | {"md5": hashlib.md5(files[kind.meta["filename"]]).hexdigest()},
    }
    return type(kind.__name__, (kind,), fields), np.concatenate(images), labels


def tar_bytes(files, prefix=""):
    """A .tar.gz of {name: bytes}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
