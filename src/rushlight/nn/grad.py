"""``torch.nn.grad``: the gradients of convolutions as functions of their own."""

from ..ops.conv import gradient_options
from ..ops.table import functions


def _define(count):
    """The pair of functions for ``count`` spatial dimensions."""

    def to_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        shapes, dtype = (tuple(input_size), weight._array.shape, grad_output._array.shape), weight.dtype.numpy
        options = gradient_options(count, *shapes, dtype, stride, padding, dilation, groups)
        return functions.convolution_input_gradient(grad_output, weight, list(input_size), *options, groups)

    def to_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        shapes, dtype = (input._array.shape, tuple(weight_size), grad_output._array.shape), input.dtype.numpy
        options = gradient_options(count, *shapes, dtype, stride, padding, dilation, groups)
        return functions.convolution_weight_gradient(grad_output, input, list(weight_size), *options, groups)

    for function, what, shape in ((to_input, "input", "input_size"), (to_weight, "weight", "weight_size")):
        function.__name__ = function.__qualname__ = f"conv{count}d_{what}"
        function.__doc__ = (
            f"The gradient of ``conv{count}d`` with respect to its {what} of shape ``{shape}``, given that of its output.\n\n"
            f"Other arguments as of ``nn.functional.conv{count}d``. Follows ``torch.nn.grad.conv{count}d_{what}``."
        )
    return to_input, to_weight


conv1d_input, conv1d_weight = _define(1)
conv2d_input, conv2d_weight = _define(2)
conv3d_input, conv3d_weight = _define(3)
