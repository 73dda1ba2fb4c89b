//! Evidence that belongs beside a capture: the text of a failure, a memory profile.

use super::{BlobSource, refusal};
use crate::analysis;
use crate::bytes::Source;
use crate::evidence::error_text::{ErrorText, decode};
use crate::evidence::{HEAD_BYTES, Kind, sniff};
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// Larger files are captures or nothing that could stand beside one.
const LARGEST: u64 = 64 << 20;

/// What can stand beside a capture.
pub(super) enum Beside {
    /// The text of a failure.
    Text(String),
    /// A memory profile, unpacked.
    Profile(Vec<u8>),
}

/// Whether a file is evidence for a capture and none itself: `text`, `profile`, or `undefined`.
///
/// # Errors
/// A sentence, where it cannot be read.
#[wasm_bindgen(js_name = evidenceKind)]
pub fn evidence_kind(blob: Blob, name: &str) -> Result<Option<String>, JsValue> {
    let found = find(blob, name)?;
    Ok(found.map(|found| match found {
        Beside::Text(_) => "text".to_owned(),
        Beside::Profile(_) => "profile".to_owned(),
    }))
}

/// Reads a file that is evidence.
pub(super) fn read(blob: Blob, name: &str) -> Result<Beside, JsValue> {
    find(blob, name)?.ok_or_else(|| {
        refusal("this is neither the text of a failure nor a memory profile, so it says nothing about the capture")
    })
}

fn find(blob: Blob, name: &str) -> Result<Option<Beside>, JsValue> {
    let source = BlobSource::new(blob)?;
    if source.len() > LARGEST {
        return Ok(None);
    }
    let head = source.read_range(0..HEAD_BYTES as u64).map_err(refusal)?;
    let mut kind = sniff(&head, source.len(), name);
    let bytes = match kind {
        Kind::Gzip => {
            let Ok(bytes) = analysis::unpacked(&source, name, LARGEST) else { return Ok(None) };
            let inside = name.strip_suffix(".gz").unwrap_or(name);
            kind = sniff(&bytes[..bytes.len().min(HEAD_BYTES)], bytes.len() as u64, inside);
            bytes
        }
        Kind::Text | Kind::MemoryProfile => source.read_range(0..source.len()).map_err(refusal)?,
        _ => return Ok(None),
    };
    Ok(match kind {
        Kind::MemoryProfile => Some(Beside::Profile(bytes)),
        Kind::Text => {
            let text = decode(&bytes);
            (!ErrorText::read(&text).is_empty()).then_some(Beside::Text(text))
        }
        _ => None,
    })
}
