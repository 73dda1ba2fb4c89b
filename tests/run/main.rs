//! The run and its join with the plans, on real captures and on scenarios with known truth.

mod edits;
mod expected;
mod live;
mod made;
mod robust;
mod support;
mod truth;
