//! Random access to bytes, and the protobuf wire format on top of it. Knows nothing of captures.

mod source;
mod window;
pub mod wire;

pub use source::{ReadError, Source};
pub use window::{FieldAt, Window};
