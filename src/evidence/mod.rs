//! Evidence beside the capture: error text, memory profiles, XLA's text dumps, and the archives that all of it comes in.
//!
//! Nothing here does I/O; everything reads bytes through [`crate::bytes::Source`] or text that is already in memory.

pub mod archive;
pub mod error_text;
mod foreign;
pub mod memory_profile;
mod sniff;
pub mod xla_text;

pub use foreign::Foreign;
pub use sniff::{HEAD_BYTES, Kind, sniff};
