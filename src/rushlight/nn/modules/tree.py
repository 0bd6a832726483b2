"""The module tree: walking it, naming its members, and reaching or replacing one by its dotted path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.errors import hinted
from ...tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from ...nn.modules.module import Module


class ModuleTree:
    """Iteration over children, modules, parameters and buffers; look-up by dotted path."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once.

        >>> import rushlight as torch
        >>> list(torch.nn.Sequential(torch.nn.ReLU()).children())
        [ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names; a module held under two names comes once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and every module below it, parents first.

        Args:
            remove_duplicate (bool): whether a shared module comes only once. Default: ``True``
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[Any]:
        """This module (under ``prefix``) and every module below it with its dotted path.

        >>> import rushlight as torch
        >>> [name for name, _ in torch.nn.Sequential(torch.nn.ReLU()).named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        pending = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if module in memo:
                continue
            if remove_duplicate:
                memo.add(module)
            yield path, module
            stem = f"{path}." if path else ""
            for name, child in reversed(module._modules.items()):
                if child is not None:
                    pending.append((stem + name, child))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with ``recurse``, of those below it; each once.

        >>> import rushlight as torch
        >>> sum(p.numel() for p in torch.nn.Linear(3, 2).parameters())
        8
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names, ``prefix`` in front.

        >>> import rushlight as torch
        >>> [name for name, _ in torch.nn.Linear(3, 2).named_parameters()]
        ['weight', 'bias']
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with ``recurse``, of those below it; each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, ``prefix`` in front."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """What ``get_members_fn(module)`` lists, over the tree, without ``None`` and (by identity) duplicates."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def get_submodule(self, target: str) -> Module:
        """The module at the dotted path ``target``; the empty path is this module.

        Raises:
            AttributeError: no such attribute on the way, or one that is not a module

        >>> import rushlight as torch
        >>> torch.nn.Sequential(torch.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise _no_attribute(module, name)
            module = getattr(module, name)
            if not isinstance(module, ModuleTree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at the dotted path ``target``, in place of what is there.

        Args:
            strict (bool): require that something is there already. Default: ``False``
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise _no_attribute(parent, name)
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleTree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path ``target``; AttributeError if there is none."""
        _, name, value = self._member_at(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path ``target``; AttributeError if there is none."""
        owner, name, value = self._member_at(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    def _member_at(self, target):
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise _no_attribute(owner, name)
        return owner, name, getattr(owner, name)


def _no_attribute(module, name):
    known = ", ".join(itertools.chain(module._parameters, module._buffers, module._modules)) or "nothing"
    return AttributeError(hinted(f"{module._get_name()} has no attribute `{name}`", f"it holds {known}"))
