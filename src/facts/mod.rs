//! What plan, run and capture say, written into the model of the report. Nothing is judged here: that is for the findings.

mod op_by_op;
mod plan;
mod platform;
pub mod run;

pub use op_by_op::op_by_op;
pub use plan::{module, plan_moment, plan_report};
pub use platform::platform;
