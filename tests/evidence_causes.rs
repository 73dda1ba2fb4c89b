//! What the text of a failure is said to mean: whose memory it was, which of several failures counts, what can help, and what it
//! changes in the report of a capture.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oomscope::analysis::{Options, Session, read};
use oomscope::evidence::error_text::{ErrorText, FailureKind};
use oomscope::model::{Finding, Report, Severity, VerdictStatus};
use oomscope::report::text;
use oomscope::units::Evidence;
use std::path::Path;

fn alone(error: &str) -> Report {
    read(error.as_bytes(), "error.txt", |_| {}).unwrap().report(&Options::default())
}

fn beside(capture: &Path, error: &str) -> Report {
    let bytes = std::fs::read(capture).unwrap();
    let name = capture.file_name().unwrap().to_string_lossy().into_owned();
    let mut session: Session<&[u8]> = read(bytes.as_slice(), &name, |_| {}).unwrap();
    session.add_error_text(error);
    session.report(&Options::default())
}

fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{id}: {:#?}", report.findings))
}

fn fixes(finding: &Finding) -> Vec<&str> {
    finding.fixes.iter().map(|f| f.id.as_str()).collect()
}

fn has(report: &Report, id: &str) -> bool {
    report.findings.iter().any(|f| f.id == id)
}

/// A message with a plan of these totals: parameters, live out, temp, total.
fn with_totals(asked: u64, [parameter, out, temp, total]: [&str; 4]) -> String {
    format!(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {asked} bytes.\nBufferAssignment OOM Debugging.\n\
         BufferAssignment stats:\n             parameter allocation: {parameter:>10}\n              constant allocation:         0B\n\
         \x20       maybe_live_out allocation: {out:>10}\n     preallocated temp allocation: {temp:>10}\n\
         \x20                total allocation: {total:>10}\n              total fragmentation:         0B (0.00%)\n"
    )
}

const NCCL: &str = "INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled cuda error. Last NCCL warning(error) log entry (may be \
                    unrelated) 'Cuda failure 'out of memory''.";

#[test]
fn the_driver_refuses_the_pool() {
    for (error, asked) in [
        (
            "cuda_driver.cc:725] failed to allocate 17.71G (19015245824 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            19_015_245_824.0,
        ),
        (
            "rocm_driver.cc:629] failed to allocate 2.00GiB (2147483648 bytes) from device: HIP_ERROR_OutOfMemory",
            2_147_483_648.0,
        ),
    ] {
        let report = alone(error);
        let it = finding(&report, "driver-refused");
        assert_eq!((it.severity, it.evidence), (Severity::Error, Evidence::Read));
        assert_eq!(it.numbers["request_bytes"].value, asked);
        assert!(
            it.cause.contains("by the pool itself") && it.cause.contains("Another process"),
            "{}",
            it.cause
        );
        assert_eq!(fixes(it), ["other-processes", "smaller-pool", "grow"]);
        // No plan is to blame.
        assert!(!has(&report, "failed-request"));
        assert!(
            report.verdict.sentence.starts_with("The driver did not give "),
            "{}",
            report.verdict.sentence
        );
    }
    let report =
        alone("RESOURCE_EXHAUSTED: Failed to allocate request for 1.00GiB (1073741824B) on device ordinal 2");
    let it = finding(&report, "driver-refused");
    assert!(it.cause.contains("without a pool"), "{}", it.cause);
    assert!(!fixes(it).contains(&"smaller-pool"));
    assert_eq!(report.verdict.sentence, "The driver did not give 1.00 GiB (1073741824 bytes) on device 2.");
}

#[test]
fn the_driver_refuses_what_lies_beside_the_pool() {
    for error in [
        "INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "RESOURCE_EXHAUSTED: Failed to load in-memory CUBIN (compiled for a different GPU?).: CUDA_ERROR_OUT_OF_MEMORY: out of memory \
         [executable_name='jit_copy']",
        "INTERNAL: Failed to load HSACO: hipErrorOutOfMemory",
    ] {
        let report = alone(error);
        assert_eq!(report.verdict.sentence, "The driver had no memory for the program's code.", "{error}");
        assert_eq!(fixes(finding(&report, "driver-refused"))[0], "smaller-pool");
        assert_eq!(report.module.as_deref(), error.contains("jit_copy").then_some("jit_copy"));
    }
    let report = alone("INTERNAL: Failed to instantiate CUDA graph: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
    assert_eq!(report.verdict.sentence, "CUDA graphs outside the pool got no memory.");
    assert_eq!(fixes(finding(&report, "not-device-memory")), ["smaller-pool", "no-graphs"]);
    let report = alone("INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
    assert!(finding(&report, "driver-refused").sentence.contains("`CUDA_ERROR_OUT_OF_MEMORY`"));
}

/// The allocator of the driver says what the card has, and its own `Limit` is none.
#[test]
fn a_request_of_the_drivers_allocator() {
    let of = |asked: u64| {
        alone(&format!(
            "E1103 18:23:55.103160 3413767 gpu_cudamallocasync_allocator.cc:361] gpu_async_1 cuMemAllocAsync failed to allocate \
             {asked} bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n \
             Reported by CUDA: Free memory/Total memory: 22635544576/85095874560\n\
             E1103 18:23:55.103186 3413767 gpu_cudamallocasync_allocator.cc:366] Stats: Limit:                      63821905920\n\
             InUse:                     61982909300\nMaxInUse:                  61982909300\n"
        ))
    };
    let report = of(1_225_195_446_464);
    let it = finding(&report, "step-does-not-fit");
    assert_eq!(
        it.sentence,
        "The program asked for 1.11 TiB (1225195446464 bytes) in one piece: that is more than the card has in all, 79.25 GiB \
         (85095874560 bytes), about 14 times that. 21.08 GiB (22635544576 bytes) of it were free."
    );
    assert!(it.cause.starts_with("Whatever else is alive"), "{}", it.cause);
    assert_eq!((it.evidence, it.numbers["limit_bytes"].value), (Evidence::Read, 85_095_874_560.0));
    assert!(!has(&report, "failed-request") && !has(&report, "driver-refused"));
    let pool = &report.error_text.as_ref().unwrap().pools[0];
    assert_eq!((pool.limit_bytes, pool.in_use_bytes.unwrap().0), (None, 61_982_909_300));

    // Less than the card: who held it, as far as the text says. 85095874560 − 22635544576 − 61982909300 = 477420684.
    let report = of(30_000_000_000);
    let it = finding(&report, "driver-refused");
    assert!(
        it.sentence.contains(
            "The card has 79.25 GiB (85095874560 bytes), of which 21.08 GiB (22635544576 bytes) were free, and the program's own \
             arrays held 57.73 GiB: the other 455.30 MiB were held by other processes"
        ),
        "{}",
        it.sentence
    );
}

/// The scratch that was asked for belongs to the choice of an algorithm, wherever the message breaks.
#[test]
fn the_choice_of_a_convolutions_algorithm() {
    let error = "INTERNAL: Failed to determine best cudnn convolution algorithm for:\n%cudnn-conv = ...\n\
                 Original error: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.\n\
                 To ignore this failure and try to use a fallback algorithm, use \
                 XLA_FLAGS=--xla_gpu_strict_conv_algorithm_picker=false.";
    for error in
        [error.to_owned(), error.replace('\n', " "), format!("{error}\nTraceback:\nXlaRuntimeError: {error}")]
    {
        let report = alone(&error);
        let text = report.error_text.as_ref().unwrap();
        assert_eq!((text.failures.len(), text.failures[0].kind), (1, FailureKind::Library), "{error}");
        let it = finding(&report, "not-device-memory");
        assert_eq!(it.numbers["request_bytes"].value, 4_294_967_296.0);
        assert_eq!(fixes(it)[0], "fallback-algorithm");
        assert!(!has(&report, "failed-request"));
    }
    let report = alone(
        "CUDNN_STATUS_ALLOC_FAILED\nINTERNAL: Failed to determine best cudnn convolution algorithm for: %x",
    );
    assert_eq!(fixes(finding(&report, "not-device-memory")), ["smaller-pool"]);
    assert!(!has(&report, "other-failures"), "both lines are of one failure");
}

/// Temp is nothing: what acts on temp is not offered. Nothing is shared: donation is, and comes first.
#[test]
fn fixes_act_on_what_there_is() {
    let report = alone(&with_totals(131_334_144, ["16.50GiB", "21.55GiB", "13.4KiB", "38.05GiB"]));
    let it = finding(&report, "failed-request");
    assert_eq!(fixes(it), ["donate", "capture", "shard"]);
    assert!(it.cause.starts_with("Old and new state stand beside each other"), "{}", it.cause);
    let donate = &it.fixes[0];
    let after = [donate.need_after_least_bytes, donate.need_after_most_bytes].map(|b| b.unwrap().to_string());
    // 38.05 − 16.50, since an output can take the place of a parameter only.
    assert_eq!(after, ["21.55 GiB", "38.05 GiB"]);

    // Everything is shared already.
    let report = alone(&with_totals(131_334_144, ["16.50GiB", "16.50GiB", "8.00GiB", "24.50GiB"]));
    assert_eq!(fixes(finding(&report, "failed-request")), ["capture", "remat", "batch/2", "shard"]);
    // Half of it is.
    let report = alone(&with_totals(131_334_144, ["16.00GiB", "16.00GiB", "8.00GiB", "32.00GiB"]));
    let donate = finding(&report, "failed-request").fixes.iter().find(|f| f.id == "donate").unwrap();
    assert_eq!(donate.need_after_least_bytes.unwrap().to_string(), "24.00 GiB");
    assert_eq!(donate.need_after_most_bytes.unwrap().0, 32 << 30);
}

#[test]
fn a_small_step_is_not_to_blame() {
    let small = with_totals(6_291_456, ["6.00MiB", "6.00MiB", "0B", "12.00MiB"]);
    let report = alone(&small);
    let it = finding(&report, "failed-request");
    assert!(it.cause.starts_with("The step is not to blame"), "{}", it.cause);
    assert_eq!(fixes(it), ["capture", "who-holds-it", "free-them", "other-processes"]);
    // The value is the number that was printed.
    assert_eq!((it.numbers["need_bytes"].value, it.evidence), (12_582_912.0, Evidence::Inferred));
    let pool = |limit: u64| format!("BFCAllocator dump for GPU_0_bfc\nStats:\nLimit: {limit}\n{small}");
    for (limit, is_small) in [(1 << 30, true), (64 << 20, false)] {
        let report = alone(&pool(limit));
        let cause = &finding(&report, "failed-request").cause;
        assert_eq!(cause.starts_with("The step is not to blame"), is_small, "{limit}: {cause}");
    }
}

/// `Out of memory allocating … bytes.` names no memory.
#[test]
fn the_hosts_memory_by_the_words_alone_is_inferred() {
    let error = "RuntimeError: Resource exhausted: Out of memory allocating 8589934592 bytes.";
    let report = alone(error);
    let it = finding(&report, "not-device-memory");
    assert_eq!((it.evidence, report.verdict.evidence), (Evidence::Inferred, Evidence::Inferred));
    assert!(report.verdict.sentence.contains("it seems the host's"), "{}", report.verdict.sentence);
    // What says it by its name is read.
    assert_eq!(alone("std::bad_alloc").verdict.evidence, Evidence::Read);
    let by_client = format!("F0101 10:00:00.1 7 tfrt_gpu_client.cc:33] {error}");
    assert_eq!(ErrorText::read(&by_client).failures[0].kind, FailureKind::DevicePool);
}

/// A verdict is no surer than the finding with its claim: the temp total is rounded.
#[test]
fn the_verdict_is_as_sure_as_its_weakest_size() {
    let report = alone(&with_totals(3_666_631_960, ["309.56MiB", "309.50MiB", "3.41GiB", "3.72GiB"]));
    assert!(report.verdict.sentence.contains("its temp block"));
    let it = finding(&report, "failed-request");
    assert_eq!((report.verdict.evidence, it.evidence), (Evidence::Inferred, Evidence::Inferred));
    assert_eq!(it.numbers["need_bytes"].value, 3_994_319_585.0);
    let exact = alone("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.");
    assert_eq!(exact.verdict.evidence, Evidence::Read);
    let tpu = alone(
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (54.42G) exceeds available \
         HBM (15.75G).",
    );
    assert_eq!(finding(&tpu, "step-does-not-fit").numbers["limit_bytes"].value, 16_911_433_728.0);
}

#[test]
fn of_several_failures_the_first_of_the_device_counts() {
    let first = with_totals(3_666_631_960, ["309.56MiB", "309.50MiB", "3.41GiB", "3.72GiB"]);
    let second = with_totals(36_700_160, ["309.56MiB", "309.50MiB", "35.00MiB", "654.06MiB"]);
    let report = alone(&format!("{first}...\n{second}"));
    assert!(report.verdict.sentence.contains("3666631960 bytes"), "{}", report.verdict.sentence);
    let note = finding(&report, "other-failures");
    assert_eq!(
        note.sentence,
        "This report is about the failure of line 1. The text also has, at line 11: the program asked for 35.00 MiB (36700160 bytes)."
    );
    assert!(note.cause.contains("usually the cause"));

    // What follows is noted; what came before, outside the pool, is a finding of its own.
    let report = alone(&format!("{first}Shutting down\n{NCCL}"));
    assert!(
        finding(&report, "other-failures")
            .sentence
            .ends_with("at line 11: collectives outside the pool got no memory.")
    );
    assert!(!has(&report, "not-device-memory"));
    let report = alone(&format!("{NCCL}\n{first}"));
    let before = finding(&report, "not-device-memory");
    assert_eq!(before.severity, Severity::Warning);
    assert!(
        before.sentence.starts_with("At line 1, before the failure that this report is about"),
        "{}",
        before.sentence
    );
    assert!(!has(&report, "other-failures"));

    // One message that a launcher marked in part, and one of two sentences.
    let read = ErrorText::read(
        "W bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192)requested by op\n\
         [rank3] XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.",
    );
    assert_eq!((read.failures.len(), read.failures[0].count), (1, 2), "{:#?}", read.failures);
    let vmem = "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for %fusion.1 = bf16[1]. Scoped \
                allocation with size 17.02M and limit 16.00M exceeded scoped vmem limit by 1.02M.";
    let read = ErrorText::read(vmem);
    assert_eq!((read.failures.len(), read.failures[0].count), (1, 1));
    assert!(!text(&alone(vmem)).contains("messages of it"));
}

#[test]
fn a_name_is_told_as_the_words_that_it_is() {
    let shown = text(&alone(NCCL));
    assert!(
        shown.contains("collectives beside the pool, by the words “Cuda failure 'out of memory'”"),
        "{shown}"
    );
}

/// What the text says, though not all: a tensor without its size, a budget without a failure.
#[test]
fn every_text_that_says_something_has_a_finding() {
    let report = alone(
        "ResourceExhaustedError: OOM when allocating tensor with shape[8,1024,1024] and type float on \
         /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Mul]",
    );
    let it = finding(&report, "failed-request");
    assert!(it.sentence.starts_with("The program asked for float shape[8,1024,1024]."), "{}", it.sentence);
    assert!(!it.numbers.contains_key("request_bytes"));
    let report = alone(
        "hlo_rematerialization.cc:2946] Can't reduce memory use below 16.89GiB (18140245114 bytes) by rematerialization; only \
         reduced to 22.12GiB (23748393012 bytes), down from 22.15GiB (23784349420 bytes) originally",
    );
    assert_eq!(report.verdict.status, VerdictStatus::CannotTell);
    assert!(report.verdict.sentence.ends_with("could not reach its memory budget."));
    assert_eq!(finding(&report, "xla-rematerialized").numbers["reached_bytes"].value, 23_748_393_012.0);
}

/// The capture fits, and the failure happened: the verdict has both.
#[test]
fn a_failure_reaches_the_verdict_of_a_healthy_capture() {
    let Some(capture) = support::capture("s3c_donated") else { return };
    let report = beside(&capture, NCCL);
    assert_eq!(
        (report.verdict.status, report.verdict.evidence),
        (VerdictStatus::OutOfMemory, Evidence::Read)
    );
    assert!(
        report.verdict.sentence.starts_with(
            "Collectives outside the pool got no memory. So says your text; a capture shows the device's pool alone, and this one no \
             failure of it. It fits: at the peak 2.17 GiB of 2.79 GiB"
        ),
        "{}",
        report.verdict.sentence
    );
    assert_eq!(report.findings[0].id, "not-device-memory");
    let host = "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 1073741824 bytes.";
    assert_eq!(beside(&capture, host).verdict.status, VerdictStatus::OutOfMemory);

    let report =
        beside(&capture, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 77777777 bytes.");
    assert!(
        report.verdict.sentence.contains(
            "So says your text; this capture is of another moment or another run, and shows no failure."
        ),
        "{}",
        report.verdict.sentence
    );
    // The pool's own request is looked for in no plan.
    let report = beside(
        &capture,
        "failed to allocate 17.71G (19015245824 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
    );
    assert!(!has(&report, "error-text"), "{:#?}", report.findings);
    assert!(finding(&report, "driver-refused").sentence.contains("75 % of the card"));

    // What may fail and what is not understood change less.
    let optional =
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB with freed_by_count=0.";
    assert_eq!(beside(&capture, optional).verdict.status, VerdictStatus::AtRisk);
    let unknown = "RESOURCE_EXHAUSTED: the quota of requests is used up";
    assert_eq!(beside(&capture, unknown).verdict.status, VerdictStatus::Fits);
}

/// A capture that shows its own failure keeps its verdict.
#[test]
fn a_failure_in_the_capture_comes_before_the_text() {
    let Some(capture) = support::capture("s1_plan_too_large") else { return };
    let report = beside(&capture, NCCL);
    assert!(
        report.verdict.sentence.starts_with("jit_train_step(17) ran out of memory"),
        "{}",
        report.verdict.sentence
    );
    assert_eq!(report.findings[0].id, "not-device-memory");
}

/// Execution 0 waited for the very block of the error, and got it.
#[test]
fn a_wait_for_the_block_of_the_error() {
    let Some(capture) = support::capture("s8_retry_rescued") else { return };
    let report = beside(&capture, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 405.92MiB.");
    assert_eq!(
        finding(&report, "error-text").sentence,
        "The 405.92 MiB of your error is the temp block of jit_train_step(17) (425638936 bytes). In this capture execution 0 waited \
         1.30 s for it and then got it: where nothing is freed in time, such a wait ends in your error."
    );
}
