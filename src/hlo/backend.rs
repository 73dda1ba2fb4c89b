//! For what kind of device a module was compiled, where no device plane says it.

use super::module::Hlo;
use crate::bytes::wire::Cursor;
use crate::terms::Backend;

/// Signs are all over a module; so many instructions are looked at.
const LOOKED_AT: usize = 2000;

impl Hlo {
    /// A guess at the kind of device that the module was compiled for: TPU layouts are tiled; XLA:GPU calls its libraries
    /// by names of its own and writes its settings as JSON of known keys. `None` without such a sign.
    #[must_use]
    pub fn guess_backend(&self) -> Option<Backend> {
        let entry = self.entry()?;
        self.instructions_of(entry).take(LOOKED_AT).find_map(|at| {
            let it = self.instruction(at);
            if is_tiled(it.shape) {
                return Some(Backend::Tpu);
            }
            let settings = String::from_utf8_lossy(it.backend_config);
            let is_gpu = ["__cublas", "__cudnn", "__cusolver", "__cub$", "__triton"]
                .iter()
                .any(|library| it.custom_call_target.starts_with(library))
                || ["fusion_backend_config", "operation_queue_id", "gemm_backend_config"]
                    .iter()
                    .any(|key| settings.contains(key));
            is_gpu.then_some(Backend::Gpu)
        })
    }
}

/// Whether an array's `ShapeProto` has a layout (5) with tiles (6).
fn is_tiled(shape: &[u8]) -> bool {
    let mut layouts = Cursor::new(shape).filter(|(number, _)| *number == 5);
    layouts.any(|(_, layout)| Cursor::new(layout.bytes()).any(|(number, _)| number == 6))
}
