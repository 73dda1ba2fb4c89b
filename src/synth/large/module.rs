//! A module of any number of instructions.

use super::super::module::{Builder, Style, Value};
use super::super::rng::Rng;
use super::super::shape::{Element, shape};
use crate::proto::hlo::HloProto;

/// A training step of about so many instructions: layers of different sizes, values that live short and long, a loop
/// now and then, and fusions with instructions inside.
#[must_use]
pub fn module(instructions: u64, seed: u64) -> HloProto {
    const OPS: [&str; 7] = [
        "dot_general",
        "reduce_sum",
        "mul",
        "add",
        "convert_element_type",
        "transpose",
        "dynamic_update_slice",
    ];
    const KINDS: [&str; 8] = [
        "loop_add_fusion",
        "gemm_fusion_dot",
        "input_reduce_fusion",
        "loop_multiply_fusion",
        "transpose",
        "copy",
        "convert",
        "custom-call",
    ];
    const ELEMENTS: [Element; 4] = [Element::Bf16, Element::F32, Element::F32, Element::S32];
    let mut rng = Rng(seed);
    let mut m = Builder::new("jit_train_step", Style::New);
    let any_shape = |rng: &mut Rng| {
        let dims: Vec<i64> = (0..1 + rng.below(3)).map(|_| 1 << rng.below(12)).collect();
        shape(ELEMENTS[rng.below(4) as usize], &dims)
    };
    let count = (instructions / 200).clamp(2, 2000);
    let parameters: Vec<Value> = (0..count)
        .map(|i| {
            let shape = any_shape(&mut rng);
            m.parameter(&format!("state.params['layer_{}']['kernel_{}']", i / 4, i % 4), shape)
        })
        .collect();
    let mut recent: Vec<Value> = parameters.clone();
    let mut made = count;
    while made < instructions {
        let layer = made * 64 / instructions.max(1);
        let pass = if made * 2 < instructions { "jvp(GPT)" } else { "transpose(jvp(GPT))" };
        let name = format!("jit(train_step)/{pass}/layer_{layer}/{}", OPS[rng.below(7) as usize]);
        m.at(&[
            ("model.py", 10 + rng.below(400) as i32, "__call__"),
            ("train.py", 48, "loss_fn"),
            ("train.py", 61, "train_step"),
        ]);
        // Mostly what was just made, now and then something much older.
        let old = |rng: &mut Rng, recent: &[Value]| {
            let back = 1 + if rng.one_in(50) { rng.below(2000) } else { rng.below(6) };
            recent[recent.len().saturating_sub(back as usize)]
        };
        let operands = [old(&mut rng, &recent), old(&mut rng, &recent)];
        let kind = KINDS[rng.below(8) as usize];
        let result = any_shape(&mut rng);
        let value = if rng.one_in(16) {
            made += 3;
            let inner = [("multiply", name.as_str()), ("add", name.as_str())];
            m.unnamed_fusion("loop_fusion", &inner, result, &operands)
        } else if rng.one_in(500) {
            made += 12;
            let trip = 1 + rng.below(100);
            let out = m.while_loop(&format!("{name}/while"), trip, &operands[..1], |m, carried| {
                let inside = m.op("loop_tanh_fusion", &format!("{name}/while/body/tanh"), result, carried);
                vec![m.in_place("add", &format!("{name}/while/body/add"), carried[0], &[inside])]
            });
            out[0]
        } else if rng.one_in(12) {
            m.in_place("loop_add_fusion", &name, operands[0], &operands[1..])
        } else {
            m.op(kind, &name, result, &operands)
        };
        made += 1;
        recent.push(value);
    }
    let mut outputs: Vec<Value> = parameters
        .iter()
        .map(|p| m.in_place("loop_add_fusion", "jit(train_step)/add", *p, &recent[recent.len() - 1..]))
        .collect();
    let loss = m.op("reduce", "jit(train_step)/jvp()/reduce_sum", shape(Element::F32, &[]), &[]);
    outputs.push(loss);
    m.finish(&outputs)
}
