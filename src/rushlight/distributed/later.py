"""Names of ``torch.distributed`` that are not there yet: programs import them and ask whether something is one; using one refuses."""

from __future__ import annotations

from ..base.absent import AbsentNames
from .placements import BY_NAME

_FSDP = """CPUOffloadPolicy FSDPModule FullOptimStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig MixedPrecisionPolicy
    OffloadPolicy OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig UnshardHandle fully_shard
    register_fsdp_forward_method"""
_TENSOR = (
    """DTensor Partial Placement Replicate Shard distribute_module distribute_tensor empty full ones rand randn zeros"""
)
_RPC = """BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions get_worker_info init_rpc is_available remote rpc_async
    rpc_sync shutdown"""

# Module below torch.distributed -> its names.
_NAMES = {
    "": """BackendConfig FileStore TCPStore ProcessGroupGloo
        AllreduceOptions BroadcastOptions ReduceOptions register_rendezvous_handler rendezvous
        record_comm shrink_group split_group""",
    "_composable": "",
    "_composable.fsdp": _FSDP,
    "_functional_collectives": "AsyncCollectiveTensor all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd permute_tensor wait_tensor",
    "_tensor": _TENSOR,
    "_tensor.device_mesh": "DeviceMesh init_device_mesh",
    "_tensor.experimental": "context_parallel implicit_replication local_map register_sharding",
    "_tools": "",
    "algorithms._checkpoint": "",
    "algorithms._checkpoint.checkpoint_wrapper": """CheckpointImpl CheckpointWrapper apply_activation_checkpointing
        checkpoint_wrapper offload_wrapper""",
    "algorithms.ddp_comm_hooks.post_localSGD_hook": "PostLocalSGDState post_localSGD_hook",
    "algorithms.model_averaging": "",
    "algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "autograd": "DistAutogradContext backward context get_gradients is_available",
    "checkpoint": "FileSystemReader FileSystemWriter async_save load load_state_dict save save_state_dict",
    "checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "checkpoint.format_utils": """BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner
        _load_state_dict dcp_to_torch_save torch_save_to_dcp""",
    "checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files consolidate_safetensors_files_on_every_rank",
    "checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "checkpoint.metadata": "Metadata",
    "checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "checkpoint.state_dict": """StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict
        set_model_state_dict set_optimizer_state_dict set_state_dict""",
    "checkpoint.state_dict_loader": "_load_state_dict load load_state_dict",
    "checkpoint.state_dict_saver": "_save_state_dict async_save save save_state_dict",
    "checkpoint.stateful": "Stateful",
    "elastic.multiprocessing": "Std start_processes",
    "elastic.multiprocessing.errors": "ChildFailedError ErrorHandler ProcessFailure get_error_handler",
    "fsdp": _FSDP,
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": "_or_policy enable_wrap wrap",
    "launcher": "",
    "launcher.api": "LaunchConfig elastic_launch launch_agent",
    "optim": "DistributedOptimizer PostLocalSGDOptimizer",
    "pipelining": "Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B SplitPoint pipe_split pipeline",
    "rpc": _RPC,
    "rpc.api": f"{_RPC} _all_gather _require_initialized",
    "tensor": _TENSOR,
    "tensor._utils": "compute_local_shape_and_global_offset",
    "tensor.device_mesh": "DeviceMesh init_device_mesh",
    "tensor.experimental": "context_parallel implicit_replication local_map register_sharding",
    "tensor.parallel": """ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput
        RowwiseParallel SequenceParallel loss_parallel parallelize_module""",
    "tensor.placement_types": "Partial Placement Replicate Shard _StridedShard",
    "utils": "_sync_module_states",
}


def is_available() -> bool:
    """Whether calls of other processes, and gradients through them, are there: False."""
    return False


LATER = AbsentNames(
    __package__,
    _NAMES,
    "process groups, collectives and DistributedDataParallel are there, over MPI",
    {**BY_NAME, is_available.__name__: is_available},
)
