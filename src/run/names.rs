//! What each event of the host means, by its name: one table over all client versions.
//!
//! Names are those of the TraceMes in openxla/xla, jax and tensorflow at the versions beside them (jaxlib's unless
//! said otherwise). A new client version is a new row. Names that stand in no row are kept as plain host events.

/// What an event is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Any other host event: the kernel launches of CUDA captures are among them, under the kernels' names.
    Other,
    /// A frame of the Python tracer, `$file.py:12 function`.
    Python,
    /// A frame of the Python tracer inside JAX, which says less than the frame that called it.
    PythonOfJax,
    /// `MemoryAllocation`.
    Allocation,
    /// `MemoryDeallocation`.
    Deallocation,
    /// One execution of one module on one device.
    Execution,
    /// A call of an executable, above its executions; carries flow ids, or the module's name in brackets.
    Call,
    /// Inside an execution on a thread of its own: carries the flow id of its call.
    Enqueue,
    /// The part of an execution that a client runs on another thread.
    Body,
    /// Taking a slot among the executions in flight.
    InFlight,
    /// Where outputs and temp of an execution are allocated.
    Build,
    /// The launch itself: the allocations of the plan were had.
    Launch,
    /// Handing out the outputs of an execution, which comes after its launch.
    Returned,
    /// An allocator waits for memory to come back.
    Retry,
    /// An allocator maps more memory.
    PoolGrowth,
    /// `PjitFunction(f)` and its like.
    Jit,
    /// A transfer from the host.
    Transfer,
    /// Allocation of outputs outside a known execution.
    Outputs,
    /// Compilation.
    Compile,
    /// Trying kernels out during compilation.
    Autotune,
    /// One operation of TensorFlow's eager runtime.
    OpRun,
    /// Work handed to a thread pool.
    Record,
    /// A thread pool takes up such work.
    StartRegion,
    /// Machinery that allocates for whoever called it.
    Plumbing,
}

enum Match {
    Exact,
    Prefix,
    Suffix,
}
use Match::{Exact, Prefix, Suffix};

struct Row {
    how: Match,
    text: &'static str,
    class: Class,
}

const fn row(how: Match, text: &'static str, class: Class) -> Row {
    Row { how, text, class }
}

/// The table. Names are compared without a device prefix (`[0] `) and without arguments (` (jit_f)`, ` [a=1]`).
const ROWS: &[Row] = &[
    // tsl/framework/bfc_allocator.cc, cpu_allocator_impl.cc, libtpu: all versions.
    row(Exact, "MemoryAllocation", Class::Allocation),
    row(Exact, "MemoryDeallocation", Class::Deallocation),
    // ..0.9.0, GPU: pjrt_stream_executor_client.cc.
    row(Exact, "PjRtStreamExecutorLoadedExecutable::ExecuteHelper", Class::Execution),
    row(Exact, "PjRtStreamExecutorLoadedExecutable::Execute", Class::Call),
    row(Exact, "PjRtStreamExecutorLoadedExecutable::EnqueueExecution", Class::Enqueue),
    // ..0.4.14: the class had no `Loaded`.
    row(Exact, "PjRtStreamExecutorExecutable::ExecuteHelper", Class::Execution),
    row(Exact, "PjRtStreamExecutorExecutable::Execute", Class::Call),
    row(Exact, "PjRtStreamExecutorExecutable::EnqueueExecution", Class::Enqueue),
    // 0.9.2.. GPU, 0.8.2.. TPU and CPU: common_pjrt_client.cc.
    row(Exact, "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice", Class::Execution),
    row(Exact, "CommonPjRtLoadedExecutable::Execute", Class::Call),
    row(Exact, "CommonPjRtLoadedExecutable::ExecutePortable", Class::Call),
    row(Exact, "CommonPjRtLoadedExecutable::ExecuteSharded", Class::Call),
    row(Exact, "PjRtStreamExecutorRawLoadedExecutable::Execute", Class::Body),
    // 0.5.3..0.10.0, GPU, off by default: pjrt/gpu/tfrt.
    row(Exact, "TfrtGpuExecutable::ExecuteHelper", Class::Execution),
    row(Exact, "TfrtGpuExecutable::Execute", Class::Call),
    row(Exact, "execute_fn", Class::Body),
    // TPU, libtpu of 2025. What is launched on several devices at once has no such span, but `Scheduled …::Execute` on
    // threads of the runtime; the devices' own lines count it (`Run::device_runs`).
    row(Exact, "TfrtTpuLoadedExecutable::ExecuteHelperOnSingleDevice", Class::Execution),
    row(Exact, "TfrtTpuLoadedExecutable::Execute", Class::Call),
    row(Exact, "TfrtTpuLoadedExecutable::ExecuteLaunch", Class::Launch),
    row(Exact, "AllocateOutputBufferWithInputReuse", Class::Outputs),
    row(Exact, "AllocateOutputBuffersWithInputReuse", Class::Outputs),
    row(Exact, "Arena Allocation", Class::Outputs),
    row(Exact, "DeferredTpuAllocator::Allocate", Class::Plumbing),
    row(Exact, "AllocateRawBuffer", Class::Plumbing),
    row(Exact, "AllocateDestinationBuffer", Class::Plumbing),
    // CPU: ..0.6.0, 0.6.2..0.9.0, then the common names.
    row(Exact, "TfrtCpuExecutable::ExecuteHelper", Class::Execution),
    row(Exact, "TfrtCpuExecutable::Execute", Class::Call),
    row(Exact, "PjRtCpuExecutable::ExecuteHelper", Class::Execution),
    row(Exact, "PjRtCpuExecutable::Execute", Class::Call),
    // Plugins, 0.4.30..: pjrt_c_api_wrapper_impl.cc.
    row(Exact, "PJRT_LoadedExecutable_Execute", Class::Call),
    // Inside a GPU execution, all versions.
    row(Exact, "ComputeSemaphoreAcquire", Class::InFlight),
    row(Exact, "Build buffer allocations", Class::Build),
    row(Suffix, ":XLA GPU module", Class::Launch),
    row(Exact, "MakeOutputBuffers", Class::Returned),
    row(Exact, "CommonPjRtClient::CreateOutputs", Class::Returned),
    // Allocators: allocator_retry.cc 0.11.., device_mem_allocator.h, stream_executor_allocator.cc 0.5.0..
    row(Exact, "AllocatorRetry::AllocateRaw", Class::Retry),
    row(Exact, "DeviceMemAllocator::Alloc", Class::PoolGrowth),
    row(Exact, "StreamExecutorAllocator::Alloc", Class::PoolGrowth),
    row(Exact, "GpuVirtualMemAllocator::Alloc", Class::PoolGrowth), // 0.4.25
    row(Exact, "CPUSubAllocator::Alloc", Class::PoolGrowth),
    // Dispatch: jaxlib/pjit.cc, pmap_lib.cc; 0.3.25: the older two.
    row(Prefix, "PjitFunction(", Class::Jit),
    row(Prefix, "PmapFunction(", Class::Jit),
    row(Prefix, "JaxPjitFunction(", Class::Jit),
    row(Prefix, "JaxCompiledFunction(", Class::Jit),
    // Transfers from the host: ..0.7.2, 0.7.2..0.10.2, 0.11.., TPU, CPU, Python.
    row(Exact, "PjRtStreamExecutorClient::BufferFromHostBuffer", Class::Transfer),
    row(Exact, "PjRtStreamExecutorClient::BufferFromHostLiteral", Class::Transfer),
    row(Exact, "PjRtStreamExecutorClient::LinearizeHostBufferInto", Class::Transfer),
    row(Exact, "CommonPjRtClient::LinearizeIntoImpl", Class::Transfer),
    row(Prefix, "TfrtGpuClient::BufferFromHost", Class::Transfer),
    row(Prefix, "TfrtTpuClient::BufferFromHost", Class::Transfer),
    row(Prefix, "TfrtCpuClient::BufferFromHost", Class::Transfer),
    row(Exact, "DevicePut", Class::Transfer),
    row(Exact, "DevicePutWithSharding", Class::Transfer),
    row(Exact, "batched_copy_array_to_devices_with_sharding", Class::Transfer),
    row(Exact, "cpp_pjit_shard_arg_fallback", Class::Transfer),
    row(Exact, "shard_args", Class::Transfer),
    row(Exact, "EagerCopyToDevice", Class::Transfer), // TensorFlow
    // Compilation and its trials of kernels.
    row(Prefix, "backend_compile", Class::Compile),
    row(Prefix, "PJRT_Client_Compile", Class::Compile),
    row(Suffix, "Client::Compile", Class::Compile),
    row(Suffix, "Compiler::Compile", Class::Compile),
    row(Suffix, "Client::LoadInternal", Class::Compile),
    row(Suffix, "::CompileInternal", Class::Compile),
    row(Prefix, "XlaCompile", Class::Compile),
    row(Prefix, "GpuCompiler::", Class::Compile),
    row(Prefix, "CopyProgramsToSharedMemory", Class::Compile),
    row(Prefix, "Autotun", Class::Autotune),
    row(Prefix, "GemmAlgorithmPicker", Class::Autotune),
    row(Prefix, "ConvAlgorithmPicker", Class::Autotune),
    row(Prefix, "GpuConvAlgorithmPicker", Class::Autotune),
    row(Prefix, "GemmFusionAutotuner", Class::Autotune),
    row(Prefix, "TritonAutotuner", Class::Autotune),
    // TensorFlow's eager runtime.
    row(Exact, "KernelAndDeviceFunc::Run", Class::OpRun),
    row(Exact, "KernelAndDeviceOp::Run", Class::OpRun),
    // tsl/profiler/backends/cpu/threadpool_listener.cc: work of a thread pool, tied by flow ids.
    row(Exact, "ThreadpoolListener::Record", Class::Record),
    row(Exact, "ThreadpoolListener::StartRegion", Class::StartRegion),
];

/// Files of JAX itself, by their base names in `$file.py:12 function`: the frame of interest is the one that called
/// into them. A user's file of such a name is passed over too; then the next frame outwards is named.
const FILES_OF_JAX: &[&str] = &[
    "api.py",
    "api_util.py",
    "array.py",
    "array_methods.py",
    "basearray.py",
    "batching.py",
    "compiler.py",
    "config.py",
    "contextlib.py",
    "core.py",
    "custom_derivatives.py",
    "device_put.py",
    "dispatch.py",
    "dtypes.py",
    "functools.py",
    "indexing.py",
    "lax.py",
    "lax_numpy.py",
    "linear_util.py",
    "mlir.py",
    "monitoring.py",
    "partial_eval.py",
    "pjit.py",
    "prng.py",
    "profiler.py",
    "pxla.py",
    "random.py",
    "reductions.py",
    "sharding_impls.py",
    "stages.py",
    "threading.py",
    "traceback_util.py",
    "tree_util.py",
    "ufunc_api.py",
    "ufuncs.py",
    "util.py",
    "weakref.py",
    "xla_bridge.py",
];

/// A name taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<'a> {
    /// What the event is.
    pub class: Class,
    /// What the name says in brackets or before its suffix: a module or a function.
    pub argument: Option<&'a str>,
}

/// Takes a name apart.
#[must_use]
pub fn classify(name: &str) -> Named<'_> {
    if let Some(frame) = name.strip_prefix('$') {
        let path = frame.split(':').next().unwrap_or("");
        let file = path.rsplit('/').next().unwrap_or(path);
        let class =
            if FILES_OF_JAX.binary_search(&file).is_ok() { Class::PythonOfJax } else { Class::Python };
        return Named { class, argument: None };
    }
    let whole = without_device(name);
    let (base, argument) = split_arguments(whole);
    for row in ROWS {
        let found = match row.how {
            Exact => base == row.text,
            Prefix => whole.starts_with(row.text),
            Suffix => base.ends_with(row.text),
        };
        if !found {
            continue;
        }
        let argument = match row.class {
            Class::Launch => base.strip_suffix(":XLA GPU module").filter(|m| !m.is_empty()),
            Class::Jit => whole.split_once('(').map(|(_, rest)| rest.strip_suffix(')').unwrap_or(rest)),
            Class::Call | Class::InFlight => argument,
            _ => None,
        };
        return Named { class: row.class, argument };
    }
    Named { class: Class::Other, argument: None }
}

/// `[3] Name` → `Name`.
fn without_device(name: &str) -> &str {
    let Some((head, rest)) = name.strip_prefix('[').and_then(|n| n.split_once("] ")) else { return name };
    if !head.is_empty() && head.bytes().all(|b| b.is_ascii_digit()) { rest } else { name }
}

/// `Name (jit_f)` and `Name [a=1, b=2]` → the name and what stands in the brackets.
fn split_arguments(name: &str) -> (&str, Option<&str>) {
    for (open, close) in [(" (", ')'), (" [", ']')] {
        if let Some(inner) = name.strip_suffix(close)
            && let Some((base, argument)) = inner.split_once(open)
        {
            return (base, Some(argument));
        }
    }
    (name, None)
}

/// Executions in flight, from the argument of `ComputeSemaphoreAcquire [capacity=32, value=30]` (0.10.2..): the
/// slots that are taken before this one. `pjrt_stream_executor_client.cc`.
#[must_use]
pub fn in_flight(argument: &str) -> Option<u64> {
    let number = |key: &str| -> Option<u64> {
        argument.split(", ").find_map(|part| part.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    number("capacity")?.checked_sub(number("value")?)
}

/// The module that a jitted function becomes: `PjitFunction(step)` runs `jit_step`.
#[must_use]
pub fn module_of_call(name: &str, function: &str) -> String {
    let prefix = if name.starts_with("Pmap") { "pmap" } else { "jit" };
    // `jax/_src/interpreters/mlir.py`, sanitize_name.
    let tidy = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    format!("{prefix}_{}", function.chars().map(tidy).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_client_generation_say_what_they_are() {
        let of = |name| (classify(name).class, classify(name).argument);
        assert_eq!(of("PjRtStreamExecutorLoadedExecutable::ExecuteHelper"), (Class::Execution, None));
        assert_eq!(of("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"), (Class::Execution, None));
        assert_eq!(of("TfrtCpuExecutable::ExecuteHelper"), (Class::Execution, None));
        assert_eq!(of("TfrtGpuExecutable::ExecuteHelper::acquire_semaphore").0, Class::Other);
        assert_eq!(
            of("[0] CommonPjRtLoadedExecutable::Execute (jit_grad_step)"),
            (Class::Call, Some("jit_grad_step"))
        );
        assert_eq!(of("jit_step:XLA GPU module"), (Class::Launch, Some("jit_step")));
        assert_eq!(of("[12] PjRtStreamExecutorRawLoadedExecutable::Execute").0, Class::Body);
        assert_eq!(of("PjitFunction(<lambda>)"), (Class::Jit, Some("<lambda>")));
        assert_eq!(of("ComputeSemaphoreAcquire [capacity=32, value=30]").1, Some("capacity=32, value=30"));
        assert_eq!(of("PJRT_LoadedExecutable_Execute linkage").0, Class::Other);
        assert_eq!(of("loop_add_fusion"), (Class::Other, None));
        assert_eq!(of("[x] y").0, Class::Other);
    }

    #[test]
    fn python_frames_of_jax_are_told_from_the_users() {
        assert_eq!(classify("$train.py:97 run_step").class, Class::Python);
        assert_eq!(classify("$pxla.py:230 batched_device_put").class, Class::PythonOfJax);
        assert_eq!(classify("$<unknown> append").class, Class::Python);
        assert!(FILES_OF_JAX.is_sorted(), "looked up by bisection");
        assert_eq!(module_of_call("PjitFunction(<lambda>)", "<lambda>"), "jit__lambda_");
        assert_eq!(module_of_call("PmapFunction(f)", "f"), "pmap_f");
    }

    #[test]
    fn slots_taken_are_executions_in_flight() {
        assert_eq!(in_flight("capacity=32, value=30"), Some(2));
        assert_eq!(in_flight("capacity=1, value=2"), None);
        assert_eq!(in_flight("capacity=32"), None);
    }
}
