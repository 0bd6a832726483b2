"""Names of ``torch.distributed`` that are not there yet: programs import them and ask whether something is one; using one refuses."""

from __future__ import annotations

import functools

from ..base.absent import AbsentNames
from .placements import BY_NAME

_FSDP = "LocalOptimStateDictConfig LocalStateDictConfig OptimStateKeyType"
_RPC = """BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions get_worker_info init_rpc is_available remote rpc_async
    rpc_sync shutdown WorkerInfo"""

# Module below torch.distributed -> its names.
_NAMES = {
    "": """BackendConfig ProcessGroupGloo
        AllreduceOptions BroadcastOptions ReduceOptions register_rendezvous_handler rendezvous
        record_comm shrink_group split_group""",
    "_functional_collectives": "AsyncCollectiveTensor all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd permute_tensor wait_tensor",
    "_tools": "",
    "algorithms._checkpoint": "",
    "algorithms._checkpoint.checkpoint_wrapper": """CheckpointImpl CheckpointWrapper apply_activation_checkpointing
        checkpoint_wrapper offload_wrapper""",
    "algorithms.ddp_comm_hooks.post_localSGD_hook": "PostLocalSGDState post_localSGD_hook",
    "algorithms.model_averaging": "",
    "algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "autograd": "DistAutogradContext backward context get_gradients is_available",
    "checkpoint.format_utils": "BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner _load_state_dict",
    "checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files consolidate_safetensors_files_on_every_rank",
    "checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "elastic.multiprocessing": "Std start_processes",
    "elastic.multiprocessing.errors": "ChildFailedError ErrorHandler ProcessFailure get_error_handler",
    "fsdp": _FSDP,
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": "_or_policy enable_wrap wrap",
    "launcher": "",
    "launcher.api": "LaunchConfig elastic_launch launch_agent",
    "nn": "RemoteModule",
    "optim": "DistributedOptimizer PostLocalSGDOptimizer",
    "pipelining": "ScheduleDualPipeV ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble",
    "rpc": _RPC,
    "rpc.api": f"{_RPC} _all_gather _require_initialized",
    "rpc.functions": "async_execution",
    "tensor.debug": "CommDebugMode visualize_sharding",
    "tensor.experimental": "context_parallel local_map register_sharding",
    "utils": "_sync_module_states",
}


def is_available() -> bool:
    """Whether calls of other processes, and gradients through them, are there: False."""
    return False


def async_execution(fn):
    """Mark a function that other processes call and that returns a future of what they get; a decorator."""

    @functools.wraps(fn)
    def marked(*args, **kwargs):
        return fn(*args, **kwargs)

    marked._wrapped_async_rpc_function = fn
    return marked


LATER = AbsentNames(
    __package__,
    _NAMES,
    "process groups, collectives and DistributedDataParallel are there, over MPI",
    {**BY_NAME, is_available.__name__: is_available, async_execution.__name__: async_execution},
)
