//! The report: data, and the texts made from it.

mod answers;
mod model;
pub mod plain;
mod summary;
mod text;

pub use answers::*;
pub use model::*;
pub use summary::*;
pub use text::{status_words, summary_text, text};
