"""Machine code for other systems, made on this one."""

import llvmlite.binding as llvm

from rushlight.kernels.machine import launch, launch_log, system, tickets
from rushlight.kernels.machine.runtime import runtime_code

WINDOWS, ARM = "x86_64-pc-windows-msvc-elf", "aarch64-unknown-linux-gnu"  # as llvmlite has them
MACS = "arm64-apple-darwin23.4.0", "x86_64-apple-darwin23.4.0"


def code_for(triple, text, **options):
    """The object file of IR for another machine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=1, jit=True, **options)
    head = f'target triple = "{triple}"\ntarget datalayout = "{machine.target_data}"\n'
    return machine.emit_object(llvm.parse_assembly(head + text))


def shared_texts(other, machine):
    """The two texts that all programs share, on another system."""
    log = launch_log.log_code().replace(system.system().clock, other.clock)
    return runtime_code(machine, other.waiting), launch.launch_code() + log + tickets.share_code()
