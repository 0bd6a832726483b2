"""``install_as_torch()``: imports of ``torch``, ``torchvision`` and ``functorch`` find Rushlight in this process."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import types

from ..base.errors import hinted
from .packages import PLACES, TORCH_VERSION, VERSIONS, MemoryDistribution, on_disk
from .renaming import PACKAGE, give_back_names, rename_loaded, renaming_spec


class _Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of PyTorch's names with Rushlight's modules of the same place, and questions for the versions."""

    def find_spec(self, name, path=None, target=None):
        head, _, rest = name.partition(".")
        if head == PACKAGE:
            return renaming_spec(name, path, target)
        if head not in PLACES:
            return None
        if not rest:
            ours = PLACES[head][-1]
            spec = importlib.util.spec_from_loader(name, self, origin=ours, is_package=True)
            spec.submodule_search_locations = list(importlib.import_module(ours).__path__)
            return spec
        for place in PLACES[head]:
            found = _module_spec(f"{place}.{rest}")
            if found is not None:
                package = found.submodule_search_locations is not None
                return importlib.util.spec_from_loader(name, self, origin=found.name, is_package=package)
        return None

    def create_module(self, spec):
        if spec.name in PLACES:
            return face(spec.name)
        module = importlib.import_module(spec.origin)
        spec.loader_state = (module.__spec__, getattr(module, "__loader__", None))
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec on our module: it gets its own back.
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__, module.__loader__ = spec.loader_state

    def get_code(self, name):
        """What ``python -m torch.some.module`` runs."""
        ours = importlib.util.find_spec(self.find_spec(name).origin)
        return ours.loader.get_code(ours.name)

    def find_distributions(self, context=None):
        """What ``importlib.metadata`` is told, unless the environment holds the same on disk."""
        wanted = getattr(context, "name", None)
        for name in VERSIONS:
            if wanted in (None, name) and not any(found.version == VERSIONS[name] for found in on_disk(name)):
                yield MemoryDistribution(name)


def _module_spec(name):
    """The spec of one of our modules; None where it or its parent does not exist."""
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if name != error.name and not name.startswith(f"{error.name}."):
            raise
        return None


def face(name):
    """A module under the name of PyTorch's, with what ours has: eager names at once, others when they are asked for.

    It is a module of its own because ``torch.__version__`` is PyTorch's and ``rushlight.__version__`` is ours.
    """
    ours = importlib.import_module(PLACES[name][-1])
    module = types.ModuleType(name, ours.__doc__)
    own = {"__name__", "__spec__", "__loader__", "__package__", "__version__", "__builtins__", "__getattr__", "__dir__"}
    module.__dict__.update((key, value) for key, value in vars(ours).items() if key not in own)
    inside = importlib.import_module(".inside", __package__).names() if name == "torch" else ()
    for asked in inside:
        vars(module).pop(asked, None)  # a room of ours has the name of another thing of PyTorch's

    def __getattr__(asked):
        if asked in inside:
            return importlib.import_module(f"{name}.{asked}")
        found = getattr(ours, asked)
        if isinstance(found, types.ModuleType) and found.__name__ == f"{ours.__name__}.{asked}":
            return importlib.import_module(f"{name}.{asked}")
        setattr(module, asked, found)
        return found

    module.__getattr__ = __getattr__
    module.__dir__ = lambda: sorted({*vars(module), *dir(ours), *inside})
    if name == "torch":
        module.torch = module  # some programs say torch.torch
    if name in VERSIONS:
        version = importlib.import_module("..torch_version", __package__).TorchVersion
        module.__version__ = version(TORCH_VERSION) if name == "torch" else VERSIONS[name]
    return module


_stand = _Stand()


def install_as_torch():
    """Let ``import torch``, ``import torch.nn.functional``, ``import torchvision`` find Rushlight in this process.

    Calling it again changes nothing. RuntimeError where the real PyTorch was imported already.
    """
    if _stand in sys.meta_path:
        return
    for name in PLACES:
        present = sys.modules.get(name)
        if present is not None:
            raise RuntimeError(
                hinted(
                    f"{name} is already imported from {getattr(present, '__file__', 'elsewhere')}",
                    "call install_as_torch() before anything imports PyTorch: two frameworks under one name would mix",
                )
            )
    sys.meta_path.insert(0, _stand)
    importlib.import_module("torch")
    rename_loaded()


def replace_stub(name):
    """What the files of ``rushlight shim install`` do: the module ``name``, which is being imported, becomes ours."""
    if _stand not in sys.meta_path:
        sys.meta_path.insert(0, _stand)
        rename_loaded()
    spec = _stand.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    stub = sys.modules[name]
    module.__file__ = stub.__file__
    sys.modules[name] = module


def uninstall():
    """Undo `install_as_torch`: the names are free again."""
    if _stand not in sys.meta_path:
        return
    sys.meta_path.remove(_stand)
    give_back_names()
    for name in [name for name in sys.modules if name.partition(".")[0] in PLACES]:
        del sys.modules[name]
