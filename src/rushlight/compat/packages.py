"""The packages that Rushlight stands in for: where their modules are, their versions, their metadata and the files of the shim."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata

TORCH_VERSION = "2.13.0+rushlight"
VISION_VERSION = "0.28.0+rushlight"  # torchvision's release for torch 2.13
VERSIONS = {"torch": TORCH_VERSION, "torchvision": VISION_VERSION}

# Import name -> our packages in which its modules are looked for, in this order; the last one is what it is the face of.
PLACES = {
    "torch": ("rushlight.compat.inside", "rushlight"),
    "torchvision": ("rushlight.vision",),
    "functorch": ("rushlight._functorch",),
}
IMPORTS = {"torch": ("torch", "functorch"), "torchvision": ("torchvision",)}  # of each package

# What libraries import without asking for it, as PyTorch and torchvision bring it: pip installs it with the next package.
REQUIREMENTS = {
    "torch": ("filelock", "fsspec>=0.8.5", "jinja2", "typing-extensions>=4.10.0"),
    "torchvision": (f"torch=={TORCH_VERSION}", "numpy", "pillow>=5.3.0,!=8.3.*"),
}
SUMMARIES = {
    "torch": "Rushlight under the name of PyTorch",
    "torchvision": "Rushlight's vision room under the name of torchvision",
}
_STUB = '''"""Rushlight stands here as {name}. `rushlight shim remove` takes this file away."""

try:
    from rushlight.compat.standing import replace_stub
except ModuleNotFoundError as error:
    if error.name != "rushlight":
        raise
    raise ModuleNotFoundError(
        "No module named '{name}'\\nhint: this environment has Rushlight's stand-in for {name}, but not Rushlight: "
        "`pip install rushlight`, or `pip uninstall torch torchvision` to take the stand-in away",
        name="{name}",
    ) from None
replace_stub(__name__)
'''


def metadata(name):
    """The text of METADATA."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {VERSIONS[name]}",
        f"Summary: {SUMMARIES[name]}",
        "Requires-Python: >=3.11",
    ]
    lines += [f"Requires-Dist: {requirement}" for requirement in REQUIREMENTS[name]]
    return "\n".join(lines) + "\n"


def information(name):
    """The folder of the metadata."""
    return f"{name}-{VERSIONS[name]}.dist-info"


def files(name):
    """{path within site-packages: text} of all that the shim installs for a package."""
    folder = information(name)
    made = {f"{module}/__init__.py": _STUB.format(name=module) for module in IMPORTS[name]}
    made[f"{folder}/METADATA"] = metadata(name)
    made[f"{folder}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: rushlight\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    made[f"{folder}/INSTALLER"] = "rushlight\n"
    made[f"{folder}/top_level.txt"] = "".join(f"{module}\n" for module in sorted(IMPORTS[name]))
    record = f"{folder}/RECORD"
    made[record] = "".join(f"{path},{_fingerprint(text)}\n" for path, text in made.items()) + f"{record},,\n"
    return made


def _fingerprint(text):
    data = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(data)}"


class MemoryDistribution(importlib.metadata.Distribution):
    """A package that is there for this process only."""

    def __init__(self, name):
        self._files = {path.partition("/")[2]: text for path, text in files(name).items() if ".dist-info/" in path}

    def read_text(self, filename):
        return self._files.get(str(filename))

    def locate_file(self, path):
        raise FileNotFoundError(f"{path} is a file of a package that Rushlight stands in for in this process only")


def on_disk(name, path=None):
    """Distributions of this name that are installed in the folders of ``path``, ``sys.path`` unless given."""
    options = {"name": name} if path is None else {"name": name, "path": path}
    context = importlib.metadata.DistributionFinder.Context(**options)
    return list(importlib.metadata.MetadataPathFinder.find_distributions(context))
