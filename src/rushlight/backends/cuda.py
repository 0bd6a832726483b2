"""CUDA's switches: accepted, without effect on the CPU."""

import contextlib as _contextlib

from ..base.errors import hinted as _hinted
from ..compat import absent as _absent

_M = "torch.backends.cuda"


def is_built():
    """Whether this build supports CUDA: False."""
    return False


class _Matmul:
    """Precision switches of CUDA's products."""

    def __init__(self):
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"


matmul = _Matmul()
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction_math": False}


def _switch(kind, name, asked, reported):
    """The pair of functions that set and tell whether attention may use one of CUDA's kernels."""

    def enable(enabled):
        if not isinstance(enabled, bool):
            raise RuntimeError(
                _hinted(f"{reported}{type(enabled).__name__}", "it says which of CUDA's attention kernels may be used")
            )
        _allowed[kind] = enabled

    def is_enabled():
        return _allowed[kind]

    enable.__name__ = enable.__qualname__ = name
    enable.__doc__ = "Let CUDA's attention use a kernel, or not: kept, without effect on the CPU."
    is_enabled.__name__ = is_enabled.__qualname__ = asked
    is_enabled.__doc__ = "Whether CUDA's attention may use the kernel."
    globals().update({name: enable, asked: is_enabled})


_SAYS = "set_sdp_use_math expects a bool, but got "
_switch("flash", "enable_flash_sdp", "flash_sdp_enabled", _SAYS)
_switch("mem_efficient", "enable_mem_efficient_sdp", "mem_efficient_sdp_enabled", _SAYS)
_switch("math", "enable_math_sdp", "math_sdp_enabled", _SAYS)
_switch("cudnn", "enable_cudnn_sdp", "cudnn_sdp_enabled", "set_sdp_use_cudnn expects a bool, but got %s")
_switch("fp16_bf16_reduction_math", "allow_fp16_bf16_reduction_math_sdp", "fp16_bf16_reduction_math_sdp_allowed", _SAYS)
_absent.define(
    globals(),
    {
        "is_flash_attention_available(); is_ck_sdpa_available(); can_use_flash_attention(params, debug=False); "
        "can_use_efficient_attention(params, debug=False); can_use_cudnn_attention(params, debug=False)": lambda: False,
        "cublas_workspace_size(size=None); blas_workspace_size(size=None, backend=None)": _absent.missing(
            "_cuda_getCublasWorkspaceSize", _M
        ),
        "cublaslt_workspace_size(size=None)": _absent.missing("_cuda_getCublasLtWorkspaceSize", _M),
    },
)


class SDPAParams:
    """The operands of an attention that the functions ``can_use_...`` judge."""

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


@_contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A block in which CUDA's attention may use these kernels: kept, without effect on the CPU."""
    before = dict(_allowed)
    _allowed.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _allowed.update(before)
