//! The report: data, and the texts made from it.

mod answers;
mod model;

pub use answers::*;
pub use model::*;
