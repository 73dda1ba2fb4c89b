//! The synthetic captures that the page carries in itself: samples to look at, and the self-test.

use super::refusal;
use crate::self_test;
use crate::synth::scenarios::ALL;
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// How many of the scenarios are samples.
const SAMPLES: usize = 3;

#[derive(Serialize)]
struct Sample {
    id: &'static str,
    title: &'static str,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    passed: bool,
    detail: String,
}

/// The samples (`Sample[]`).
///
/// # Errors
/// None that are known.
#[wasm_bindgen]
pub fn samples() -> Result<JsValue, JsValue> {
    let made = ALL.iter().take(SAMPLES).map(|(id, make)| Sample { id, title: make().about });
    Ok(serde_wasm_bindgen::to_value(&made.collect::<Vec<_>>())?)
}

/// The bytes of a scenario.
///
/// # Errors
/// A sentence, where there is none of this name.
#[wasm_bindgen]
pub fn sample(id: &str) -> Result<Vec<u8>, JsValue> {
    let (_, make) =
        ALL.iter().find(|(name, _)| *name == id).ok_or_else(|| refusal("there is no such sample"))?;
    Ok(make().bytes)
}

/// Analyses made captures, one for each finding and more, and says what their reports got wrong (`SelfTestCheck[]`).
///
/// # Errors
/// None that are known.
#[wasm_bindgen(js_name = selfTest)]
pub fn self_test() -> Result<JsValue, JsValue> {
    let checks = self_test::outcomes().map(|outcome| Check {
        name: outcome.name,
        passed: outcome.passed(),
        detail: if outcome.passed() { outcome.about.to_owned() } else { outcome.wrong.join("; ") },
    });
    Ok(serde_wasm_bindgen::to_value(&checks.collect::<Vec<_>>())?)
}
