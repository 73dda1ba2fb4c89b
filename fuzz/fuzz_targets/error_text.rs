//! Texts of failures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::evidence::error_text::ErrorText;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let read = ErrorText::read(&text);
    std::hint::black_box(read.main());
});
