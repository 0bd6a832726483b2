"""What leaves, results and modules are called: from the arguments, from a module, from the caller's variables."""

from __future__ import annotations

from rushlight.autograd.names import is_module, is_tensor, modules_in_scope, names_in_scope
from rushlight.base.user_code import user_frames


class Owner:
    """A module that holds parameters, for grouping: the names and classes of the modules around it, outermost first."""

    __slots__ = ("classes", "path")

    def __init__(self, path, classes):
        self.path, self.classes = path, classes


class Names:
    """Names by the identity of what bears them.

    ``tensors`` are names of tensors, ``parameters`` the identities of those that a module calls its parameters,
    ``owners`` the `Owner` of each parameter, ``results`` are (node, output, name) of variables on the way.
    """

    def __init__(self, module, given):
        self.results = list(results_in_scope())  # first: the search for names lets go of what it looked at
        self.tensors, self.parameters, self.owners = names_in_scope(), None, {}
        if module is None:
            for name, each in modules_in_scope():
                self.own(name, each)
        elif is_module(module):
            self.tensors.update((id(tensor), name) for name, tensor in module.named_parameters())
            self.parameters = {id(tensor) for tensor in module.parameters()}
            self.own("", module)
        else:
            self.tensors.update((id(tensor), name) for name, tensor in module.items())
            self.parameters = {id(tensor) for tensor in module.values()}
        for name, tensor in (given or {}).items():
            self.tensors[id(tensor)] = name
            self.results[:0] = _edges_of(name, tensor)

    def own(self, name, module):
        """Note who holds each parameter of `module`, which the user calls `name`."""
        classes = {}
        for inner, each in module.named_modules():
            classes[inner] = type(each).__name__
            parts = inner.split(".") if inner else []
            path = ["", *(".".join(parts[: count + 1]) for count in range(len(parts)))]
            owner = Owner(
                tuple(f"{name}.{part}".strip(".") for part in path), tuple(classes.get(part, "") for part in path)
            )
            for parameter in each.parameters(recurse=False):
                self.owners.setdefault(id(parameter), owner)

    def is_parameter(self, variable):
        """Whether a leaf is drawn as a parameter: one of the given ones, or else any nn.Parameter."""
        if self.parameters is None:
            return type(variable).__name__ == "Parameter"
        return id(variable) in self.parameters


def results_in_scope():
    """(node, output, name) of the tensors in variables of the innermost function."""
    frame = next(user_frames(), None)
    for name, value in () if frame is None else frame.f_locals.items():
        if is_tensor(value) and name.isidentifier() and not name.startswith("_"):
            yield from _edges_of(name, value)


def _edges_of(name, tensor):
    """(node, output, name) of a tensor that an operation made; of a view, as it was made: nothing is worked out here."""
    edge = getattr(tensor._edge, "edge", tensor._edge)
    if edge.__class__ is tuple:
        yield (*edge, name)
