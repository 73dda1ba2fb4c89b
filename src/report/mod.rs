//! The report: data, and the texts made from it.

mod answers;
mod json;
mod markdown;
mod model;
pub mod plain;
mod plan;
mod platform;
pub mod run;
mod summary;
mod text;

pub use answers::*;
pub use json::to_json;
pub use markdown::markdown;
pub use model::*;
pub(crate) use plan::cut;
pub use plan::{cut_plan, module, plan_moment, plan_report};
pub use platform::platform;
pub use summary::*;
pub use text::{status_words, summary_text, text, what_if_text};
