//! The run: what the allocators did, and every execution, from the events of pass 2.
//!
//! [`Recorder`] is the sink of pass 2 and keeps compact records; [`Run::build`] puts them in order, checks them and
//! ties together what belongs together. Nothing here knows a plan; [`crate::join`] brings the two together.

mod absorb;
mod allocator;
mod build;
mod chunked;
mod executions;
mod intern;
mod kernels;
mod labels;
mod launches;
mod line;
mod meaning;
pub mod names;
mod pool;
mod recorder;
mod records;
mod resort;
#[allow(clippy::module_inception)]
mod run;
mod silent;
mod tables;

pub use allocator::{Allocator, Break, Peak, kind_of};
pub use pool::{About, Pool};
pub use recorder::Recorder;
pub use records::{AllocatorEvent, Context, DeviceCopies, UNKNOWN};
pub use run::{DeviceRun, Execution, NamedBy, Place, Program, Retry, Run, Wait};
pub use silent::why_no_allocator_events;
