//! Every form of message that says that memory ran out, what looks like one and is none, and what loggers put before them.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::evidence::error_text::{ErrorText, Failure, FailureKind, TextSize, decode};
use oomscope::evidence::{Kind, sniff};
use oomscope::units::Bytes;

/// A message, its kind, what it asked for, and what else it says: allocator, device, executable, error code.
struct Form(&'static str, FailureKind, Option<&'static str>, [Option<&'static str>; 4]);

const NOTHING: [Option<&str>; 4] = [None; 4];

use FailureKind::{
    Collectives, CompileDevice, CompileVmem, DevicePool, DevicePoolOptional, Driver, Graphs, Host, HostPool,
    KernelSharedMemory, Library, PyTorch,
};

const FORMS: [Form; 43] = [
    // tf_allocator_adapter.cc: up to 0.8.0, 0.5.0 on for host memory, 0.9.2 on, 0.12.
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.",
        DevicePool,
        Some("3666631960"),
        NOTHING,
    ),
    Form(
        "RuntimeError: Resource exhausted: Out of memory while trying to allocate 16777216 bytes.",
        DevicePool,
        Some("16777216"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 68719476736 bytes. Please set the environment variable XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB to allocate larger host memory than the default 64 GB.",
        HostPool,
        Some("68719476736"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB.",
        DevicePool,
        Some("1.95GiB"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB with allocator GPU_0_bfc on device 0. [executable_name='jit_greater'] [tf-allocator-allocation-error='']",
        DevicePool,
        Some("1.95GiB"),
        [Some("GPU_0_bfc"), Some("0"), Some("jit_greater"), None],
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB with allocator GPU_3_bfc on device 3.: while running replica 3 and partition 0 of a replicated computation (other replicas may have failed as well).",
        DevicePool,
        Some("1.95GiB"),
        [Some("GPU_3_bfc"), Some("3"), None, None],
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.00GiB with allocator xla_gpu_host_bfc on device 0.",
        HostPool,
        Some("2.00GiB"),
        [Some("xla_gpu_host_bfc"), Some("0"), None, None],
    ),
    Form(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.00GiB with allocator GPU_collectivememory_1_bfc on device 1.",
        FailureKind::CollectivePool,
        Some("2.00GiB"),
        [Some("GPU_collectivememory_1_bfc"), Some("1"), None, None],
    ),
    // bfc_allocator.cc.
    Form(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192)requested by op ",
        DevicePool,
        Some("3.41GiB"),
        [Some("GPU_0_bfc"), None, None, None],
    ),
    Form(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192) from the lower end requested by op jit_step",
        DevicePool,
        Some("3.41GiB"),
        [Some("GPU_0_bfc"), None, None, None],
    ),
    Form(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
        DevicePoolOptional,
        Some("2.16GiB"),
        [Some("GPU_0_bfc"), None, None, None],
    ),
    // gpu_executable.cc: a constant that a program holds.
    Form(
        "jaxlib._jax.XlaRuntimeError: INTERNAL: Failed to allocate 402653184 bytes for new constant",
        DevicePool,
        Some("402653184"),
        NOTHING,
    ),
    // Drivers: CUDA and ROCm, by the pool or without one.
    Form(
        "RESOURCE_EXHAUSTED: Failed to allocate request for 154.06GiB (165425291480B) on device ordinal 3",
        Driver,
        Some("165425291480"),
        [None, Some("3"), None, None],
    ),
    Form(
        "failed to allocate 154.06GiB (165425291480 bytes) from device: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        Driver,
        Some("165425291480"),
        NOTHING,
    ),
    Form(
        "rocm_driver.cc:900] failed to allocate 12.00GiB (12884901888 bytes) from device: HIP_ERROR_OutOfMemory",
        Driver,
        Some("12884901888"),
        NOTHING,
    ),
    Form(
        "cuMemAllocAsync failed to allocate 1225195446464 bytes: CUDA error: out of memory (CUDA_ERROR_OUT_OF_MEMORY)",
        Driver,
        Some("1225195446464"),
        [Some("cuda_async"), None, None, None],
    ),
    Form("INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory", Driver, None, NOTHING),
    Form("HIP error: hipErrorOutOfMemory", Driver, None, NOTHING),
    // TPU, when compiling: E1000 and E1001, with and without their codes.
    Form(
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory in memory space hbm. Used 17.60G of 16.00G hbm. Exceeded hbm capacity by 1.60G.",
        CompileDevice,
        Some("17.60G"),
        [None, None, None, Some("E1000")],
    ),
    Form(
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 15.48G of 15.48G hbm. Exceeded hbm capacity by 1.60M.",
        CompileDevice,
        Some("15.48G"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (54.42G) exceeds available HBM (15.75G).",
        CompileDevice,
        Some("54.42G"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Allocation (size=107374182400) would exceed memory (size=17179869184) :: #allocation7 [shape = 'u8[327680,327680]{1,0}', space=hbm, size = 0xffffffffffffffff]",
        CompileDevice,
        Some("107374182400"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation25 [shape = 'u8[134217728]{0}', space=vmem, size = 0x8000000]",
        CompileVmem,
        Some("134217728"),
        NOTHING,
    ),
    Form(
        "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom: Scoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M.",
        CompileVmem,
        Some("18.00M"),
        [None, None, None, Some("E1001")],
    ),
    Form(
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space smem. Used 2.00M of 1.00M smem. Exceeded smem capacity by 1.00M.",
        CompileVmem,
        Some("2.00M"),
        NOTHING,
    ),
    // TPU, when running.
    Form(
        "E0100: RuntimeBufferAllocationFailure: Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. There are 6.43M free.; (0x0x1_HBM0)",
        DevicePool,
        Some("8.00M"),
        [None, None, None, Some("E0100")],
    ),
    Form(
        "RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 8.89G at the bottom of memory. That was not possible. There are 8.67G free, 0B reserved, and 8.67G reservable.",
        DevicePool,
        Some("8.89G"),
        NOTHING,
    ),
    // CPU and the host.
    Form(
        "RESOURCE_EXHAUSTED: Out of memory allocating 34359738368 bytes.",
        Host,
        Some("34359738368"),
        NOTHING,
    ),
    Form(
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64",
        Host,
        Some("7.45GiB"),
        NOTHING,
    ),
    Form("MemoryError", Host, None, NOTHING),
    Form("terminate called after throwing an instance of 'std::bad_alloc'", Host, None, NOTHING),
    Form("[ 100.1] Out of memory: Killed process 4242 (python3) total-vm:1kB", Host, None, NOTHING),
    Form("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0.", Host, None, NOTHING),
    Form("    Reason:       OOMKilled", Host, None, NOTHING),
    // Beside the pool.
    Form(
        "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 131072, available: 101376",
        KernelSharedMemory,
        Some("131072"),
        NOTHING,
    ),
    Form(
        "cuda_dnn.cc:502] There was an error before creating cudnn handle (302): CUDNN_STATUS_ALLOC_FAILED",
        Library,
        None,
        NOTHING,
    ),
    Form(
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        Library,
        None,
        NOTHING,
    ),
    Form(
        "UNKNOWN: Failed to determine best cudnn convolution algorithm for: %cudnn-conv",
        Library,
        None,
        NOTHING,
    ),
    Form("NCCL WARN Failed to CUDA malloc 4194304 bytes", Collectives, None, NOTHING),
    Form("NCCL WARN HIP failure 'out of memory'", Collectives, None, NOTHING),
    Form(
        "RESOURCE_EXHAUSTED: Underlying backend ran out of memory trying to instantiate command buffer with 30 (total of 40 alive graphs in the process).",
        Graphs,
        None,
        NOTHING,
    ),
    Form(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
        PyTorch,
        Some("2.00GiB"),
        NOTHING,
    ),
    Form(
        "ResourceExhaustedError: OOM when allocating tensor with shape[256,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc",
        DevicePool,
        None,
        [Some("GPU_1_bfc"), Some("1"), None, None],
    ),
];

fn one(text: &str) -> Failure {
    let read = ErrorText::read(text);
    assert_eq!(read.failures.len(), 1, "{text}: {:#?}", read.failures);
    read.failures.into_iter().next().unwrap()
}

#[test]
fn every_form_is_recognised() {
    for Form(text, kind, asked, [allocator, device, executable, code]) in FORMS {
        let f = one(text);
        assert_eq!(f.kind, kind, "{text}");
        assert_eq!(f.requested, asked.map(|size| TextSize::parse(size).unwrap()), "{text}");
        let said = [f.allocator, f.device.map(|d| d.to_string()), f.executable, f.error_code];
        let wanted = [allocator, device, executable, code].map(|word| word.map(str::to_owned));
        assert_eq!(said, wanted, "{text}");
    }
}

/// The status, its log line and the traceback's last line in every form of the same failure are one.
#[test]
fn every_form_is_one_failure_where_a_traceback_repeats_it() {
    for Form(text, kind, ..) in FORMS {
        let twice = format!(
            "E0101 12:00:00.124300   27487 client.cc:3045] {text}\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    step(x)\n{text}"
        );
        let f = one(&twice);
        assert_eq!((f.kind, f.count), (kind, 2), "{text}");
    }
}

const LOOK_ALIKES: &str = "\
    except MemoryError:
class MemoryError(Exception):
raise MemoryError
# oom-kill protection enabled
INFO oom-killer disabled
To avoid out of memory errors, lower the batch
If you run into CUDA_ERROR_OUT_OF_MEMORY, set XLA_CLIENT_MEM_FRACTION
See the page on CUDA_ERROR_OUT_OF_MEMORY.
catch (const std::bad_alloc& e)
Out of memory while trying to be helpful
Allocator (GPU_0_bfc) ran out
trying to allocate 3.41GiB
Using BFC allocator. Allocator (GPU_0_bfc) will allocate 3.41GiB
XLA backend allocating 63984390144 bytes on device 0 for BFCAllocator.
Total usage >= 3G
Total params usage >= many
Program binary requirement: none
Largest program allocations in history
saved 3.41GiB
step 3: loss 2.1, hbm usage 14.2G of 16G
Peak buffers: tuned
Stats: ok
Free  at last: of size 3
BufferAssignment stats
OOMKilled: false
CUDA out of memory handling is enabled
2.16GiB free. Out of memory? No.
grpc status RESOURCE_EXHAUSTED quota
PermissionError: RESOURCE_EXHAUSTED_POLICY is not set
    raise jax.errors.JaxRuntimeError('RESOURCE_EXHAUSTED')
    if 'RESOURCE_EXHAUSTED: Out' in str(e):
AllocatorRetry::AllocateRaw
Killed
  File \"a.py\", line 3, in f
    raise RuntimeError('RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5 bytes')";

#[test]
fn what_only_looks_like_one_is_none() {
    for line in LOOK_ALIKES.lines().filter(|l| !l.contains("raise RuntimeError")) {
        let read = ErrorText::read(line);
        assert!(read.is_empty(), "{line}: {read:#?}");
    }
    let whole = ErrorText::read(LOOK_ALIKES);
    assert!(whole.is_empty(), "{whole:#?}");
}

const GPU: &str = r#"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 34912723376 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    5.43GiB
              constant allocation:    38.7KiB
        maybe_live_out allocation:    1.73GiB
     preallocated temp allocation:   32.51GiB
  preallocated temp fragmentation:     2.0KiB (0.00%)
                 total allocation:   39.68GiB
              total fragmentation:    1.73GiB (4.37%)
Peak buffers:
	Buffer 1:
		Size: 3.24GiB
		Operator: op_name="jit(step)/jit(main)/transpose(jvp(layer))/mul" source_file="/home/u/my model.py" source_line=1307
		XLA Label: fusion
		Shape: f32[128,2605,2605]
		==========================

	Buffer 2:
		Size: 559.67MiB
		Entry Parameter Subshape: f32[11,5120,2605]
		==========================
"#;

const TPU: &str = r#"ValueError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.60G of 16.00G hbm. Exceeded hbm capacity by 1.60G.

Total hbm usage >= 18.11G:
    reserved        528.00M
    program          17.08G
    arguments       unknown size

Output size 1.20G; shares 1.10G with arguments.

Program hbm requirement 17.08G:
    reserved          12.0K
    HLO temp         17.08G (92.8% utilization: Unpadded (6.40G) Padded (6.90G), 0.3% fragmentation (53.61M))

  Largest program allocations in hbm:

  1. Size: 512.00M
     Operator: op_type="OneHot" op_name="jit(f)/jvp(one_hot)/eq" source_file="a.py" source_line=7
     Shape: f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}
     Unpadded size: 40.50M
     Extra memory due to padding: 471.50M (12.6x expansion)
     XLA label: %fusion.1668 = f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)} fusion(s32[4,128,128,9]{3,0,2,1:T(4,128)} %copy.130), kind=kLoop
     Allocation type: HLO temp
     ==========================
"#;

const BFC: &str = "\
2026-01-01 12:00:00.1: W bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192)requested by op
I bfc_allocator.cc:1039] BFCAllocator dump for GPU_0_bfc
I bfc_allocator.cc:1046] Bin (256): \tTotal Chunks: 2, Chunks in use: 2. 512B allocated for chunks. 512B in use in bin. 8B client-requested in use in bin.
I bfc_allocator.cc:1095] InUse at 7f1a00000000 of size 256 next 1
I bfc_allocator.cc:1095] Free  at 7f1a72900100 of size 1073741824 next 3
I bfc_allocator.cc:1103] 2 Chunks of size 256 totalling 512B
I bfc_allocator.cc:1114] Stats:
Limit:                      2995781632
InUse:                      1921982976
MaxInUse:                   2863311530
NumAllocs:                        1234
MaxAllocSize:               1921982464
Reserved:                            0
PeakReserved:                        0
LargestFreeBlock:           1073741824
";

/// What loggers and launchers put before each line.
const BEFORE: [&str; 25] = [
    "2026-01-01T12:00:00.123456789Z stderr F ",
    "2026-01-01T12:00:00.123Z ",
    "2026-01-01 12:00:00,123 ERROR train: ",
    "2026-01-01 12:00:00,123 - ERROR - ",
    "[2026-01-01 12:00:00,123][ERROR] ",
    "[2026-01-01 12:00:00] ",
    "ERROR:root:",
    "ERROR    2026-01-01 12:00:00 [train.py:33] ",
    "E0101 12:00:00.124300   27487 pjrt_stream_executor_client.cc:3045] ",
    "Jan 01 12:00:00 host python3[4242]: ",
    "12:00:00 ",
    "  | ",
    "> ",
    "worker-3  | ",
    "[3]: ",
    "[0]stderr: ",
    "[1,3]<stderr>:",
    "[rank3]: ",
    "[default3]:",
    "[pod/train-3/main] ",
    "(RayTrainWorker pid=12, ip=1.2.3.4) ",
    "0: ",
    "node001: ",
    "    ",
    "\u{1b}[31m",
];

#[test]
fn what_loggers_put_before_each_line_changes_nothing() {
    for text in [GPU, TPU, BFC] {
        let bare = ErrorText::read(text);
        assert_eq!(bare.failures.len(), 1);
        assert!(
            bare.failures[0].plan.as_ref().is_some_and(|p| !p.buffers.is_empty()) || bare.pools.len() == 1
        );
        for before in BEFORE {
            let logged: String = text.lines().map(|line| format!("{before}{line}\n")).collect();
            let mut read = ErrorText::read(&logged);
            for failure in &mut read.failures {
                failure.writers.clear();
            }
            assert_eq!(read, bare, "{before}");
        }
    }
}

/// Times and counters differ from line to line.
#[test]
fn numbers_before_lines_may_change() {
    let bare = ErrorText::read(GPU);
    let logged: String =
        GPU.lines().enumerate().map(|(i, line)| format!("12:{i}:0{i}.{i} step {i}: {line}\n")).collect();
    assert_eq!(ErrorText::read(&logged), bare);
}

#[test]
fn a_log_of_powershell_and_colours_are_text_too() {
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(GPU.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(ErrorText::read(&decode(&utf16)), ErrorText::read(GPU));
    // Without its mark, which copying loses.
    assert_eq!(ErrorText::read(&decode(&utf16[2..])), ErrorText::read(GPU));
    assert_eq!(sniff(&utf16[2..1026], utf16.len() as u64 - 2, "train.log"), Kind::Text);
}

/// As Docker and log collectors write it, and as Python's `repr` does, alone and in JSON.
#[test]
fn a_text_in_json_and_in_one_piece_is_the_same_text() {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    for text in [GPU, TPU, BFC] {
        let bare = ErrorText::read(text);
        let docker: String = text
            .lines()
            .map(|line| {
                let log = json(&format!("{line}\n"));
                format!("{{\"log\":{log},\"stream\":\"stderr\",\"time\":\"2026-01-01T12:00:00Z\"}}\n")
            })
            .collect();
        assert_eq!(ErrorText::read(&docker), bare);
        assert_eq!(sniff(docker.as_bytes(), docker.len() as u64, "x-json.log"), Kind::Text);

        // In one line: its numbers are 1.
        let escaped = text.replace('\t', "\\t").replace('\n', "\\n").replace('\'', "\\'");
        for whole in [
            format!("XlaRuntimeError('{escaped}')\n"),
            format!("{{\"level\": \"error\", \"message\": {}}}", json(text)),
            format!("{{\"message\": \"step 3 failed\", \"exc_info\": {}}}", json(text)),
        ] {
            let read = ErrorText::read(&whole);
            assert_eq!(read.failures.len(), 1, "{whole}");
            let (one, of) = (&read.failures[0], &bare.failures[0]);
            let plan = |f: &Failure| f.plan.as_ref().map(|p| (p.totals, p.usage.len(), p.buffers.len()));
            assert_eq!((one.kind, one.requested, plan(one)), (of.kind, of.requested, plan(of)), "{whole}");
            assert_eq!(one.line, 1);
            let limits = |read: &ErrorText| read.pools.iter().map(|p| p.limit_bytes).collect::<Vec<_>>();
            assert_eq!(limits(&read), limits(&bare), "{whole}");
        }
    }
    let cut = "Traceback: 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.\\nBufferAssignment OOM \
               Debugging.'";
    assert_eq!(one(cut).requested, Some(TextSize::exact(3_666_631_960)));
}

/// Lines count as an editor counts them, also where they end as on Windows.
#[test]
fn lines_have_the_numbers_of_an_editor() {
    let text = "a\r\n50%\r100%\r\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 5 bytes.\r\n";
    assert_eq!(one(text).line, 3);
}

#[test]
fn the_exact_sizes_of_a_dump() {
    let read = ErrorText::read(BFC);
    let f = &read.failures[0];
    assert_eq!((f.rounded_bytes, f.allocator.as_deref()), (Some(Bytes(3_666_632_192)), Some("GPU_0_bfc")));
    let pool = &read.pools[0];
    assert_eq!(
        (pool.limit_bytes, pool.free_bytes()),
        (Some(Bytes(2_995_781_632)), Some(Bytes(1_073_798_656)))
    );
    assert_eq!(pool.largest_free, Some(TextSize::exact(1 << 30)));
}

#[test]
fn by_how_much_a_compilation_exceeded() {
    let f = one(
        "Ran out of memory in memory space hbm. Used 15.48G of 15.48G hbm. Exceeded hbm capacity by 1.60M.",
    );
    assert_eq!(f.exceeded_by, TextSize::parse("1.60M"));
    let f = one("Scoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M.");
    assert_eq!((f.limit, f.exceeded_by), (TextSize::parse("16.00M"), TextSize::parse("2.00M")));
}
