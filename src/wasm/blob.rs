//! A browser's Blob as a [`Source`].

use crate::bytes::{ReadError, Source};
use js_sys::Uint8Array;
use std::cell::{Cell, RefCell};
use wasm_bindgen::JsValue;
use web_sys::{Blob, FileReaderSync};

/// Bytes of one page. A read of a Blob costs 0.3 to 0.8 ms however short it is, so hops are served from whole pages.
const PAGE: u64 = 64 << 10;
/// Pages kept: pass 1 goes back and forth between a plane's lines and its metadata, seldom further.
const PAGES: usize = 16;
/// Bytes from one word of progress to the next.
const TELL_EVERY: u64 = 4 << 20;

/// A Blob, read synchronously: works only in a worker.
#[derive(Debug)]
pub struct BlobSource {
    blob: Blob,
    /// What was wrong with the packing that it came in.
    damage: Option<String>,
    reader: FileReaderSync,
    /// The pages read last, newest last, each with its offset.
    pages: RefCell<Vec<(u64, Vec<u8>)>>,
    /// The end of what was told to be read.
    told: Cell<u64>,
}

impl BlobSource {
    /// Reads `blob`.
    ///
    /// # Errors
    /// Outside a worker, where there is no `FileReaderSync`.
    pub fn new(blob: Blob) -> Result<BlobSource, JsValue> {
        let (reader, pages, told) = (FileReaderSync::new()?, RefCell::default(), Cell::new(0));
        Ok(BlobSource { blob, damage: None, reader, pages, told })
    }

    /// One that came in a damaged packing.
    pub fn damaged(self, damage: Option<String>) -> BlobSource {
        BlobSource { damage, ..self }
    }

    /// The bytes from `offset` to `end`, as the browser holds them.
    fn fetch(&self, offset: u64, end: u64) -> Result<Uint8Array, ReadError> {
        if offset >= self.told.get() + TELL_EVERY {
            self.told.set(offset);
            super::tell_progress(offset as f64);
        }
        let read = || -> Result<Uint8Array, JsValue> {
            let part = self.blob.slice_with_f64_and_f64(offset as f64, end as f64)?;
            Ok(Uint8Array::new(self.reader.read_as_array_buffer(&part)?.as_ref()))
        };
        read().map_err(|error| unreadable(offset, &error))
    }
}

/// What to say when the browser cannot read a file that it once could.
pub(super) fn unreadable(offset: u64, error: &JsValue) -> ReadError {
    let said = super::message_of(error);
    let said = said.trim_end_matches('.');
    ReadError {
        offset,
        message: format!(
            "{said}. The file was moved, changed or locked since it was chosen: choose it again"
        ),
    }
}

impl Source for BlobSource {
    fn len(&self) -> u64 {
        self.blob.size() as u64
    }

    fn damage(&self) -> Option<String> {
        self.damage.clone()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let end = offset.saturating_add(buf.len() as u64).min(self.len());
        if offset >= end {
            return Ok(0);
        }
        let want = (end - offset) as usize;
        if want as u64 > PAGE {
            // Straight into the caller's memory.
            let bytes = self.fetch(offset, end)?;
            let got = want.min(bytes.length() as usize);
            bytes.subarray(0, got as u32).copy_to(&mut buf[..got]);
            return Ok(got);
        }
        let mut pages = self.pages.borrow_mut();
        let mut done = 0;
        while done < want {
            let at = offset + done as u64;
            let start = at - at % PAGE;
            let page = match pages.iter().position(|(held, _)| *held == start) {
                Some(index) => pages.remove(index),
                None => {
                    let bytes = self.fetch(start, start.saturating_add(PAGE).min(self.len()))?;
                    if pages.len() == PAGES {
                        pages.remove(0);
                    }
                    (start, bytes.to_vec())
                }
            };
            let rest = page.1.get((at - start) as usize..).unwrap_or_default();
            let n = rest.len().min(want - done);
            buf[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
            pages.push(page);
            if n == 0 {
                break; // the file shrank under us
            }
        }
        Ok(done)
    }
}
