//! Archives: what is inside becomes Blobs, which the browser keeps where it likes, and which are then read as files.

use super::blob::unreadable;
use super::{BlobSource, refusal};
use crate::bytes::{ReadError, Source};
use crate::evidence::{HEAD_BYTES, Kind, archive, sniff};
use js_sys::{Array, Function, Uint8Array};
use std::ops::ControlFlow;
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// Bytes unpacked at a time.
const STEP: usize = 1 << 20;

/// Bytes of a gzip file whose inside tells what it is.
const LOOK_INSIDE: u64 = 64 << 10;

#[wasm_bindgen]
unsafe extern "C" {
    /// A Blob of these bytes: many small ones are made while the next bytes are being unpacked.
    #[wasm_bindgen(js_name = oomscopeKeep)]
    fn keep(bytes: &[u8]) -> Blob;
}

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

/// A capture that was gzipped alone, unpacked as its bytes are handed in.
#[wasm_bindgen]
#[allow(missing_debug_implementations)] // what unpacks has none
pub struct Unpacking {
    gunzip: archive::Gunzip,
    /// The packed bytes that were handed in last.
    packed: Vec<u8>,
    /// Where the next ones begin.
    at: f64,
    parts: Array,
    path: String,
}

#[wasm_bindgen]
impl Unpacking {
    /// `undefined` where the archive has to be given to [`unpack`].
    ///
    /// # Errors
    /// A sentence, where it cannot be read.
    pub fn begin(blob: Blob, name: &str) -> Result<Option<Unpacking>, JsValue> {
        let source = BlobSource::new(blob)?;
        let head = source.read_range(0..LOOK_INSIDE).map_err(refusal)?;
        Ok(archive::Gunzip::alone(&head, name).map(|path| Unpacking {
            gunzip: archive::Gunzip::new(source.len(), &archive::Limits::default()),
            packed: Vec::new(),
            at: 0.0,
            parts: Array::new(),
            path,
        }))
    }

    /// As [`super::Opening::wants`].
    pub fn wants(&self) -> Option<f64> {
        (!self.gunzip.ended()).then_some(self.at)
    }

    /// As [`super::Opening::feed`].
    pub fn feed(&mut self, offset: f64, chunk: &Uint8Array) {
        let length = chunk.length() as usize;
        if self.packed.len() < length {
            self.packed.resize(length, 0);
        }
        chunk.copy_to(&mut self.packed[..length]);
        self.at = offset + length as f64;
        self.gunzip.feed(&self.packed[..length], &mut |bytes| {
            self.parts.push(&keep(bytes));
        });
    }

    /// As [`super::Opening::failure`].
    pub fn failure(&self, offset: f64, error: &JsValue) -> String {
        unreadable(offset as u64, error).to_string()
    }

    /// After the last byte: calls `inside(path, blob, damage)` and `passed(path, sentence)` as [`unpack`] does.
    ///
    /// # Errors
    /// None that are known.
    pub fn finish(self, inside: &Function, passed: &Function) -> Result<(), JsValue> {
        let Unpacking { gunzip, parts, path, .. } = self;
        let ended = gunzip.finish(&mut |bytes| {
            parts.push(&keep(bytes));
        });
        let path = JsValue::from(path);
        let said = match ended {
            Ok(said) => {
                let whole = Blob::new_with_blob_sequence(&parts)?;
                inside.call3(&JsValue::NULL, &path, &whole, &said.clone().into())?;
                said
            }
            Err(refusal) => Some(refusal),
        };
        said.map_or(Ok(()), |said| passed.call2(&JsValue::NULL, &path, &said.into()).map(drop))
    }
}

/// Unpacks an archive: calls `inside(path, blob, damage)` for each file that may have a report, where `damage` is a sentence or
/// `undefined`, and `passed(path, sentence)` for each that was passed over or is damaged.
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
            _ => to_blob(file.source).and_then(|blob| {
                let damage = file.source.damage();
                inside.call3(&JsValue::NULL, &file.path.into(), &blob, &damage.into())
            }),
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
        parts.push(&keep(&buffer[..got]));
        at += got as u64;
    }
    Blob::new_with_blob_sequence(&parts)
}
