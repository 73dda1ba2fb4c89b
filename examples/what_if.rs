//! Prints what fixes would do to a module's need: `what_if MODULE.hlo.pb remat,batch/2`; without fixes, what each that is offered would.

use oomscope::estimate::{Estimator, parse_list};
use oomscope::hlo::Hlo;
use oomscope::plan::Plan;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: what_if MODULE.hlo.pb [FIX,FIX…]")?;
    let bytes = std::fs::read(&file).map_err(|e| format!("{file}: {e}"))?;
    let hlo = Hlo::parse(bytes).map_err(|e| format!("{file} is no HloProto: {e}"))?;
    let estimator =
        Estimator::new(&hlo, &Plan::build(&hlo, None)).ok_or(format!("{file} has no buffer assignment"))?;
    let wanted = match arguments.next() {
        Some(list) => vec![parse_list(&list).map_err(|e| e.to_string())?],
        None => estimator.offered().into_iter().map(|fix| vec![fix]).collect(),
    };
    for fixes in wanted {
        let it = estimator.what_if(&fixes);
        println!("{}: {} → {} … {}", it.id, it.need, it.least, it.most);
        println!("  {} {} {}", it.need.0, it.least.0, it.most.0);
        println!("  acts on {}: {}", it.acts_on, it.how);
        println!("  costs: {}", it.cost);
    }
    Ok(())
}
