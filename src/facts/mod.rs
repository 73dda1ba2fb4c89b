//! What plan, run and capture say, written into the model of the report. Nothing is judged here: that is for the findings.

mod plan;
mod platform;
pub mod run;

pub use plan::{module, plan_moment, plan_report};
pub use platform::platform;
