//! A compiled module with its memory plan (`HloProto`), indexed.
//!
//! Modules of 200,000 instructions have to fit beside everything else in a browser's tab, so the bytes are kept as they
//! came and walked once ([`Hlo::parse`]). What is asked of all instructions is noted in that walk: opcode, name stack and
//! shape by number, so that what follows from them is found once for many, and the operands. The rest of an instruction is
//! looked at in place when it is asked for. Small messages (shapes, frames, aliases) are decoded by prost.
//!
//! Field numbers and their traps are in `proto/hlo.proto`.

mod assignment;
mod backend;
mod fields;
mod flow;
mod frames;
mod ids;
mod inside;
mod instruction;
mod known;
mod loops;
mod module;
mod namestack;
mod parse;
mod read_plan;
mod schedule;
mod shape;

pub use assignment::{Allocation, Assigned, BufIx, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer};
pub use flow::Flow;
pub use inside::{Origin, Origins};
pub use instruction::{InstrIx, Instruction};
pub use loops::{Loop, TripCount};
pub use module::{Computation, Hlo};
pub use namestack::{is_library_call, role_of};
pub use parse::NotHlo;
pub(crate) use shape::decode as decode_shape;
pub use shape::{Shape, element_bits, element_name, leaves, logical_bytes, print as print_shape, subshape};
