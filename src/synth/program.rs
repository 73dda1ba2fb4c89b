//! What the run has to know of a module.

use crate::proto::hlo::HloProto;

/// A loaded module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// `jit_step`.
    pub name: String,
    /// Its program id.
    pub id: i64,
    /// What a launch allocates, in the order of the plan.
    pub launch: Vec<Planned>,
    /// Sizes of the donated parameters.
    pub donated: Vec<u64>,
    /// Its kernels in the order of the schedule: instruction and name stack.
    pub kernels: Vec<(String, String)>,
    /// Bytes of all parameters.
    pub parameters: u64,
    /// Bytes of parameters, outputs that are no parameters, temporaries and constants, in the device's memory.
    pub need: u64,
}

/// One allocation of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Its index in the plan.
    pub index: i64,
    /// Its size.
    pub bytes: u64,
    /// An output, or else temporary.
    pub output: bool,
    /// The table of the output tuple: freed when the call returns.
    pub table: bool,
    /// The memory space.
    pub color: i64,
}

impl Program {
    /// Reads it from the module's plan.
    #[must_use]
    pub fn of(hlo: &HloProto, id: i64) -> Program {
        let mut program = Program {
            name: String::new(),
            id,
            launch: Vec::new(),
            donated: Vec::new(),
            kernels: Vec::new(),
            parameters: 0,
            need: 0,
        };
        let allocations = hlo.buffer_assignment.iter().flat_map(|a| &a.buffer_allocations);
        for a in allocations.filter(|a| !a.is_thread_local) {
            let bytes = a.size.unsigned_abs();
            if a.color == 0 {
                program.need += bytes;
            }
            if a.is_entry_computation_parameter {
                program.parameters += bytes;
                program.donated.extend(a.maybe_live_out.then_some(bytes));
            } else if !a.is_constant && bytes > 0 {
                program.launch.push(Planned {
                    index: a.index,
                    bytes,
                    output: a.maybe_live_out,
                    table: a.is_tuple && a.maybe_live_out,
                    color: a.color,
                });
            }
        }
        const SILENT: [&str; 7] =
            ["parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "copy-start"];
        if let Some(module) = &hlo.hlo_module {
            program.name.clone_from(&module.name);
            // Bodies of fusions are no kernels of their own.
            let scheduled = module.computations.iter().filter(|c| !c.name.starts_with("fused_computation"));
            program.kernels = scheduled
                .flat_map(|c| &c.instructions)
                .filter(|i| !SILENT.contains(&i.opcode.as_str()))
                .map(|i| (i.name.clone(), i.metadata.as_ref().map_or(String::new(), |m| m.op_name.clone())))
                .collect();
        }
        program
    }

    /// The name with the id, `jit_step(17)`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}({})", self.name, self.id)
    }

    /// Bytes of the temporaries in the device's memory.
    #[must_use]
    pub fn temp(&self) -> u64 {
        self.launch.iter().filter(|p| !p.output && p.color == 0).map(|p| p.bytes).sum()
    }

    /// Bytes of the outputs that are no parameters.
    #[must_use]
    pub fn outputs(&self) -> u64 {
        self.launch.iter().filter(|p| p.output && p.color == 0).map(|p| p.bytes).sum()
    }
}
