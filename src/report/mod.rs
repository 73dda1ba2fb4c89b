//! The report: data, and the texts made from it.

mod model;

pub use model::*;
