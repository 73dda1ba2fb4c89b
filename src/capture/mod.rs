//! A profiler capture (XSpace) as planes, lines and events, read without holding the file.
//!
//! Two passes. [`Index::read`] hops over the planes by their lengths and keeps names, metadata and where things lie;
//! [`Stream`] then walks the events of the lines, pushed to it in chunks, and hands each to a [`Sink`]. Lines stand
//! before the metadata that names their events, so one pass cannot do.

mod event;
mod index;
pub mod modules;
mod names;
mod plane;
mod stats;
mod stream;

pub use event::Event;
pub use index::{Index, Unreadable};
pub use modules::ModuleRef;
pub use names::NameTable;
pub use plane::{Line, Plane};
pub use stats::{OwnedValue, RawStats, Stat, StatRef, StatValue, Stats};
pub use stream::{Checkpoint, LineAt, Sink, Stream, read_lines};
