//! The four numbers of `compiled.memory_analysis()`, as jaxlib printed them when it compiled the same module.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oomscope::hlo::Hlo;
use oomscope::plan::Summary;
use oomscope::units::Bytes;
use serde_json::Value;
use std::path::Path;

fn agrees(what: &str, summary: &Summary, jax: &Value, temp_too: bool) {
    let ours = summary.memory_analysis.unwrap();
    let of = |key: &str| Bytes(jax[key].as_u64().unwrap());
    assert_eq!(ours.argument_size_in_bytes, of("argument_size_in_bytes"), "{what}: arguments");
    assert_eq!(ours.output_size_in_bytes, of("output_size_in_bytes"), "{what}: outputs");
    assert_eq!(ours.alias_size_in_bytes, of("alias_size_in_bytes"), "{what}: aliases");
    if temp_too {
        assert_eq!(ours.temp_size_in_bytes, of("temp_size_in_bytes"), "{what}: temp");
    }
    let host = summary.space(oomscope::plan::HOST_SPACE).cloned().unwrap_or_default();
    assert_eq!(host.parameters, of("host_argument_size_in_bytes"), "{what}: host arguments");
    assert_eq!(host.donated, of("host_alias_size_in_bytes"), "{what}: host aliases");
    assert_eq!(host.outputs + host.donated, of("host_output_size_in_bytes"), "{what}: host outputs");
}

#[test]
fn plans_of_cuda_and_tpu_agree() {
    let mut compared = 0;
    for folder in ["plans/cuda", "plans/cuda-jax0.12", "plans/scenarios", "plans/tpu"] {
        for path in support::files(folder, ".memory_analysis.json") {
            let module = path.to_string_lossy().replace(".memory_analysis.json", ".hlo.pb");
            let hlo = Hlo::parse(std::fs::read(&module).unwrap()).unwrap();
            let jax = &support::json(&path)["memory_analysis"];
            // On a TPU jaxlib's temp is a number of its own.
            agrees(&module, &Summary::of(&hlo, None), jax, folder != "plans/tpu");
            compared += 1;
        }
    }
    assert!(compared == 0 || compared == 26, "compared {compared}");
}

#[test]
fn captures_agree() {
    let mut compared = 0;
    for path in support::files("captures/made", ".memory_analysis.json") {
        let capture = path.to_string_lossy().replace(".memory_analysis.json", ".xplane.pb");
        let modules = support::hlo_protos(Path::new(&capture));
        let jax = support::json(&path);
        let programs: Vec<(&str, &Value)> = match jax.get("memory_analysis") {
            Some(one) if capture.contains("mlp") => vec![("jit_mlp_step", one)],
            Some(one) => vec![("jit_train_step", one)],
            // The eager capture has two, of which one was compiled from a lambda.
            None => vec![("jit__lambda", &jax["matmul"]), ("jit_tanh", &jax["tanh"])],
        };
        for (name, jax) in programs {
            let (module, bytes) = modules.iter().find(|(m, _)| m.base_name == name).unwrap();
            let hlo = Hlo::parse(bytes.clone()).unwrap();
            agrees(&format!("{capture} {}", module.name), &Summary::of(&hlo, None), jax, true);
            compared += 1;
        }
    }
    assert!(compared == 0 || compared == 10, "compared {compared}");
}
