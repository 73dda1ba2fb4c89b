//! Captures made by hand: for the self-test, the page's samples, tests, benchmarks and fuzzing. All of them are
//! labelled synthetic by their host name.
//!
//! * [`space`] writes captures as profilers do; [`module`] makes a module with its memory plan;
//! * [`bfc`] simulates the allocator, and [`run`] a program that executes modules while it is being profiled;
//! * [`scenarios`] has one small capture for each finding, with what its report has to say, and [`check`] compares;
//! * [`large`] makes captures and modules of any size, for benchmarks.

mod assign;
pub mod bfc;
pub mod check;
pub mod heap;
pub mod large;
mod launch;
pub mod module;
pub mod program;
pub mod rng;
pub mod run;
pub mod scenarios;
pub mod shape;
pub mod space;
pub mod transformer;
pub mod wire;
