"""What the builders of image models share: widths that are multiples, a model cut after some of its layers."""

from __future__ import annotations

from ... import nn


def _make_divisible(v, divisor, min_value=None):
    """The multiple of `divisor` nearest to `v`, at least `min_value` and never more than a tenth below `v`."""
    rounded = max(divisor if min_value is None else min_value, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded


def _ovewrite_named_param(kwargs, param, new_value):
    """Set an argument that the weights decide; ``ValueError`` where the caller gave another value."""
    if kwargs.setdefault(param, new_value) != new_value:
        raise ValueError(f"The parameter '{param}' expected value {new_value} but got {kwargs[param]} instead.")


class IntermediateLayerGetter(nn.ModuleDict):
    """A model's children up to the last one that is asked for; its call gives the outputs of those that are.

    `return_layers` says which, and under what names: ``{"layer1": "features"}``. The children are called one after
    the other, in the order in which they were registered.
    """

    _version = 2

    def __init__(self, model, return_layers):
        children = dict(model.named_children())
        if not set(return_layers).issubset(children):
            raise ValueError("return_layers are not present in model")
        wanted = {str(name): str(new) for name, new in return_layers.items()}
        names = list(children)
        last = max((names.index(name) for name in wanted), default=0)
        super().__init__({name: children[name] for name in names[: last + 1]})
        self.return_layers = return_layers

    def forward(self, x):
        outputs = {}
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                outputs[self.return_layers[name]] = x
        return outputs
