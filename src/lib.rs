//! oomscope says why a JAX program ran out of accelerator memory, from its profiler capture.
//!
//! The layers, each using only those above it: [`bytes`] → [`capture`] and [`hlo`] → [`plan`] and [`run`] → [`join`]
//! → [`facts`] → [`findings`] → [`report`] → the faces (`cli`, `wasm`). ARCHITECTURE.md holds the map and the invariants.
//!
//! The core does no I/O of its own and knows no clock and no browser.

#[forbid(unsafe_code)]
pub mod analysis;
#[forbid(unsafe_code)]
mod arrange;
#[forbid(unsafe_code)]
pub mod bytes;
#[forbid(unsafe_code)]
pub mod capture;
#[cfg(feature = "cli")]
#[forbid(unsafe_code)]
pub mod cli;
#[forbid(unsafe_code)]
pub mod estimate;
#[forbid(unsafe_code)]
pub mod evidence;
#[forbid(unsafe_code)]
pub mod facts;
#[forbid(unsafe_code)]
pub mod findings;
#[forbid(unsafe_code)]
pub mod hlo;
#[forbid(unsafe_code)]
pub mod join;
#[forbid(unsafe_code)]
pub mod model;
#[forbid(unsafe_code)]
pub mod plain;
#[forbid(unsafe_code)]
pub mod plan;
#[forbid(unsafe_code)]
pub mod report;
#[forbid(unsafe_code)]
pub mod run;
#[forbid(unsafe_code)]
pub mod self_test;
#[forbid(unsafe_code)]
pub mod synth;
#[forbid(unsafe_code)]
pub mod terms;
#[forbid(unsafe_code)]
pub mod units;

#[cfg(all(feature = "wasm", target_arch = "wasm32"))]
pub mod wasm;

/// Types of `proto/`, made at build time.
#[forbid(unsafe_code)]
#[allow(missing_docs, clippy::all)]
pub mod proto {
    /// The capture.
    pub mod xspace {
        include!(concat!(env!("OUT_DIR"), "/oomscope.xspace.rs"));
    }
    /// A device memory profile.
    pub mod pprof {
        include!(concat!(env!("OUT_DIR"), "/oomscope.pprof.rs"));
    }
    /// A module with its plan.
    pub mod hlo {
        include!(concat!(env!("OUT_DIR"), "/oomscope.hlo.rs"));
    }
}
