//! Scenarios of other programs: a scan, an initialization, many small modules.

use super::super::module::{Builder, Style, Value};
use super::super::run::{Array, Call, Card, Client, Session};
use super::super::shape::{
    Element::{Bf16, F32, S32, U32},
    Shape, shape,
};
use super::steps::card;
use super::{Scenario, Truth, scenario};
use crate::proto::hlo::HloProto;

/// A step over 32 blocks in one scan, whose forward loop stacks what the backward loop reads.
fn scanned_step() -> HloProto {
    const LAYERS: i64 = 32;
    let (x, w) = (shape(Bf16, &[4, 2048, 4096]), shape(Bf16, &[LAYERS, 4096, 4096]));
    let mut m = Builder::new("jit_train_step", Style::New);
    m.at(&[("scan.py", 9, "layers"), ("train.py", 48, "loss_fn"), ("train.py", 61, "train_step")]);
    let weights = m.parameter("state.params['layers']", w.clone());
    let input = m.parameter("batch['x']", x.clone());
    let counter = m.op("copy", "", shape(S32, &[]), &[]);
    let start = m.op("copy", "jit(train_step)/jvp(layers)/convert_element_type", x.clone(), &[input]);
    let stacked = |m: &mut Builder, element| {
        let dims = [LAYERS, 4, 2048, 4096];
        m.op("broadcast", "jit(train_step)/jvp(layers)/broadcast_in_dim", shape(element, &dims), &[])
    };
    let (inputs, hidden) = (stacked(&mut m, Bf16), stacked(&mut m, F32));
    let forward = |what: &str| format!("jit(train_step)/jvp(layers)/while/body/closed_call/{what}");
    let carried = [counter, start, weights, inputs, hidden];
    let out = m.while_loop("jit(train_step)/jvp(layers)/while", LAYERS as u64, &carried, |m, v| {
        let save = "jit(train_step)/jvp(layers)/while/body/dynamic_update_slice";
        let inputs = m.in_place("dynamic-update-slice", save, v[3], &[v[1], v[0]]);
        let up =
            m.op("gemm_fusion_dot", &forward("dot_general"), shape(F32, &[4, 2048, 4096]), &[v[1], v[2]]);
        let hidden = m.in_place("dynamic-update-slice", save, v[4], &[up, v[0]]);
        let x = m.op("loop_tanh_fusion", &forward("tanh"), shape(Bf16, &[4, 2048, 4096]), &[up]);
        let next = m.op("add", &forward("add"), shape(S32, &[]), &[v[0]]);
        vec![next, x, v[2], inputs, hidden]
    });
    let back = |what: &str| format!("jit(train_step)/transpose(jvp(layers))/while/body/closed_call/{what}");
    let again = m.op("copy", "", shape(S32, &[]), &[]);
    let dx = m.op("loop_subtract_fusion", "jit(train_step)/transpose(jvp())/sub", x, &[out[1]]);
    let gradients = m.op("broadcast", "jit(train_step)/transpose(jvp(layers))/broadcast_in_dim", w, &[]);
    let carried = [again, dx, weights, out[3], out[4], gradients];
    let done =
        m.while_loop("jit(train_step)/transpose(jvp(layers))/while", LAYERS as u64, &carried, |m, v| {
            let dup =
                m.op("loop_multiply_fusion", &back("mul"), shape(F32, &[4, 2048, 4096]), &[v[1], v[4], v[0]]);
            let dw = m.op("gemm_fusion_dot", &back("dot_general"), shape(Bf16, &[4096, 4096]), &[dup, v[3]]);
            let save = "jit(train_step)/transpose(jvp(layers))/while/body/dynamic_update_slice";
            let gradients = m.in_place("dynamic-update-slice", save, v[5], &[dw]);
            let dx =
                m.op("gemm_fusion_dot", &back("dot_general"), shape(Bf16, &[4, 2048, 4096]), &[dup, v[2]]);
            let next = m.op("add", &back("add"), shape(S32, &[]), &[v[0]]);
            vec![next, dx, v[2], v[3], v[4], gradients]
        });
    m.at(&[("optimizer.py", 20, "apply"), ("train.py", 63, "train_step")]);
    let new = m.in_place("loop_add_fusion", "jit(train_step)/sub", weights, &[done[5]]);
    m.finish(&[new])
}

pub(super) fn scan_residuals() -> Scenario {
    let mut s = Session::new(Client::CommonWithRetries, card(10_600_000_000));
    let program = s.load(&scanned_step(), 17);
    let mut truth = Truth::of(&program, s.allocator(0).limit);
    let state: Vec<Array> = program.donated.iter().filter_map(|&bytes| s.allocate(0, bytes).ok()).collect();
    s.start();
    s.enter("$train.py:142 main", &[]);
    let batch = s.device_put(0, program.parameters - state.iter().map(|a| a.block.requested).sum::<u64>());
    let ran = s.execute(&program, Call::default());
    truth.saw(&ran[0]);
    batch.into_iter().for_each(|array| s.drop_array(array));
    truth.peak = Some(s.recorded_peak(0));
    scenario(
        "scan-residuals",
        "A scan over the layers stacks what each of them keeps for the backward pass.",
        (&["stacked-residuals", "step-does-not-fit", "allocator-retry"], &[]),
        (truth, s.finish()),
    )
}

/// Random weights for four devices, which XLA makes whole on each and then cuts.
fn unsharded() -> HloProto {
    let whole = |element| shape(element, &[32, 14336, 4096]);
    let mut m = Builder::new("jit_init", Style::New);
    m.devices(4);
    m.at(&[("init.py", 18, "init"), ("train.py", 30, "main")]);
    let key = m.parameter("key", shape(U32, &[2]));
    let bits = m.op("loop_xor_fusion", "jit(init)/threefry2x32", whole(U32), &[key]);
    let normal = m.op("loop_multiply_fusion", "jit(init)/mul", whole(F32), &[bits]);
    let cut = shape(Bf16, &[32, 14336, 1024]);
    let weights = m.op("loop_convert_fusion", "jit(init)/convert_element_type", cut, &[normal]);
    m.finish(&[weights])
}

pub(super) fn unsharded_init() -> Scenario {
    let mut s = Session::new(Client::Common, Card { count: 4, ..card(85_520_809_984) });
    let program = s.load(&unsharded(), 17);
    let mut truth = Truth::of(&program, s.allocator(0).limit);
    s.start();
    s.enter("$train.py:142 main", &[]);
    truth.saw(&s.execute(&program, Call::default())[0]);
    s.block_until_ready();
    truth.peak = Some(s.recorded_peak(0));
    scenario(
        "unsharded-init",
        "Weights for four devices are made whole on each of them.",
        (&["unsharded"], &[]),
        (truth, s.finish()),
    )
}

/// A module of one operation.
fn single(name: &str, inputs: usize, shape: &Shape) -> HloProto {
    let mut m = Builder::new(&format!("jit_{name}"), Style::New);
    m.at(&[("model.py", 10 + name.len() as i32, "forward"), ("train.py", 61, "step")]);
    let inputs: Vec<Value> = (0..inputs).map(|i| m.parameter(["x", "y"][i % 2], shape.clone())).collect();
    let out = m.op(&format!("loop_{name}_fusion"), &format!("jit({name})/{name}"), shape.clone(), &inputs);
    m.finish(&[out])
}

pub(super) fn many_shapes() -> Scenario {
    let mut s = Session::new(Client::Common, card(85_520_809_984));
    s.start();
    s.enter("$serve.py:142 main", &[]);
    let mut truth = Truth { capacity: Some(s.allocator(0).limit), ..Truth::default() };
    // Requests of every length are a compilation each.
    for n in 0..40 {
        let program = s.load(&single("generate", 1, &shape(F32, &[1, 100 + n, 4096])), 1000 + n);
        s.enter("$serve.py:88 handle", &[]);
        let input = s.device_put(0, program.parameters);
        for ran in s.execute(&program, Call::default()) {
            ran.outputs.into_iter().for_each(|array| s.drop_array(array));
        }
        s.block_until_ready();
        input.into_iter().for_each(|array| s.drop_array(array));
        s.leave();
    }
    truth.peak = Some(s.recorded_peak(0));
    scenario(
        "many-shapes",
        "One function is compiled for each of forty lengths.",
        (&["many-executables"], &[]),
        (truth, s.finish()),
    )
}

pub(super) fn op_by_op() -> Scenario {
    const OPS: [&str; 8] = ["multiply", "add", "exp", "tanh", "divide", "subtract", "rsqrt", "where"];
    let mut s = Session::new(Client::Common, card(12_000_000_000));
    let mut truth = Truth { capacity: Some(s.allocator(0).limit), ..Truth::default() };
    let _ = s.allocate(0, 100 << 20);
    s.start();
    s.enter("$train.py:142 main", &[]);
    s.enter("$model.py:20 forward", &[]);
    for n in 0..160 {
        // Each operation on each new shape is a module of its own; what it returns is kept for the gradient.
        let dims = [8 + n / 8, 512, 8192];
        let op = OPS[n as usize % OPS.len()];
        let program = s.load(&single(op, 1 + n as usize % 2, &shape(F32, &dims)), 79 + 2 * n);
        let ran = s.execute(&program, Call::default()).remove(0);
        truth.in_use_at_last_start = Some(ran.in_use_at_start);
        if let Some((planned, no_room)) = ran.failed {
            // Which of the modules of its name failed, no event says: it obtained nothing and launched nothing.
            debug_assert!(no_room.free < planned.bytes);
            break;
        }
    }
    truth.peak = Some(s.recorded_peak(0));
    scenario(
        "op-by-op",
        "A program without jit: every intermediate is an array, and all are kept.",
        (&["op-by-op", "allocator-retry"], &["live-arrays"]),
        (truth, s.finish()),
    )
}
