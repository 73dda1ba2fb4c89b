//! Any file, from its first bytes to the texts of its report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::analysis::{Options, read};
use oomscope::report::{markdown, text, to_json};

fuzz_target!(|bytes: &[u8]| {
    for name in ["host.xplane.pb", "module.hlo_proto.pb", "memory.prof"] {
        let Ok(mut session) = read(bytes, name, |_| {}) else { continue };
        let options = Options::default();
        let report = session.report(&options);
        assert_eq!(to_json(&report), to_json(&session.report(&options)));
        assert!(!text(&report).is_empty() && !markdown(&report).is_empty());
        let _ = session.plan_at(3, &options);
    }
});
