//! `many-executables`: one function was compiled many times.

use super::case::{Case, device_space};
use super::draft::Draft;
use super::fixes;
use super::op_by_op;
use super::words::name;
use crate::arrange::grouped;
use crate::model::{Finding, Severity};
use crate::units::{Bytes, Evidence};

/// A training and an evaluation batch, a last batch that is shorter, a few lengths: up to here that is normal.
const MANY: usize = 8;

/// The capture holds many modules of one name. In a program that runs op by op they are single operations, which are compiled for
/// each shape as a matter of course.
pub(super) fn find(case: &Case) -> Option<Finding> {
    if op_by_op::runs_op_by_op(case) {
        return None;
    }
    let by_name = grouped(case.report.modules.iter().map(|m| (m.base_name.as_str(), m)));
    let (base, all) =
        by_name.into_iter().max_by_key(|(_, all)| all.len()).filter(|(_, all)| all.len() >= MANY)?;
    let of = |f: fn(&crate::model::Space) -> Bytes| all.iter().filter_map(|m| device_space(m)).map(f);
    let constants: Bytes = of(|s| s.constants_bytes).sum();
    let least = of(|s| s.need_bytes).min()?;
    let most = of(|s| s.need_bytes).max()?;
    let mut sentence = format!(
        "The capture holds {} executables called {}, with needs from {least} to {most}.",
        all.len(),
        name(base)
    );
    if constants.0 >= 1 << 20 {
        sentence += &format!(" Their constants take {constants} together, all the time.");
    }
    let draft = Draft::new("many-executables", Severity::Note, "One function was compiled many times")
        .sentence(sentence)
        .number("executables", all.len() as f64, Evidence::Read)
        .bytes("constants_bytes", constants, Evidence::Read)
        .bytes("least_need_bytes", least, Evidence::Read)
        .bytes("most_need_bytes", most, Evidence::Read)
        .cause(
            "Each new shape, dtype or static argument compiles the function again. Every executable keeps its code and \
             constants on the device, and CUDA graphs keep more that no capture shows.",
        )
        .fix(fixes::plain(
            "pad-shapes",
            "Pad to a few shapes (buckets), and pass values that change as arrays instead of static arguments.",
            "Some padding is computed in vain.",
            "",
        ))
        .fix(clear_caches())
        .at("module", None, "the modules of that name");
    Some(draft.done())
}

fn clear_caches() -> crate::model::Fix {
    let mut fix = fixes::plain(
        "clear-caches",
        "Let go of executables that are no longer used.",
        "Compiling again when they are.",
        "",
    );
    fix.code = Some("jax.clear_caches()".into());
    fix
}
