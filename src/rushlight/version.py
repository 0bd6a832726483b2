"""``torch.version``: what this build is."""

__version__ = "2.13.0+rushlight"
cuda = hip = rocm = xpu = None
git_version = "unknown"
debug = False
