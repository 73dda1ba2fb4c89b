//! The texts made from a report: terminal, Markdown, JSON; many hosts as one summary.

mod json;
mod markdown;
mod summary;
mod text;

pub use json::to_json;
pub use markdown::markdown;
pub use summary::*;
pub use text::{status_words, summary_text, text, what_if_text};
