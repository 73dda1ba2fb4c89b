use crate::support::{read, shared};
use oomscope::report;
#[test]
fn dump() {
    let Ok(want) = std::env::var("DUMP") else { return };
    for p in want.split(',') {
        let it = read(&shared().join(p));
        println!("######## {p}");
        for w in &it.run.warnings {
            println!("  warning {}: {}", w.code, w.message);
        }
        for a in report::run::allocators(&it.run, &it.joined, &it.platform) {
            println!(
                "  {} {:?} dev {:?} cap {:?} share {:?} prealloc {:?} ev {} start {:?} end {:?} peak {:?} at {:?} x{} loss {:?} free {:?} largest {:?} ± {:?} growth {} before {:?}",
                a.name,
                a.kind,
                a.device,
                a.capacity_bytes.map(|b| b.0),
                a.card_share,
                a.preallocated,
                a.events,
                a.in_use_start_bytes.map(|b| b.0),
                a.in_use_end_bytes.map(|b| b.0),
                a.peak_bytes.map(|b| b.0),
                a.peak_at_ps.map(|p| p.to_string()),
                a.peak_times,
                a.rounding_loss_bytes.map(|b| b.0),
                a.free_at_peak_bytes.map(|b| b.0),
                a.largest_free_at_peak_bytes.map(|b| b.0),
                a.largest_free_error_bytes.map(|b| b.0),
                a.pool_growths,
                a.before_capture_at_peak_bytes.map(|b| b.0)
            );
            let r = it.run.allocators.iter().find(|x| x.name == a.name).unwrap();
            println!("     pool {:?} breaks {:?}", r.pool, r.breaks);
            for l in a.live_at_peak.iter().take(6) {
                println!(
                    "     {:?} {:?} {} {:?}",
                    l.bytes.map(|b| b.0),
                    l.allocated_bytes.0,
                    l.origin,
                    l.address
                );
            }
            println!(
                "     timeline {} points: {:?}",
                a.timeline.at_ps.len(),
                a.timeline
                    .owners
                    .iter()
                    .map(|o| (o.owner.clone(), o.bytes.iter().map(|b| b.0).max()))
                    .collect::<Vec<_>>()
            );
        }
        let ex = report::run::executions(&it.run, &it.joined);
        for e in ex.iter().take(4).chain(ex.iter().rev().take(3).rev()) {
            println!(
                "  exec {:?} {:?} dev {:?} {:?} #{} {} +{} inuse {:?} req {} k {:?} {:?} inflight {:?}",
                e.module,
                e.program_id,
                e.device,
                e.allocator,
                e.number,
                e.start_ps,
                e.duration_ps,
                e.in_use_start_bytes.map(|b| b.0),
                e.requested_bytes.len(),
                e.kernels,
                e.outcome,
                e.in_flight
            );
        }
        println!("  execs {} lost parts {}", ex.len(), it.run.len_with_lost() - it.run.len());
        for r in report::run::retries(&it.run, &it.joined) {
            println!("  retry {r:?}");
        }
        let d = it.joined.default_module(&it.run);
        println!("  default {:?} {:?}", d, d.map(|d| it.joined.modules[d.0].name.clone()));
        let m = d.map(|d| d.0);
        for g in report::run::live_at_last_start(&it.run, &it.joined, m).iter().take(12) {
            println!(
                "  live {} {:?} {:?} {:?} n {:?} {} {:?}",
                g.origin, g.kind, g.module, g.execution, g.count, g.bytes, g.frame
            );
        }
        if let Some(w) = oomscope::join::window(&it.run, &it.joined, m) {
            for t in oomscope::join::between(&it.run, &it.index, &&it.bytes[..], &it.checkpoints, w)
                .iter()
                .take(12)
            {
                println!(
                    "  between {} py {} x{} {}",
                    t.name,
                    t.python,
                    t.count,
                    oomscope::units::Picos(t.duration)
                );
            }
        }
        println!(
            "  counts {:?}",
            it.joined
                .modules
                .iter()
                .zip(it.joined.counts(&it.run))
                .filter(|c| c.1 > 0)
                .map(|(m, c)| (m.name.clone(), c))
                .take(12)
                .collect::<Vec<_>>()
        );
        println!(
            "  silent {:?}",
            oomscope::run::why_no_allocator_events(&it.run, it.platform.jax_version.as_deref())
        );
    }
}
