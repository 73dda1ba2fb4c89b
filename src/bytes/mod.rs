//! Random access to bytes, and the protobuf wire format on top of it. Knows nothing of captures.

mod source;
pub mod wire;
mod window;

pub use source::{ReadError, Source};
pub use window::Window;
