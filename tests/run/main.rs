//! The run and its join with the plans, on real captures and on scenarios with known truth.

mod dump;
mod expected;
mod support;
mod truth;
