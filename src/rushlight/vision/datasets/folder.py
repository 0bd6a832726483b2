"""DatasetFolder and ImageFolder: a folder for each class, a file for each sample."""

from __future__ import annotations

import os

from rushlight.base.errors import hinted

from ..images import pillow
from .vision import VisionDataset, transformed

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename, extensions):
    """Whether `filename` ends in one of `extensions` (a string or a tuple), in any case.

    >>> from rushlight.vision.datasets.folder import has_file_allowed_extension
    >>> has_file_allowed_extension("cat.JPG", (".jpg", ".png"))
    True
    """
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename):
    """Whether `filename` ends as image files do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory):
    """(sorted names of the folders in `directory`, their numbers); ``FileNotFoundError`` when there are none."""
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(directory, class_to_idx=None, extensions=None, is_valid_file=None, allow_empty=False):
    """The list of (path, class number) of the samples in the class folders of `directory`, sorted.

    A file counts when it has one of `extensions`, or when ``is_valid_file(path)`` says so: give exactly one of them.
    ``FileNotFoundError`` for a class without samples, unless `allow_empty`.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    if is_valid_file is None:

        def is_valid_file(path):
            return has_file_allowed_extension(path, extensions)

    samples, found = [], set()
    for name in sorted(class_to_idx):
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            for path in (os.path.join(folder, file) for file in sorted(files)):
                if is_valid_file(path):
                    samples.append((path, class_to_idx[name]))
                    found.add(name)
    empty = sorted(set(class_to_idx) - found)
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            listed = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {listed}"
        raise FileNotFoundError(hinted(message, f"looked in {os.path.abspath(directory)}; allow_empty=True accepts it"))
    return samples


def pil_loader(path):
    """The image file at `path` as an RGB PIL image; needs Pillow."""
    with open(path, "rb") as file:
        return pillow("reading image files").open(file).convert("RGB")


def default_loader(path):
    """`pil_loader`."""
    return pil_loader(path)


class DatasetFolder(VisionDataset):
    """Samples in class folders: ``root/class/.../file``.

    `loader` turns a path into a sample; a file counts when it has one of `extensions` or when ``is_valid_file(path)``
    (give one of them). ``classes`` are the folders' names, sorted; ``class_to_idx`` their numbers; ``samples`` the
    (path, class number) pairs; ``targets`` the class numbers.
    """

    def __init__(self, root, loader, extensions=None, transform=None, target_transform=None, is_valid_file=None,
                 allow_empty=False):  # fmt: skip
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions=extensions, is_valid_file=is_valid_file, allow_empty=allow_empty
        )
        self.loader = loader
        self.extensions = extensions
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False):
        """The (path, class number) pairs; a subclass may look for samples in its own way."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory):
        """(class names, their numbers); a subclass may choose classes in its own way."""
        return find_classes(directory)

    def __getitem__(self, index):
        """(sample, class number), each transformed."""
        path, target = self.samples[index]
        sample = self.loader(path)
        return transformed(sample, target, self.transform, self.target_transform)

    def __len__(self):
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in class folders, read with Pillow as RGB; ``imgs`` is another name of ``samples``. See DatasetFolder."""

    def __init__(self, root, transform=None, target_transform=None, loader=default_loader, is_valid_file=None,
                 allow_empty=False):  # fmt: skip
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform=transform,
            target_transform=target_transform,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.imgs = self.samples
