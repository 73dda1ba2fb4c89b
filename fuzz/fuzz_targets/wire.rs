//! The cursor over protobuf's wire format: never past the end, never backwards.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::bytes::Window;
use oomscope::bytes::wire::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let mut cursor = Cursor::new(bytes);
    let mut before = 0;
    while let Ok(Some(_)) = cursor.field() {
        assert!(cursor.position() > before && cursor.position() <= bytes.len());
        before = cursor.position();
    }
    // The same fields through a window smaller than the file.
    let mut window = Window::new(bytes, 16);
    let mut at = 0;
    while at < bytes.len() as u64 {
        let Ok(Some(field)) = window.field(at) else { break };
        assert!(field.end > at && field.start <= field.end);
        at = field.end;
    }
});
