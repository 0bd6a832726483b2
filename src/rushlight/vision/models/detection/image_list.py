"""Images of several sizes in one tensor."""


class ImageList:
    """A batch of padded images, and the (height, width) of each before it was padded."""

    def __init__(self, tensors, image_sizes):
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device):
        """The same on a device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
