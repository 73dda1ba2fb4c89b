//! `fragmented`: the free bytes would do, but no piece of them is large enough.

use super::allocator_retry::asked;
use super::case::Case;
use super::draft::Draft;
use super::fixes;
use super::room::Span;
use super::words::name;
use crate::model::{Finding, Severity};
use crate::units::{Bytes, Evidence};

/// The measure of a fragmented pool at the moment of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    free: Bytes,
    pub largest: Bytes,
    request: Bytes,
}

/// Free ≥ request > largest free chunk, beyond the error of that chunk's size.
///
/// A pool that can still be grown can serve a request that no chunk holds; what is given here as the largest chunk counts
/// the part not mapped yet as one.
pub(super) fn chunk(case: &Case) -> Option<Chunk> {
    let (_, retry) = case.failure?.retry?;
    let it = Chunk {
        free: retry.free_bytes?,
        largest: retry.largest_free_bytes?,
        request: retry.missing.as_ref()?.bytes,
    };
    let at_most = it.largest + retry.largest_free_error_bytes?;
    (it.free >= it.request && it.request > at_most).then_some(it)
}

/// Such a failure.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let it = chunk(case)?;
    let (at, retry) = case.failure?.retry?;
    let missing = retry.missing.as_ref()?;
    let module = case
        .failure?
        .execution
        .and_then(|(_, e)| e.module.as_deref())
        .map_or_else(|| "A launch".into(), name);
    let times = it.free.share_of(it.request)?;
    let sentence = format!(
        "{module} asked for {} ({}) with {} free, {times:.1} times as much, but the largest free piece was about {}.",
        it.request,
        asked(missing),
        it.free,
        it.largest
    );
    let draft = Draft::new("fragmented", Severity::Error, "Free memory suffices, but no free piece does")
        .sentence(sentence)
        .bytes("request_bytes", it.request, Evidence::Inferred)
        .bytes("free_bytes", it.free, Evidence::Measured)
        .bytes("largest_free_bytes", it.largest, Evidence::Measured)
        .cause(
            "Fragmentation: small arrays that live long stand between the holes that larger ones left. It is neither the \
             plan nor a leak. Typical after loading a checkpoint, or after large arrays of varying sizes.",
        )
        .fix(first(case, it))
        .fix(async_allocator(case))
        .fix(fixes::plain(
            "stable-sizes",
            "Avoid large arrays of varying sizes beside the step: pad batches to a few shapes, free a checkpoint's buffers \
             before the small arrays that outlive it are made.",
            "Some padding.",
            "",
        ))
        .at("retry", at, "free bytes and largest free chunk when the wait began")
        .at("allocator", case.pool.map(|(i, _)| i), "the arrays alive there");
    Some(draft.done())
}

fn first(case: &Case, it: Chunk) -> Option<crate::model::Fix> {
    let text = "Run the step once before anything else is loaded, then keep its shapes: its block finds one piece and gets \
                it again each time.";
    let how = format!("The request of {} fits the {} free once they are in one piece.", it.request, it.free);
    Some(fixes::freeing(
        case,
        "step-first",
        text,
        "Another order of start-up.",
        Span::exactly(Bytes::ZERO),
        &how,
    ))
}

fn async_allocator(case: &Case) -> Option<crate::model::Fix> {
    if !case.on_gpu() || case.report.platform.vendor.as_deref().is_some_and(|v| v != "Nvidia") {
        return None;
    }
    let mut fix = fixes::plain(
        "cuda-async",
        "Use CUDA's own pool, which can join pieces by remapping them.",
        "Allocation is slower; captures then hold no allocator events.",
        "Helps where the pieces are whole pages of the driver; measure it.",
    );
    fix.code = Some("XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async".into());
    Some(fix)
}
