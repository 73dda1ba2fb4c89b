//! The report: data, and the texts made from it.

mod answers;
mod model;
pub mod plain;
mod text;

pub use answers::*;
pub use model::*;
pub use text::text;
