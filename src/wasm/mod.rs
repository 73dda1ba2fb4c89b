//! The WebAssembly face: thin, no logic of its own. Lives in a worker of the page; `www/worker/main.ts` drives it.
//!
//! Refusals are thrown as strings, sentences for the user. Anything else that is thrown is a fault of this program,
//! after which the instance must not be used again.

mod blob;
mod standin;

use blob::BlobSource;
use js_sys::Uint8Array;
use serde::Serialize;
use standin::{Analysis, Session};
use wasm_bindgen::prelude::*;

/// The words of something that JavaScript threw.
fn message_of(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

fn refusal(error: impl std::fmt::Display) -> JsValue {
    JsValue::from_str(&error.to_string())
}

/// As plain objects, with `null` where Rust has `None`: what `JSON.parse` would make of the JSON.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    value.serialize(&serde_wasm_bindgen::Serializer::json_compatible()).map_err(refusal)
}

#[wasm_bindgen]
unsafe extern "C" {
    /// Tells the worker what a panic said, just before the trap that follows.
    #[wasm_bindgen(js_name = oomscopeFault)]
    fn tell_fault(message: &str);
}

/// Once for each instance.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        tell_fault(&info.to_string());
    }));
}

/// A file that is being read.
#[wasm_bindgen]
pub struct Opening {
    source: BlobSource,
    analysis: Analysis,
    /// Bytes given but not consumed yet: the beginning of an event whose end is in the next chunk.
    carry: Vec<u8>,
    /// Where in the file `carry` starts.
    offset: u64,
    end: u64,
}

#[wasm_bindgen]
impl Opening {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// A sentence that says what the file is, if it is none that can be read.
    #[wasm_bindgen(constructor)]
    pub fn new(blob: web_sys::Blob, name: String) -> Result<Opening, JsValue> {
        let source = BlobSource::new(blob)?;
        let analysis = Analysis::open(&source, name).map_err(refusal)?;
        let range = analysis.stream_range().unwrap_or(0..0);
        Ok(Opening { source, analysis, carry: Vec::new(), offset: range.start, end: range.end })
    }

    /// The first byte to stream.
    #[wasm_bindgen(getter)]
    pub fn start(&self) -> f64 {
        self.offset as f64
    }

    /// One past the last byte to stream; equal to `start` where there is nothing to stream.
    #[wasm_bindgen(getter)]
    pub fn end(&self) -> f64 {
        self.end as f64
    }

    /// The next bytes of the stream.
    pub fn feed(&mut self, chunk: &Uint8Array) {
        let held = self.carry.len();
        self.carry.resize(held + chunk.length() as usize, 0);
        chunk.copy_to(&mut self.carry[held..]);
        let used = self.analysis.feed(self.offset, &self.carry).min(self.carry.len());
        self.carry.drain(..used);
        self.offset += used as u64;
    }

    /// After the last byte.
    ///
    /// # Errors
    /// A sentence, where the file could not be read any more.
    pub fn finish(self) -> Result<Capture, JsValue> {
        let session = self.analysis.finish(&self.source);
        Ok(Capture { session })
    }
}

/// A file that was read.
#[wasm_bindgen]
pub struct Capture {
    session: Session,
}

#[wasm_bindgen]
impl Capture {
    /// The report, of a module by its name or of the one chosen by default.
    ///
    /// # Errors
    /// A sentence, where there is no such module.
    pub fn report(&self, module: Option<String>) -> Result<JsValue, JsValue> {
        to_js(&self.session.report(module.as_deref()))
    }
}
