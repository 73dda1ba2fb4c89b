//! The driver refused memory: to the pool, to what has none, or to what lies beside it.

use super::{finding, fix, outside, with_sizes};
use crate::evidence::error_text::{CODE, CUDA_ASYNC, Failure, FailureKind, PoolDump};
use crate::model::{Finding, Fix, Severity};

/// The finding that the driver refused memory; `None` where it was somebody else.
pub(super) fn find(failure: &Failure, pool: Option<&PoolDump>) -> Option<Finding> {
    if failure.kind != FailureKind::Driver {
        return None;
    }
    let Some(asked) = failure.requested else { return Some(without_size(failure)) };
    let device = failure.device.map_or_else(String::new, |device| format!(" on device {device}"));
    let mut sentence = format!("The driver was asked for {asked}{device} and did not give it.");
    let of_the_driver = failure.allocator.as_deref() == Some(CUDA_ASYNC);
    let (cause, fixes) = if of_the_driver {
        sentence += &of_the_card(failure, pool);
        (
            "The allocator `cuda_async` has no pool of a size of its own: it takes from the card what is asked for, as far as other \
             processes and what it keeps itself leave it.",
            vec![who_holds_it(), free_them(), other_processes()],
        )
    } else if failure.device.is_some() {
        (
            "It was asked without a pool, as each array is with the allocator `platform`: other processes on the card, or this one's \
             own arrays, leave too little of it.",
            vec![other_processes(), who_holds_it(), free_them()],
        )
    } else {
        (
            "The driver is asked by the pool itself: for its share of the card when the program starts (75 % unless set otherwise), or \
             for more as it grows; and for each array, by the allocator `platform`, which has no pool. Another process holds part \
             of the card, or the share is set too high.",
            vec![other_processes(), outside::smaller_pool(), grow()],
        )
    };
    let mut found = finding("driver-refused", Severity::Error, "The driver refused memory", sentence, cause);
    found.fixes = fixes;
    let sizes = [("request_bytes", Some(asked)), ("free_bytes", failure.free), ("card_bytes", failure.limit)];
    Some(with_sizes(found, &sizes))
}

/// What the text says of the card and of the program's part of it.
fn of_the_card(failure: &Failure, pool: Option<&PoolDump>) -> String {
    let Some((free, total)) = failure.free.zip(failure.limit) else { return String::new() };
    let mut said = format!(" The card has {total}, of which {free} were free");
    if let Some(own) = pool.and_then(|pool| pool.in_use_bytes) {
        let rest = total.about().saturating_sub(free.about()).saturating_sub(own);
        said += &format!(", and the program's own arrays held {own}: the other {rest} were held by");
        said += " other processes, by libraries and the driver itself, or kept by the allocator";
    }
    said + "."
}

/// A message of the driver that does not say how much was asked for.
fn without_size(failure: &Failure) -> Finding {
    if failure.what.as_deref() == Some(CODE) {
        let cause = "Kernels are loaded beside XLA's pool when a program is first run: with a large share of the card in the pool, or \
                     other processes on it, nothing is left for them.";
        let title = "The driver had no memory for the program's code";
        let mut found = finding("driver-refused", Severity::Error, title, "", cause);
        found.sentence = "The compiled kernels of a program could not be loaded on the device.".into();
        found.fixes = vec![
            outside::smaller_pool(),
            other_processes(),
            fix(
                "fewer-executables",
                "Keep fewer programs loaded: fewer shapes and static arguments, `jax.clear_caches()` between phases.",
                "Some compile again.",
                "",
            ),
        ];
        return found;
    }
    let sentence = match failure.sign() {
        Some(sign) => format!("The text has `{sign}`, and does not say what it was asked for."),
        None => "The text does not say what it was asked for.".into(),
    };
    let cause = "The driver gives memory to XLA's pool, and beside it to its own context, to kernels' code and to libraries. What has \
                 to find room beside the pool fails where the pool's share is large or another process holds part of the card.";
    let mut found = finding("driver-refused", Severity::Error, "The driver refused memory", sentence, cause);
    found.fixes = vec![other_processes(), outside::smaller_pool()];
    found
}

/// Who else is on the card.
pub(super) fn other_processes() -> Fix {
    fix(
        "other-processes",
        "See who else is on the card (`nvidia-smi`, `rocm-smi`): end what an earlier run left, and keep TensorFlow, which takes \
         the whole card, off it (`tf.config.set_visible_devices([], \"GPU\")`).",
        "",
        "No text and no capture names other processes.",
    )
}

/// The pool as large as it needs to be.
fn grow() -> Fix {
    let mut fix = fix(
        "grow",
        "Let the pool take what it needs instead of its share at the start.",
        "Its memory comes in pieces, and a large request may find none.",
        "",
    );
    fix.code = Some("XLA_PYTHON_CLIENT_PREALLOCATE=false".into());
    fix
}

/// Which arrays are alive.
pub(super) fn who_holds_it() -> Fix {
    fix(
        "who-holds-it",
        "See who holds the rest: `jax.profiler.save_device_memory_profile(\"memory.prof\")` just before the step names every \
         live array's place in the program; a capture of the failing step shows them over time.",
        "",
        "",
    )
}

/// What need not be alive.
pub(super) fn free_them() -> Fix {
    fix(
        "free-them",
        "Drop what is not needed: results kept in lists (`jax.device_get` or sum them up), a second copy of the parameters, a \
         data set put on the device as a whole.",
        "",
        "",
    )
}
