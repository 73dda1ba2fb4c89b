//! The forms in which programs say that memory ran out, as they stand in terminals and logs.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::evidence::error_text::{ErrorText, Failure, FailureKind, TextSize};
use oomscope::units::Bytes;

fn one(text: &str) -> Failure {
    let read = ErrorText::read(text);
    assert_eq!(read.failures.len(), 1, "{:#?}", read.failures);
    read.failures.into_iter().next().unwrap()
}

fn exact(n: u64) -> Option<TextSize> {
    Some(TextSize::exact(n))
}

fn size(text: &str) -> Option<TextSize> {
    Some(TextSize::parse(text).unwrap())
}

#[test]
fn the_sentence_of_each_version() {
    let f =
        one("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.");
    assert_eq!((f.kind, f.requested, f.line), (FailureKind::DevicePool, exact(3_666_631_960), 1));

    let f = one(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB.",
    );
    assert_eq!((f.kind, f.requested), (FailureKind::DevicePool, size("3.41GiB")));

    // 2026: allocator, device and payloads, here broken by a terminal.
    let f = one(
        "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB\nwith allocator GPU_0_bfc on \
         device 0.\n[executable_name='jit_greater'] [tf-allocator-allocation-error='']",
    );
    assert_eq!(f.requested, size("1.95GiB"));
    assert_eq!(f.allocator.as_deref(), Some("GPU_0_bfc"));
    assert_eq!((f.device, f.executable.as_deref()), (Some(0), Some("jit_greater")));

    let f =
        one("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12.13GiB with allocator GPU_0_bfc");
    assert_eq!((f.allocator.as_deref(), f.device), (Some("GPU_0_bfc"), None));

    let f = one(
        "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 64.00GiB. Please set the environment \
                 variable XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB to allocate larger host memory than the default 64 GB.",
    );
    assert_eq!((f.kind, f.requested), (FailureKind::HostPool, size("64.00GiB")));

    let f = one(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.00GiB with allocator xla_gpu_host_bfc on device 0.",
    );
    assert_eq!(f.kind, FailureKind::HostPool);
    let f = one(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.00GiB with allocator GPU_collectivememory_1_bfc on device 1.",
    );
    assert_eq!((f.kind, f.device), (FailureKind::CollectivePool, Some(1)));

    let f = one("RESOURCE_EXHAUSTED: Out of memory allocating 1099511627776 bytes.");
    assert_eq!((f.kind, f.requested), (FailureKind::Host, exact(1 << 40)));

    let f = one(
        "RESOURCE_EXHAUSTED: Failed to allocate request for 154.06GiB (165425291480B) on device ordinal 3",
    );
    assert_eq!((f.kind, f.requested, f.device), (FailureKind::Driver, exact(165_425_291_480), Some(3)));
}

#[test]
fn the_log_and_the_status_are_one_failure() {
    let text = "\
2026-01-01 12:00:00.123456: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192)requested by op \n\
2026-01-01 12:00:00.123999: W external/xla/xla/tsl/framework/bfc_allocator.cc:512] ****________________________________________________________________________________________________\n\
E0101 12:00:00.124300   27487 pjrt_stream_executor_client.cc:3045] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes. [tf-allocator-allocation-error='']\n\
Traceback (most recent call last):\n\
  File \"/home/u/train.py\", line 40, in <module>\n\
    state = step(state, batch)\n\
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes. [tf-allocator-allocation-error='']\n";
    let f = one(text);
    assert_eq!(f.requested, exact(3_666_631_960));
    assert_eq!(f.rounded_bytes, Some(Bytes(3_666_632_192)));
    assert_eq!((f.allocator.as_deref(), f.count, f.line), (Some("GPU_0_bfc"), 3, 1));
    // The lower end of a partitioned pool.
    let newer = text.replace(")requested by op", ") from the lower end requested by op");
    assert_eq!(one(&newer), f);
}

#[test]
fn two_devices_are_two_failures() {
    let text = "\
W bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.50GiB (rounded to 4831838208)requested by op \n\
E pjrt_stream_executor_client.cc:3045] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4831838208 bytes.\n\
W bfc_allocator.cc:501] Allocator (GPU_1_bfc) ran out of memory trying to allocate 4.50GiB (rounded to 4831838208)requested by op \n\
E pjrt_stream_executor_client.cc:3045] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4831838208 bytes.\n";
    let read = ErrorText::read(text);
    let found: Vec<_> =
        read.failures.iter().map(|f| (f.allocator.as_deref().unwrap(), f.requested, f.count)).collect();
    assert_eq!(found, [("GPU_0_bfc", exact(4_831_838_208), 2), ("GPU_1_bfc", exact(4_831_838_208), 2)]);
}

#[test]
fn lines_of_several_processes_interleave() {
    let block = |rank: u32| {
        [
            format!(
                "[rank {rank}] RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2110783616 bytes."
            ),
            format!("[rank {rank}] BufferAssignment OOM Debugging."),
            format!("[rank {rank}] BufferAssignment stats:"),
            format!("[rank {rank}]              parameter allocation:    1.02GiB"),
            format!("[rank {rank}]      preallocated temp allocation:    1.97GiB"),
            format!("[rank {rank}] Peak buffers:"),
            format!("[rank {rank}] \tBuffer 1:"),
            format!("[rank {rank}] \t\tSize: 1004.50MiB"),
            format!("[rank {rank}] \t\tEntry Parameter Subshape: f16[2048,257152]"),
            format!("[rank {rank}] \t\t=========================="),
        ]
    };
    let (a, b) = (block(3), block(4));
    let text: String = a.iter().zip(&b).flat_map(|(x, y)| [x.as_str(), "\n", y, "\n"]).collect();
    let f = one(&text);
    assert_eq!((f.count, f.writers.as_slice()), (2, &["[rank 3]".to_owned(), "[rank 4]".into()][..]));
    let plan = f.plan.unwrap();
    assert_eq!((plan.totals.parameter, plan.totals.temp), (size("1.02GiB"), size("1.97GiB")));
    assert_eq!(plan.buffers.len(), 1);
    assert!(plan.buffers[0].parameter);
    assert_eq!(plan.buffers[0].shape.as_deref(), Some("f16[2048,257152]"));
}

const DEBUGGING: &str = r#"Out of memory while trying to allocate 34912723376 bytes.
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
		Size: 3.24GiB
		Operator: op_name="state.params[\'w\']" stack_frame_id=12
		XLA Label: custom-call
		Shape: (f32[128,2605], s8[4194304])
		==========================

	Buffer 3:
		Size: 559.67MiB
		Entry Parameter Subshape: f32[11,5120,2605]
		==========================

"#;

#[test]
fn the_plan_in_the_message() {
    let f = one(DEBUGGING);
    let plan = f.plan.unwrap();
    let t = plan.totals;
    assert_eq!(
        [t.parameter, t.constant, t.maybe_live_out],
        [size("5.43GiB"), size("38.7KiB"), size("1.73GiB")]
    );
    assert_eq!([t.temp, t.temp_fragmentation], [size("32.51GiB"), size("2.0KiB")]);
    assert_eq!([t.total, t.total_fragmentation], [size("39.68GiB"), size("1.73GiB")]);
    assert!(t.temp.unwrap().contains(f.requested.unwrap().least_bytes), "the request is the temp block");
    let [a, b, c] = plan.buffers.as_slice() else { panic!("{:#?}", plan.buffers) };
    assert_eq!(a.op_name.as_deref(), Some("jit(step)/jit(main)/transpose(jvp(layer))/mul"));
    let source = a.source.as_ref().unwrap();
    assert_eq!((source.file.as_str(), source.line), ("/home/u/my model.py", Some(1307)));
    assert_eq!((a.opcode.as_deref(), a.shape.as_deref()), (Some("fusion"), Some("f32[128,2605,2605]")));
    assert_eq!(b.op_name.as_deref(), Some("state.params['w']"));
    assert_eq!((b.source.as_ref(), b.shape.as_deref()), (None, Some("(f32[128,2605], s8[4194304])")));
    assert!(c.parameter && !a.parameter);
    assert_eq!(c.size, size("559.67MiB"));
}

#[test]
fn the_block_alone_and_repeated_by_the_traceback() {
    let (_, block) = DEBUGGING.split_once('\n').unwrap();
    let f = one(block);
    assert_eq!((f.kind, f.requested, f.plan.unwrap().buffers.len()), (FailureKind::DevicePool, None, 3));
    let twice = format!(
        "E0528 07:02:44.350251   27487 client.cc:2826] Execution of replica 0 failed: RESOURCE_EXHAUSTED: {DEBUGGING}\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: {DEBUGGING}"
    );
    let f = one(&twice);
    assert_eq!((f.count, f.plan.unwrap().buffers.len()), (2, 3));
}

#[test]
fn names_broken_by_the_terminal() {
    let broken = DEBUGGING.replace("transpose(jvp(l", "transpose(jvp(l\n");
    let plan = one(&broken).plan.unwrap();
    assert_eq!(plan.buffers[0].op_name.as_deref(), Some("jit(step)/jit(main)/transpose(jvp(layer))/mul"));
    assert_eq!(plan.buffers[0].source.as_ref().unwrap().line, Some(1307));
    assert_eq!(plan.buffers.len(), 3);
}

#[test]
fn a_tpu_program_that_did_not_compile() {
    let text = r#"ValueError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.60G of 16.00G hbm. Exceeded hbm capacity by 1.60G.

Total hbm usage >= 18.11G:
    reserved        528.00M
    program          17.08G
    arguments       unknown size

Output size 1.20G; shares 1.10G with arguments.

Program hbm requirement 17.08G:
    reserved          12.0K
    global           980.0K
    scoped            5.41M
    HLO temp         17.08G (92.8% utilization: Unpadded (6.40G) Padded (6.90G), 0.3% fragmentation (53.61M))

  Largest program allocations in hbm:

  1. Size: 512.00M
     Operator: op_type="OneHot" op_name="jit(f)/jvp(one_hot)/eq" source_file="a.py" source_line=7
     Shape: f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}
     Unpadded size: 40.50M
     Extra memory due to padding: 471.50M (12.6x expansion)
     XLA label: %fusion.1668 = f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)} fusion(s32[4,128,128,9]{3,0,2,1:T(4,128)} %copy.130), kind=kLoop, calls=%fused_computation.1304, metadata={op_type="OneHot" op_name="one_hot"}
     Allocation type: HLO temp
     ==========================

  2. Size: 256.00M
     Shape: bf16[4,512,512,64]{3,0,2,1:T(4,128)(2,1)}
     Unpadded size: 128.00M
     XLA label: %fusion.20231 = (bf16[4,512,512,64]{3,0,2,1:T(4,128)(2,1)}, f32[]) custom-call(f32[64]{0:T(256)} %get-tuple-element.73199, f32[64]{0:T(256)} %get-tup...
     Allocation type: HLO temp
     ==========================

  3. Size: 128.00M
     Shape: f32[4096,8192]{1,0:T(8,128)}
     Unpadded size: 128.00M
     XLA label: args_0_.1
     Allocation type: arguments
     ==========================
"#;
    let f = one(text);
    assert_eq!((f.kind, f.requested, f.limit), (FailureKind::CompileDevice, size("17.60G"), size("16.00G")));
    let plan = f.plan.unwrap();
    let usage = |of: &str, name: &str| plan.usage.iter().find(|u| u.of == of && u.name == name).unwrap().size;
    assert_eq!(usage("total", "all"), size("18.11G"));
    assert_eq!(usage("total", "reserved"), size("528.00M"));
    assert_eq!(usage("total", "arguments"), None);
    assert_eq!(usage("output", "shares with arguments"), size("1.10G"));
    assert_eq!(usage("program", "HLO temp"), size("17.08G"));
    assert_eq!(usage("program", "HLO temp, unpadded"), size("6.40G"));
    assert_eq!(usage("program", "HLO temp, fragmentation"), size("53.61M"));
    let [a, b, c] = plan.buffers.as_slice() else { panic!("{:#?}", plan.buffers) };
    assert_eq!((a.size, a.unpadded), (size("512.00M"), size("40.50M")));
    assert_eq!(a.op_name.as_deref(), Some("jit(f)/jvp(one_hot)/eq"));
    assert_eq!((a.instruction.as_deref(), a.opcode.as_deref()), (Some("fusion.1668"), Some("fusion")));
    assert_eq!((b.instruction.as_deref(), b.opcode.as_deref()), (Some("fusion.20231"), Some("custom-call")));
    assert!(c.parameter && !a.parameter);
}

#[test]
fn other_sentences_of_the_tpu() {
    let f = one(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (54.42G) exceeds available HBM (15.75G).",
    );
    assert_eq!((f.kind, f.requested, f.limit), (FailureKind::CompileDevice, size("54.42G"), size("15.75G")));

    let f = one(
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G",
    );
    assert_eq!((f.kind, f.error_code.as_deref()), (FailureKind::CompileDevice, Some("E1000")));
    assert_eq!(f.requested.unwrap().to_string(), "208.92 GiB");

    let f = one(
        "RESOURCE_EXHAUSTED: Allocation (size=107374182400) would exceed memory (size=17179869184) :: #allocation7 [shape = 'u8[327680,327680]{1,0:T(8,128)(4,1)}', space=hbm, size = 0xffffffffffffffff, tag = 'output of xor_convert_fusion@{}'] :: <no-hlo-instruction>",
    );
    assert_eq!(
        (f.kind, f.requested, f.limit),
        (FailureKind::CompileDevice, exact(107_374_182_400), exact(17_179_869_184))
    );
    let f = one(
        "RESOURCE_EXHAUSTED: Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation25 [shape = 'u8[134217728]{0}', space=vmem, size = 0x8000000, tag = 'scoped memory for kernel.2'] :: kernel.2",
    );
    assert_eq!(f.kind, FailureKind::CompileVmem);

    let f = one(
        "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack for %gmm.1 = f32[16384,512]{1,0:T(8,128)} custom-call(...)\nScoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M.",
    );
    assert_eq!((f.kind, f.requested, f.limit), (FailureKind::CompileVmem, size("18.00M"), size("16.00M")));

    let f = one(
        "ValueError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. There are 6.43M free.; (0x0x1_HBM0)",
    );
    assert_eq!((f.kind, f.requested, f.free), (FailureKind::DevicePool, size("8.00M"), size("6.43M")));
    let f = one(
        "RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 8.89G at the bottom of memory. That was not possible. There are 8.67G free, 0B reserved, and 8.67G reservable.",
    );
    assert_eq!((f.requested, f.free), (size("8.89G"), size("8.67G")));
}

#[test]
fn what_is_not_the_devices_memory() {
    for (text, kind) in [
        (
            "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 131072, available: 101376, context: [Fusion",
            FailureKind::KernelSharedMemory,
        ),
        ("RESOURCE_EXHAUSTED: Shared memory size limit exceeded.", FailureKind::KernelSharedMemory),
        (
            "E0101 cuda_dnn.cc:502] There was an error before creating cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
            FailureKind::Library,
        ),
        ("INTERNAL: NCCL WARN Failed to CUDA malloc 4194304 bytes", FailureKind::Collectives),
        ("transport.cc:12 NCCL WARN Cuda failure 2 'out of memory'", FailureKind::Collectives),
        (
            "RESOURCE_EXHAUSTED: Underlying backend ran out of memory trying to instantiate command buffer with 30 (total of 40 alive graphs in the process).",
            FailureKind::Graphs,
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
            FailureKind::PyTorch,
        ),
        ("[ 100.1] Out of memory: Killed process 4242 (python3) total-vm:1kB", FailureKind::Host),
    ] {
        let f = one(text);
        assert_eq!(f.kind, kind, "{text}");
        assert!(!f.kind.is_device_memory());
    }
    let f =
        one("RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 131072, available: 101376, x");
    assert_eq!((f.requested, f.limit), (exact(131_072), exact(101_376)));
    // Where something of the device's memory is there too, that is what the report is about.
    let text = "CUDNN_STATUS_ALLOC_FAILED\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB.\nRESOURCE_EXHAUSTED: Shared memory size limit exceeded.";
    assert_eq!(ErrorText::read(text).main().unwrap().kind, FailureKind::DevicePool);
}

#[test]
fn an_allocation_that_may_fail_is_no_failure_of_the_program() {
    let f = one(
        "W bfc_allocator.cc:271] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
    );
    assert_eq!((f.kind, f.requested), (FailureKind::DevicePoolOptional, size("2.16GiB")));
    let f = one(
        "W bfc_allocator.cc:271] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB from the lower end with freed_by_count=0.",
    );
    assert_eq!(f.kind, FailureKind::DevicePoolOptional);
}

#[test]
fn the_dump_of_a_pool() {
    let text = "\
I bfc_allocator.cc:1039] BFCAllocator dump for GPU_0_bfc\n\
I bfc_allocator.cc:1046] Bin (256): \tTotal Chunks: 2, Chunks in use: 2. 512B allocated for chunks. 512B in use in bin. 8B client-requested in use in bin.\n\
I bfc_allocator.cc:1062] Bin for 3.41GiB was 256.00MiB, Chunk State: \n\
I bfc_allocator.cc:1068]   Size: 1.00GiB | Requested Size: 1.00GiB | in_use: 0 | bin_num: 20, prev:   Size: 256B\n\
I bfc_allocator.cc:1075] Next region of size 2995781632\n\
I bfc_allocator.cc:1095] InUse at 7f1a00000000 of size 256 next 1\n\
I bfc_allocator.cc:1095] InUse at 7f1a00000100 of size 1921982464 next 2\n\
I bfc_allocator.cc:1095] Free  at 7f1a72900100 of size 1073741824 next 3\n\
I bfc_allocator.cc:1095] Free  at 7f1ab2900100 of size 56832 next 18446744073709551615\n\
I bfc_allocator.cc:1100]      Summary of in-use Chunks by size: \n\
I bfc_allocator.cc:1103] 2 Chunks of size 256 totalling 512B\n\
I bfc_allocator.cc:1103] 1 Chunks of size 1921982464 totalling 1.79GiB\n\
I bfc_allocator.cc:1107] Sum Total of in-use chunks: 1.79GiB\n\
I bfc_allocator.cc:1109] Allocator memory summary: rounded request 3.41GiB, total free in pool 1.00GiB, largest free chunk usable by lower end 1.00GiB, unallocated bytes 0B, pool size 2.79GiB, pool limit 2.79GiB\n\
I bfc_allocator.cc:1114] Stats: \n\
Limit:                      2995781632\n\
InUse:                      1921982976\n\
MaxInUse:                   2863311530\n\
NumAllocs:                        1234\n\
MaxAllocSize:               1921982464\n\
Reserved:                            0\n\
PeakReserved:                        0\n\
LargestFreeBlock:           1073741824\n\
\n\
W bfc_allocator.cc:512] ****************************************************************____________________________________\n\
after";
    let read = ErrorText::read(text);
    assert_eq!(read.failures, []);
    let [dump] = read.pools.as_slice() else { panic!("{:#?}", read.pools) };
    assert_eq!(dump.allocator.as_deref(), Some("GPU_0_bfc"));
    assert_eq!(dump.limit_bytes, Some(Bytes(2_995_781_632)));
    assert_eq!(
        (dump.in_use_bytes, dump.free_bytes()),
        (Some(Bytes(1_921_982_976)), Some(Bytes(1_073_798_656)))
    );
    assert_eq!(dump.peak_in_use_bytes, Some(Bytes(2_863_311_530)));
    assert_eq!(dump.largest_free, exact(1_073_741_824), "of the list of chunks, which is exact");
    let chunks: Vec<_> = dump.in_use.iter().map(|c| (c.bytes.0, c.count)).collect();
    assert_eq!(chunks, [(1_921_982_464, 1), (256, 2)]);
    assert_eq!((dump.pool, dump.unmapped), (size("2.79GiB"), exact(0)));
}

#[test]
fn what_rematerialization_reached() {
    let text = "W hlo_rematerialization.cc:3021] Can't reduce memory use below 2.58GiB (2768240640 bytes) by rematerialization; only reduced to 31.49GiB (33811139404 bytes), down from 32.00GiB (34359738368 bytes) originally";
    let [remat] = ErrorText::read(text).rematerialization[..] else { panic!() };
    assert_eq!(
        (remat.target, remat.reached, remat.original),
        (exact(2_768_240_640), TextSize::exact(33_811_139_404), exact(1 << 35))
    );
    let negative = "Can't reduce memory use below -25.62GiB (-27506732520 bytes) by rematerialization; only reduced to 48.25GiB (51808779708 bytes), down from 48.25GiB (51808779708 bytes) originally";
    let [remat] = ErrorText::read(negative).rematerialization[..] else { panic!() };
    assert_eq!((remat.target, remat.reached), (None, TextSize::exact(51_808_779_708)));
    let old = "Can't reduce memory use below 2.58GiB by rematerialization;\nonly reduced to 31.49GiB (33811139404 bytes)";
    let [remat] = ErrorText::read(old).rematerialization[..] else { panic!() };
    assert_eq!((remat.target, remat.reached), (size("2.58GiB"), TextSize::exact(33_811_139_404)));
}

#[test]
fn other_text_says_nothing() {
    for text in [
        "",
        "hello",
        "step 3 loss 2.71\nsaved 3.41GiB",
        "Traceback (most recent call last):\nTypeError: x",
        "out of memory",
    ] {
        assert!(ErrorText::read(text).is_empty(), "{text}");
    }
    let f = one("RESOURCE_EXHAUSTED: the quota of requests is used up");
    assert_eq!((f.kind, f.what.as_deref()), (FailureKind::Unknown, Some("the quota of requests is used up")));
}

/// Pieces of real lines in any order: no panic, and time linear in the length.
#[test]
fn no_text_breaks_it() {
    let text = [DEBUGGING, "Free  at 1 of size 9\nStats:\nLimit: 5\nTotal hbm usage >= 1G:\n 1. Size: 2G\n XLA label: %a = ((f32[2] b(c\n(size= [rank é\n"].concat();
    let lines: Vec<&str> = text.lines().collect();
    let mut state = 5u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for _ in 0..2000 {
        let mut out = String::new();
        for _ in 0..random(30) {
            let line = lines[random(lines.len())];
            let cut = (0..=random(line.len() + 1)).rev().find(|&i| line.is_char_boundary(i)).unwrap();
            out.push_str(&line[..cut]);
            out.push_str(["\n", " ", "", "\r"][random(4)]);
        }
        let _ = ErrorText::read(&out);
    }
    let long = "step Out of memory while trying to allocate nothing\n\t\tOperator: x\n".repeat(40_000);
    let start = std::time::Instant::now();
    let _ = ErrorText::read(&long);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn the_failure_outlives_a_thousand_that_the_program_can_do_without() {
    let optional = |i: u64| {
        format!("Allocator (GPU_0_bfc) ran out of memory trying to allocate {i}B with freed_by_count=0.\n")
    };
    let many = |n: std::ops::Range<u64>| n.map(|i| optional(1000 + i)).collect::<String>();
    let failure = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3661631960 bytes.\n";
    let text = ErrorText::read(&(many(0..700) + failure + &many(700..3000)));
    let main = text.main().unwrap();
    assert_eq!((main.kind, main.requested, main.line), (FailureKind::DevicePool, exact(3_661_631_960), 701));
    // Of the others the first ones.
    assert_eq!(text.failures.len(), 500);
    assert_eq!((text.failures[0].line, text.failures[498].line, text.failures[499].line), (1, 499, 701));
}

#[test]
fn lists_longer_than_any_message_are_cut() {
    let buffers: String =
        (1..5000).map(|i| format!("Buffer {i}:\n\tSize: {}B\n\tShape: f32[{i}]\n", 1_000_000 - i)).collect();
    let text = ErrorText::read(&format!(
        "Out of memory while trying to allocate 77 bytes.\nPeak buffers:\n{buffers}"
    ));
    let plan = text.main().unwrap().plan.as_ref().unwrap();
    assert_eq!(plan.buffers.len(), 100);
    assert_eq!(plan.buffers[0].size, exact(999_999));

    let dumps: String = (1..300)
        .map(|i| format!("BFCAllocator dump for GPU_0_bfc\nStats:\nLimit: {}\n", 1_000_000 + i))
        .collect();
    let text = ErrorText::read(&dumps);
    assert_eq!(text.pools.len(), 100);
    assert_eq!(text.pools[99].limit_bytes.unwrap().0, 1_000_299, "the last ones stay");
}
