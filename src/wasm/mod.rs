//! The WebAssembly face: thin, no logic of its own. Lives in a worker of the page; `www/worker/main.ts` drives it.
//!
//! Refusals are thrown as strings, sentences for the user. Anything else that is thrown is a fault of this program,
//! after which the instance must not be used again.

mod archive;
mod beside;
mod blob;
mod made;

use crate::analysis::{Analysis, Options, Session};
use crate::bytes::Source;
use crate::model::Given;
use crate::report;
use crate::units::{Bytes, Picos};
use beside::Beside;
use blob::BlobSource;
use js_sys::Uint8Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// Rows of a list at most in what the page shows; what it saves is cut as on the command line.
const PAGE_ROWS: usize = 10_000;

/// The words of something that JavaScript threw. A DOMException is no Error by its class, but has a message too.
fn message_of(error: &JsValue) -> String {
    js_sys::Reflect::get(error, &"message".into())
        .ok()
        .and_then(|message| message.as_string())
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

fn refusal(error: impl std::fmt::Display) -> JsValue {
    JsValue::from_str(&error.to_string())
}

/// As plain objects, by way of the JSON: a second way of writing every type of the report would cost a tenth of the core's
/// size. What is small goes by serde-wasm-bindgen.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(&report::to_json(value))
}

#[wasm_bindgen]
unsafe extern "C" {
    /// Tells the worker what a panic said, just before the trap that follows.
    #[wasm_bindgen(js_name = oomscopeFault)]
    fn tell_fault(message: &str);

    /// Tells the worker how far into the file it has read, where that takes long without its help.
    #[wasm_bindgen(js_name = oomscopeProgress)]
    fn tell_progress(done: f64);
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
#[derive(Debug)]
pub struct Opening {
    analysis: Analysis<Box<dyn Source>>,
    /// The first `held` bytes of it were given and are not done with: the beginning of an event whose end comes with the
    /// next chunk. It only grows: to fill it anew for each chunk takes a tenth of all time.
    carry: Vec<u8>,
    held: usize,
    /// Where in the file `carry` starts.
    offset: u64,
}

#[wasm_bindgen]
impl Opening {
    /// Reads the index of a file; `damage` is what [`unpack`](archive::unpack) said of its packing.
    ///
    /// # Errors
    /// A sentence that says what the file is, if it is none that can be read.
    #[wasm_bindgen(constructor)]
    pub fn new(blob: web_sys::Blob, name: &str, damage: Option<String>) -> Result<Opening, JsValue> {
        // As any source, which the self-test reads too: a second core for another type would be in the file.
        let source: Box<dyn Source> = Box::new(BlobSource::new(blob)?.damaged(damage));
        let analysis = Analysis::open(source, name).map_err(refusal)?;
        Ok(Opening { analysis, carry: Vec::new(), held: 0, offset: 0 })
    }

    /// The first byte to stream; `undefined` when all were had.
    pub fn wants(&self) -> Option<f64> {
        self.analysis.wants().map(|range| range.start as f64)
    }

    /// The next bytes of the stream, which lie at `offset` of the file: right behind those before, or at
    /// [`Opening::wants`].
    pub fn feed(&mut self, offset: f64, chunk: &Uint8Array) {
        if self.held == 0 {
            self.offset = offset as u64;
        }
        let end = self.held + chunk.length() as usize;
        if self.carry.len() < end {
            self.carry.resize(end, 0);
        }
        chunk.copy_to(&mut self.carry[self.held..end]);
        let done = self.analysis.feed(self.offset, &self.carry[..end]).min(end);
        self.carry.copy_within(done..end, 0);
        self.held = end - done;
        self.offset += done as u64;
    }

    /// What to say of a stream that failed at `offset`.
    pub fn failure(&self, offset: f64, error: &JsValue) -> String {
        blob::unreadable(offset as u64, error).to_string()
    }

    /// After the last byte.
    ///
    /// # Errors
    /// A sentence, where the file turned out not to be what it said.
    pub fn finish(self) -> Result<Capture, JsValue> {
        Ok(Capture { session: self.analysis.finish().map_err(refusal)?, given: Given::default() })
    }
}

/// A file that was read.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Capture {
    session: Session<Box<dyn Source>>,
    given: Given,
}

#[wasm_bindgen]
impl Capture {
    fn options(&self, module: Option<String>, top: usize) -> Result<Options, JsValue> {
        match &module {
            Some(name) if !self.session.has_module(name) => Err(refusal(self.session.unknown_module(name))),
            _ => Ok(Options { module, top, given: self.given }),
        }
    }

    /// The report (`Report`), of a module by its name or of the one chosen by default.
    ///
    /// # Errors
    /// A sentence, where there is no such module.
    pub fn report(&mut self, module: Option<String>) -> Result<JsValue, JsValue> {
        let options = self.options(module, PAGE_ROWS)?;
        to_js(&self.session.report(&options))
    }

    /// The report as the command line prints it (`text`), as `markdown`, or as `json`, byte for byte.
    ///
    /// # Errors
    /// A sentence, where there is no such module.
    pub fn text(&mut self, kind: &str, module: Option<String>) -> Result<String, JsValue> {
        let options = self.options(module, Options::default().top)?;
        let report = self.session.report(&options);
        Ok(match kind {
            "json" => report::to_json(&report),
            "markdown" => report::markdown(&report),
            _ => report::text(&report),
        })
    }

    /// What is live at an event of the schedule (`PlanMoment`).
    ///
    /// # Errors
    /// A sentence, where there is no such module, or its plan has no schedule.
    #[wasm_bindgen(js_name = planAt)]
    pub fn plan_at(&mut self, event: f64, module: Option<String>) -> Result<JsValue, JsValue> {
        let options = self.options(module, PAGE_ROWS)?;
        to_js(&self.session.plan_at(event as u64, &options).map_err(refusal)?)
    }

    /// The need after several fixes together (`WhatIf`).
    ///
    /// # Errors
    /// A sentence, where there is no such module or fix.
    #[wasm_bindgen(js_name = whatIf)]
    pub fn what_if(&mut self, fixes: Vec<String>, module: Option<String>) -> Result<JsValue, JsValue> {
        let options = self.options(module, PAGE_ROWS)?;
        to_js(&self.session.what_if(&fixes, &options).map_err(refusal)?)
    }

    /// Sets the sizes in bytes of pool and card, which the file does not have: reports hold its plan against them from then on.
    /// `undefined` takes a size away.
    pub fn give(&mut self, pool: Option<f64>, card: Option<f64>) {
        let size = |bytes: f64| Bytes(bytes as u64);
        self.given = Given { pool_bytes: pool.map(size), card_bytes: card.map(size) };
    }

    /// Puts evidence beside the capture: the text of a failure, or a memory profile of the same process. A second one of a
    /// kind takes the place of the first. Reports have it from then on.
    ///
    /// # Errors
    /// A sentence, where the file is neither.
    pub fn add(&mut self, blob: web_sys::Blob, name: &str) -> Result<(), JsValue> {
        match beside::read(blob, name)? {
            Beside::Text(text) => self.session.add_error_text(&text),
            Beside::Profile(bytes) => self.session.add_memory_profile(&bytes).map_err(refusal)?,
        }
        Ok(())
    }

    /// The report of a memory profile with what changed since an earlier one (`Report`).
    ///
    /// # Errors
    /// A sentence, where one of the two is no memory profile.
    pub fn since(&self, blob: web_sys::Blob, name: &str) -> Result<JsValue, JsValue> {
        let options = Options { top: PAGE_ROWS, ..Options::default() };
        let Beside::Profile(bytes) = beside::read(blob, name)? else {
            return Err(refusal("only a memory profile can be compared with another"));
        };
        to_js(&self.session.since(&bytes, &options).map_err(refusal)?)
    }

    /// What is live in an allocator at a moment, in picoseconds from the first event (`LiveMoment`).
    ///
    /// # Errors
    /// A sentence, where there is no such allocator.
    #[wasm_bindgen(js_name = liveAt)]
    pub fn live_at(&self, allocator: &str, picoseconds: f64) -> Result<JsValue, JsValue> {
        to_js(&self.session.live_at(allocator, Picos(picoseconds as i64)).map_err(refusal)?)
    }
}
