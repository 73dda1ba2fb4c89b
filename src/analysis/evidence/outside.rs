//! Failures that are not of the device's pool: what each is, and what helps.

use super::{finding, fix, with_sizes};
use crate::evidence::error_text::{CONVOLUTION, CPU_WORDS, Failure, FailureKind};
use crate::model::{AllocatorKind, Finding, Fix, Number, Report, Severity};
use crate::units::{Bytes, Evidence};

/// The finding that a failure is not the device's memory; `None` where it is.
pub(super) fn find(failure: &Failure) -> Option<Finding> {
    let (title, cause, fixes) = match failure.what.as_deref() {
        Some(CONVOLUTION) => convolution(failure),
        Some(CPU_WORDS) => by_words(),
        _ => words(failure.kind)?,
    };
    let sizes = match (failure.requested, failure.limit) {
        (Some(asked), _) if failure.what.as_deref() == Some(CONVOLUTION) => {
            format!(" {asked} were not there.")
        }
        (Some(asked), Some(limit)) => format!(" It asked for {asked}; the limit is {limit}."),
        (Some(asked), None) => format!(" It asked for {asked}."),
        _ => String::new(),
    };
    let sentence = format!("{cause}{sizes}");
    let mut found = finding("not-device-memory", Severity::Error, title, sentence, "");
    found.fixes = fixes;
    if failure.what.as_deref() == Some(CPU_WORDS) {
        found.evidence = Evidence::Inferred;
    }
    Some(with_sizes(found, &[("request_bytes", failure.requested), ("limit_bytes", failure.limit)]))
}

/// What a capture knows of memory outside the pool: how much of the card the pool leaves to it.
pub(super) fn beside(found: &mut Finding, kind: FailureKind, report: &Report) {
    let is_beside_the_pool = matches!(
        kind,
        FailureKind::Library
            | FailureKind::Collectives
            | FailureKind::Graphs
            | FailureKind::Driver
            | FailureKind::PyTorch
    );
    // The device with the least left: its libraries fail first.
    let pools = report.allocators.iter().filter(|a| a.kind == AllocatorKind::Device);
    let left = pools.filter_map(|a| {
        let device = report.platform.devices.iter().find(|d| Some(d.ordinal) == a.device)?;
        Some((device.memory_bytes?.0.checked_sub(a.capacity_bytes?.0)?, a))
    });
    let Some((left, pool)) = left.min_by_key(|(left, _)| *left).filter(|_| is_beside_the_pool) else {
        return;
    };
    let (Some(capacity), Some(share)) = (pool.capacity_bytes, pool.card_share) else { return };
    let left = Bytes(left);
    found.sentence += &format!(
        " In this capture the pool {} has {capacity}, {:.0} % of the card: {left} are left for all that is outside it.",
        crate::plain::plain(&pool.name),
        share * 100.0
    );
    for (key, bytes) in [("pool_bytes", capacity), ("outside_bytes", left)] {
        let number = Number { value: bytes.0 as f64, evidence: Evidence::Measured };
        found.numbers.insert(key.into(), number);
    }
}

/// A title, a cause and what helps.
type Words = (&'static str, &'static str, Vec<Fix>);

/// Before a program runs, cuDNN's algorithms for each convolution are tried out.
fn convolution(failure: &Failure) -> Words {
    let mut fallback = fix(
        "fallback-algorithm",
        "Let XLA fall back to an algorithm that it did not try.",
        "Perhaps a slower one.",
        "",
    );
    fallback.code = Some("XLA_FLAGS=--xla_gpu_strict_conv_algorithm_picker=false".into());
    if failure.requested.is_none() {
        let (title, cause, fixes) = library();
        return (title, cause, [fixes, vec![fallback]].concat());
    }
    (
        "No scratch to try out a convolution's algorithms",
        "When a program with a convolution is compiled, XLA tries out cuDNN's algorithms for it, with scratch that the step itself need \
         not have. It asks XLA's pool for that scratch, before the step itself is asked for.",
        vec![
            fallback,
            fix(
                "compile-first",
                "Compile the step before large arrays are on the device (`jax.jit(step).lower(…).compile()`).",
                "Another order of start-up.",
                "",
            ),
            fix(
                "smaller-batch",
                "Give the convolution less at once: a smaller batch or image.",
                "Smaller products, which fill the device less.",
                "",
            ),
        ],
    )
}

/// A message that says by its form alone that it is the host's memory.
fn by_words() -> Words {
    let (_, _, fixes) = host();
    (
        "Memory ran out, it seems the host's and not the device's",
        "These are the words of JAX's CPU backend, whose arrays lie in the host's memory. The message names no memory: that it was the \
         host's is concluded from its words.",
        fixes,
    )
}

fn library() -> Words {
    (
        "A library outside the pool got no memory",
        "cuDNN, cuBLAS or their like allocate beside XLA's pool, which by default takes 75 % of the card at the start; \
         with a larger share nothing is left for them.",
        vec![smaller_pool()],
    )
}

fn host() -> Words {
    (
        "The host's memory ran out, not the device's",
        "The process, or JAX's CPU backend, asked the host for memory.",
        vec![fix(
            "host-memory",
            "Load less at once: stream the data, free what was copied to the device, start fewer workers. Is JAX on its CPU \
             backend by mistake (`jax.devices()`)?",
            "",
            "",
        )],
    )
}

fn words(kind: FailureKind) -> Option<Words> {
    Some(match kind {
        FailureKind::KernelSharedMemory => (
            "A kernel's shared memory ran out, not the device's memory",
            "A kernel wants more shared memory (LDS on AMD) than one block may have on this chip. That is a limit of the \
             chip; the plan, the batch and the pool have nothing to do with it.",
            vec![
                fix(
                    "smaller-tiles",
                    "Give the kernel smaller tiles or fewer stages, if it is your own (Pallas, Triton).",
                    "Perhaps a slower kernel.",
                    "",
                ),
                fix(
                    "other-implementation",
                    "Choose another implementation of the operation, or another version of the library that brought the kernel.",
                    "",
                    "",
                ),
            ],
        ),
        FailureKind::CompileVmem => (
            "A kernel's memory inside the chip ran out, not HBM",
            "The compiler could not place a kernel's buffers in VMEM, the memory inside the TPU. HBM has nothing to do with it.",
            vec![
                fix(
                    "smaller-tiles",
                    "Give the kernel smaller blocks, if it is your own (Pallas).",
                    "Perhaps a slower kernel.",
                    "",
                ),
                fix(
                    "vmem-limit",
                    "Raise the limit of the kernel (`vmem_limit_bytes` of its compiler parameters, or \
                     `--xla_tpu_scoped_vmem_limit_kib`).",
                    "Less room for what XLA keeps there itself.",
                    "",
                ),
            ],
        ),
        FailureKind::Library => library(),
        FailureKind::Collectives => (
            "Collectives outside the pool got no memory",
            "NCCL (RCCL on AMD) allocates its buffers beside XLA's pool, more with each communicator; with a large share of \
             the card in the pool nothing is left for it.",
            vec![smaller_pool()],
        ),
        FailureKind::Graphs => (
            "CUDA graphs outside the pool got no memory",
            "XLA turns parts of the program into CUDA graphs, which take memory beside the pool for each that is kept alive.",
            vec![
                smaller_pool(),
                fix(
                    "no-graphs",
                    "Run without graphs: `XLA_FLAGS=--xla_gpu_enable_command_buffer=`.",
                    "More time to launch small kernels.",
                    "",
                ),
            ],
        ),
        FailureKind::HostPool => (
            "Pinned host memory ran out, not the device's memory",
            "Transfers between host and device, and arrays offloaded to the host, lie in a pool of pinned host memory, which \
             is 64 GB unless set otherwise.",
            vec![fix(
                "host-limit",
                "Set `XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB` to what the host can spare, or transfer less at once.",
                "The host's memory.",
                "",
            )],
        ),
        FailureKind::CollectivePool => (
            "The pool of collectives ran out",
            "Buffers of collectives that NCCL registers lie in a pool of their own.",
            vec![fix(
                "collective-pool",
                "Give that pool more room (`collective_memory_size` of the client), or switch the registration off: \
                 `XLA_FLAGS=--xla_gpu_enable_nccl_user_buffers=false`.",
                "Slower collectives without it.",
                "",
            )],
        ),
        FailureKind::Host => host(),
        FailureKind::PyTorch => (
            "PyTorch's own memory ran out",
            "The message is PyTorch's. If JAX runs in the same process or on the same card, its pool took 75 % at its start.",
            vec![fix(
                "share-the-card",
                "Give JAX a smaller share (`XLA_CLIENT_MEM_FRACTION=.3`), or let it take what it needs \
                 (`XLA_PYTHON_CLIENT_PREALLOCATE=false`).",
                "Less for JAX.",
                "",
            )],
        ),
        FailureKind::DevicePool
        | FailureKind::DevicePoolOptional
        | FailureKind::CompileDevice
        | FailureKind::Driver
        | FailureKind::Unknown => return None,
    })
}

/// Room beside the pool.
pub(super) fn smaller_pool() -> Fix {
    let mut fix = fix(
        "smaller-pool",
        "Give the pool a smaller share of the card.",
        "Less room for the program's own arrays.",
        "A capture shows the pool's share now: its capacity over the card's memory.",
    );
    fix.code = Some("XLA_CLIENT_MEM_FRACTION=.65".into());
    fix
}
