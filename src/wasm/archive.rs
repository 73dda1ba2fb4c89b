//! Archives: what is inside becomes Blobs, which the browser keeps where it likes, and which are then read as files.

use super::{BlobSource, refusal};
use crate::bytes::{ReadError, Source};
use crate::evidence::{HEAD_BYTES, Kind, archive, sniff};
use js_sys::{Array, Function, Uint8Array};
use std::ops::ControlFlow;
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// Bytes unpacked at a time.
const STEP: usize = 1 << 20;

/// Whether a file is an archive, to be given to [`unpack`].
///
/// # Errors
/// A sentence, where it cannot be read.
#[wasm_bindgen(js_name = isArchive)]
pub fn is_archive(blob: Blob, name: &str) -> Result<bool, JsValue> {
    let source = BlobSource::new(blob)?;
    let head = source.read_range(0..HEAD_BYTES as u64).map_err(refusal)?;
    Ok(matches!(sniff(&head, source.len(), name), Kind::Gzip | Kind::Zip | Kind::Tar))
}

/// Unpacks an archive: calls `inside(path, blob)` for each file that may have a report, and `passed(path, sentence)` for
/// each that was passed over or is damaged.
///
/// # Errors
/// A sentence, where the archive cannot be read.
#[wasm_bindgen]
pub fn unpack(blob: Blob, name: &str, inside: &Function, passed: &Function) -> Result<(), JsValue> {
    let source = BlobSource::new(blob)?;
    let mut failed = None;
    let notes = archive::walk(&source, name, &archive::Limits::default(), &mut |file| {
        let told = match file.kind {
            Kind::Foreign(what) => passed.call2(&JsValue::NULL, &file.path.into(), &what.what().into()),
            Kind::Text => passed.call2(&JsValue::NULL, &file.path.into(), &"text".into()),
            _ => to_blob(file.source).and_then(|blob| inside.call2(&JsValue::NULL, &file.path.into(), &blob)),
        };
        match told {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })
    .map_err(refusal)?;
    if let Some(error) = failed {
        return Err(error);
    }
    for note in notes {
        passed.call2(&JsValue::NULL, &note.path.into(), &note.sentence.into())?;
    }
    Ok(())
}

/// All bytes of a source.
fn to_blob(source: &dyn Source) -> Result<Blob, JsValue> {
    let parts = Array::new();
    let mut buffer = vec![0; STEP.min(usize::try_from(source.len()).unwrap_or(STEP))];
    let mut at = 0;
    while at < source.len() {
        let got = source.read_at(at, &mut buffer).map_err(|error: ReadError| refusal(error))?;
        if got == 0 {
            break; // damaged: what could be unpacked counts
        }
        parts.push(&Uint8Array::from(&buffer[..got]));
        at += got as u64;
    }
    Blob::new_with_u8_array_sequence(&parts)
}
