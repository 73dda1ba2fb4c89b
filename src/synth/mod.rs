//! Captures made by hand: for the self-test, the page's samples, tests, benchmarks and fuzzing. All of them are
//! labelled synthetic by their host name.
//!
//! * [`space`] writes captures as profilers do; [`module`] makes a module with its memory plan;
//! * [`bfc`] simulates the allocator.

pub mod bfc;
pub mod heap;
pub mod module;
pub mod space;
pub mod wire;
