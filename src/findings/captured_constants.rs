//! `captured-constants`: arrays baked into the program.

use super::case::{Case, device_space};
use super::draft::Draft;
use super::fixes;
use super::words::{self, count, name, shape};
use crate::arrange::Arrange;
use crate::model::{Finding, Fix, Severity};
use crate::units::{Bytes, Evidence};

/// Smaller constants are tables and masks that belong there.
const WORTH: u64 = 16 << 20;
/// In a program whose need is small itself, constants are worth a word from this part of it on.
const WORTH_SHARE: f64 = 0.10;
const WORTH_AT_ALL: u64 = 1 << 20;

/// The constants of all modules of one name are large. Each executable holds its own copy, as long as it is loaded. Else, where
/// JAX makes arguments of them, these are.
pub(super) fn find(case: &Case) -> Option<Finding> {
    constants(case).or_else(|| hoisted(case))
}

/// JAX can pass arrays that a function uses from outside along with each call, before its arguments
/// (`jax_use_simplified_jaxpr_constants`): parameters without an argument's name before the first that has one.
fn hoisted(case: &Case) -> Option<Finding> {
    let (module, parameters) = (case.module?, &case.detail?.donation.parameters);
    let first_named = parameters.iter().filter(|p| p.path.is_some()).map(|p| p.number).min()?;
    let mut arrays: Vec<_> =
        parameters.iter().filter(|p| p.number < first_named && p.color == 0 && p.bytes.0 > 0).collect();
    arrays.arrange_by_key(|p| std::cmp::Reverse(p.bytes));
    let bytes: Bytes = arrays.iter().map(|p| p.bytes).sum();
    let share = bytes.share_of(case.need()?).unwrap_or(0.0);
    if bytes.0 < WORTH_AT_ALL || (bytes.0 < WORTH && share < WORTH_SHARE) {
        return None;
    }
    let largest: Vec<String> =
        arrays.iter().take(3).map(|p| format!("`{}` ({})", shape(&p.shape.text), p.bytes)).collect();
    let sentence = format!(
        "{} of the arguments of {}, {}, stand before the first that the call names: {} that the function uses from outside.",
        bytes,
        name(&module.name),
        words::list(&largest),
        if arrays.len() == 1 { "an array" } else { "arrays" }
    );
    let draft = Draft::new("captured-constants", Severity::Note, "Arrays from outside go along with each call")
        .sentence(sentence)
        .bytes("arrays_bytes", bytes, Evidence::Inferred)
        .number("arrays", arrays.len() as f64, Evidence::Inferred)
        .cause(
            "A function that is jitted holds the arrays that it uses from outside: they stay in memory as long as it does, and the \
             caller can neither donate nor shard them.",
        )
        .fix(as_argument(case))
        .at("plan", None, "its parameters without a name");
    Some(draft.done())
}

fn constants(case: &Case) -> Option<Finding> {
    let module = case.module?;
    let mut held = Bytes::ZERO;
    let mut executables = 0u64;
    for m in case.report.modules.iter().filter(|m| m.base_name == module.base_name) {
        let constants = device_space(m).map_or(Bytes::ZERO, |s| s.constants_bytes);
        executables += u64::from(constants.0 >= WORTH_AT_ALL);
        held += constants;
    }
    let own = case.space.map_or(Bytes::ZERO, |s| s.constants_bytes);
    let share = own.share_of(case.need()?).unwrap_or(0.0);
    if own.0 < WORTH_AT_ALL || (held.0 < WORTH && share < WORTH_SHARE) {
        return None;
    }
    let part_of_pool = case.limit().and_then(|(limit, _)| held.share_of(limit)).unwrap_or(0.0);
    let severity = if case.in_trouble() && part_of_pool > 0.05 { Severity::Warning } else { Severity::Note };
    let largest: Vec<String> = case
        .detail
        .map_or(&[][..], |d| &d.constants)
        .iter()
        .take(3)
        .filter(|c| c.bytes.0 > 0)
        .map(|c| {
            let source =
                c.source.as_ref().map_or_else(String::new, |s| format!(" at {}", words::position(s)));
            format!("`{}` ({}){source}", shape(&c.shape), c.bytes)
        })
        .collect();
    let largest =
        if largest.is_empty() { String::new() } else { format!(", the largest {}", words::list(&largest)) };
    let mut sentence = format!("{} holds {own} of constants{largest}.", name(&module.name));
    if executables > 1 {
        sentence += &format!(" With {} of its name that is {held}.", count(executables, "executable"));
    }
    let draft = Draft::new("captured-constants", severity, "Arrays are baked into the program as constants")
        .sentence(sentence)
        .bytes("constants_bytes", own, Evidence::Read)
        .bytes("constants_of_all_bytes", held, Evidence::Read)
        .number("executables", executables as f64, Evidence::Read)
        .cause(
            "A function that is jitted and uses an array from outside takes it in as a constant: beside the array itself, once \
             for each executable.",
        )
        .fix(as_argument(case))
        .at("plan", None, "its constants");
    Some(draft.done())
}

fn as_argument(case: &Case) -> Fix {
    let function = fixes::function(case);
    let mut argument = fixes::plain(
        "pass-as-argument",
        format!("Pass the array to {function} as an argument instead of using it from outside."),
        "None; compilation gets faster too.",
        "The array is then in memory once, and an argument of each call.",
    );
    argument.code = Some(format!("{function} = jax.jit(lambda table, *args: {function}_(table, *args))"));
    argument
}
