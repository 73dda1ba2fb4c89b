//! Large captures, on all cores.

use super::files::FileSource;
use crate::analysis::{Analysis, Part, Refusal, Session};
use crate::bytes::Source;
use rayon::prelude::*;

/// Fewer bytes of events than this are not worth another part.
const WORTH: u64 = 8 << 20;
/// Parts for each thread: lines are of very different lengths, and none is cut.
const PARTS: usize = 4;

/// Reads a file of any kind but an archive.
///
/// # Errors
/// As [`crate::analysis::read`].
pub fn read<'a>(source: &'a FileSource, name: &str) -> Result<Session<&'a dyn Source>, Refusal> {
    let mut analysis = Analysis::open(source as &dyn Source, name)?;
    let most = usize::try_from(analysis.bytes_to_stream() / WORTH).unwrap_or(usize::MAX);
    if let Some((index, mut parts)) = analysis.split(most.clamp(1, PARTS * rayon::current_num_threads())) {
        parts.par_iter_mut().with_max_len(1).try_for_each(|part: &mut Part| part.read(index, source))?;
        analysis.join(parts);
    }
    analysis.finish()
}
