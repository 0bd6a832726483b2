"""``GradScaler``: a loss times a large number, so that small gradients do not become 0 in float16; gradients divided by it again."""

from __future__ import annotations

import inspect
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from ..autograd.modes import no_grad
from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What has been done with the gradients of an optimizer since the last `GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _number(value, dtype=dtypes.float32):
    return functions.full((), value, dtype=dtype)


def _is_finite(gradient):
    """Whether no element is infinite or NaN. One that is makes the sum so; else only the sum of huge numbers is."""
    return math.isfinite(gradient.sum().item()) or bool(gradient.isfinite().all())


def _multiply_finite(gradients, factor):
    """Multiply gradients in place; returns whether one of their elements was infinite or NaN before."""
    found = False
    for gradient in gradients:
        found = found or not _is_finite(gradient)
        if factor != 1.0:
            gradient.mul_(factor)
    return found


class GradScaler:
    """Scales losses for training in float16, and skips the steps in which gradients overflow.

    ``scaler.scale(loss).backward()`` gives gradients times the scale; ``scaler.step(optimizer)`` divides them by it and
    steps, unless one is infinite or NaN; ``scaler.update()`` multiplies the scale by ``backoff_factor`` if a step was
    skipped, and by ``growth_factor`` after ``growth_interval`` steps without.

    Args:
        device: "cpu"; "cuda", the default as in PyTorch, warns and disables it, as there is no such device.
        init_scale: the scale to begin with.
        growth_factor, backoff_factor, growth_interval: see above.
        enabled: False for a scaler that does nothing but `step`.

    Follows ``torch.amp.GradScaler``.

    >>> import rushlight as torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    >>> scaler.scale((weight * weight).sum()).backward()
    >>> weight.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer); scaler.update()
    >>> weight, scaler.get_scale()
    (Parameter containing:
    tensor([0., 0.], requires_grad=True), 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(hinted("The growth factor must be > 1.0.", f"it is {growth_factor}"))
        if backoff_factor >= 1.0:
            raise AssertionError(hinted("The backoff factor must be < 1.0.", f"it is {backoff_factor}"))
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Any = None
        self._growth_tracker: Any = None  # tensors, made when something is first scaled
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states = defaultdict(_fresh)  # id of an optimizer -> what was done, whether it overflowed

    def _begun(self, method):
        """The scale; AssertionError where nothing was scaled before ``method``."""
        if self._scale is None:
            raise AssertionError(
                hinted(
                    f"Attempted {method} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                    "outputs) earlier in the iteration.",
                    "call scaler.scale(loss).backward() instead of loss.backward()",
                )
            )
        return self._scale

    @overload
    def scale(self, outputs: Tensor) -> Tensor: ...
    @overload
    def scale(self, outputs: Iterable[Tensor]) -> Iterable[Tensor]: ...
    def scale(self, outputs: Any) -> Any:
        """A tensor, or those in an iterable, times the scale; as they are where scaling is disabled."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = _number(self._init_scale)
                self._growth_tracker = _number(self._init_growth_tracker, dtypes.int32)
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            hinted("outputs must be a Tensor or an iterable of Tensors", f"it holds a {type(outputs).__name__}")
        )

    # ------------------------------------------------------------ gradients of an optimizer

    def _unscaled(self, optimizer, factor, halves):
        """The gradients times ``factor``, in place; 1.0 by device if one was infinite or NaN, else 0.0; {} without any."""
        gradients = []
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if not isinstance(parameter, Tensor):
                        raise AssertionError(f"expected param to be torch.Tensor, got {type(parameter).__name__}")
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient.dtype is dtypes.float16 and not halves:
                        raise ValueError(
                            hinted(
                                "Attempting to unscale FP16 gradients.",
                                "parameters stay in float32 under autocast: leave model.half() away",
                            )
                        )
                    gradients.append(gradient)
            if not gradients:
                return {}
            return {gradients[0].device: _number(float(_multiply_finite(gradients, factor)))}

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the optimizer's gradients by the scale, to look at or clip them before `step`; once before each `update`."""
        if not self._enabled:
            return
        scale = self._begun("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                hinted(
                    "unscale_() has already been called on this optimizer since the last update().",
                    "call scaler.update() at the end of each iteration",
                )
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                hinted("unscale_() is being called after step().", "call it between backward() and step()")
            )
        factor = scale.double().reciprocal().float().item()
        state["found_inf_per_device"] = self._unscaled(optimizer, factor, halves=False)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer):
        """Look for infinite gradients and leave them scaled, for an optimizer that unscales them itself."""
        self._begun("_check_inf_per_device")
        found = self._unscaled(optimizer, 1.0, halves=True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients; None, without a step, if one is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                hinted(
                    "Closure use is not currently supported if GradScaler is enabled.",
                    "compute the loss before step()",
                )
            )
        self._begun("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                hinted(
                    "step() has already been called since the last update().",
                    "call scaler.update() at the end of each iteration",
                )
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_of_its_own(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError(
                hinted(
                    "No inf checks were recorded for this optimizer.",
                    "none of its parameters has a gradient: call backward() before",
                )
            )
        overflowed = any(found.item() for found in state["found_inf_per_device"].values())
        result = None if overflowed else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_its_own(self, optimizer, state, args, kwargs):
        """Step an optimizer that unscales by itself: it finds the scale in attributes, or gets the scaler."""
        takes_scaler = "grad_scaler" in inspect.signature(optimizer.step).parameters
        if takes_scaler:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future "
                "GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer "
                "use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            kwargs["grad_scaler"] = self
        else:
            if state["stage"] is OptState.READY:
                self._check_inf_per_device(optimizer)
            optimizer.found_inf = sum(state["found_inf_per_device"].values())
            own = getattr(optimizer, "grad_scale", None)
            if state["stage"] is not OptState.UNSCALED:
                own = self._scale * (1 if own is None else own)
            optimizer.grad_scale = own
        result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        if not takes_scaler:
            del optimizer.grad_scale, optimizer.found_inf
        return result

    # ------------------------------------------------------------ the scale

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to what happened since the last call, or set it; at the end of each iteration."""
        if not self._enabled:
            return
        scale = self._begun("update")
        if new_scale is None:
            states = self._per_optimizer_states.values()
            found = [each for state in states for each in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError(
                    hinted("No inf checks were recorded prior to update.", "call scaler.step(optimizer) before")
                )
            self._adapt(any(each.item() for each in found))
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        else:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale)
        self._per_optimizer_states = defaultdict(_fresh)

    def _adapt(self, overflowed):
        """Shrink the scale, or count a step, and after enough of them let the scale grow, unless it would be infinite."""
        if overflowed:
            self._scale.fill_(self._scale.item() * self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        steps = self._growth_tracker.item() + 1
        if steps == self._growth_interval:
            grown = (self._scale.double() * self._growth_factor).float()
            if math.isfinite(grown.item()):
                self._scale.copy_(grown)
            steps = 0
        self._growth_tracker.fill_(steps)

    def get_scale(self) -> float:
        """The scale, a float; 1.0 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by to grow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what `get_growth_factor` gives."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what `get_backoff_factor` gives."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set what `get_growth_interval` gives."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    # ------------------------------------------------------------ its state

    def state_dict(self) -> dict[str, Any]:
        """The scale, how it changes, and the steps since it did: plain numbers; {} where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave; ignored where scaling is disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                hinted(
                    "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
                    "save the state of an enabled scaler, or pass enabled=False here",
                )
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        found = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    hinted(
                        "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                        "scaler.update().",
                        "call scaler.update() before",
                    )
                )
            found["_init_scale"], found["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            found["_scale"] = found["_growth_tracker"] = None
        return found
