//! Whose an array is.

use super::Joined;
use crate::run::names::Class;
use crate::run::{Allocator, Place, Run};
use crate::terms::{LiveKind, NO_HOST_EVENT};

/// Whose an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// A planned allocation of an execution: execution, and position in its module's launch allocations.
    Planned(usize, usize),
    /// Inside an execution, outside its plan, and of the size of a donated parameter: the copy of an argument that was
    /// not given away.
    Copied(usize),
    /// Inside an execution, and in no plan, or the plan is unknown.
    Unplanned(usize),
    /// A place of the host program.
    Place(usize),
    /// Inside the capture, and the capture does not say where.
    Nowhere,
    /// Allocated before the capture started.
    BeforeCapture,
    /// Bytes that lost events leave unexplained.
    Unexplained,
}

/// Arrays that belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// In words: `outputs of jit_step execution 3`.
    pub origin: String,
    /// The kind of origin.
    pub kind: LiveKind,
    /// The module, for outputs and temp.
    pub module: Option<String>,
    /// The execution's number, for outputs and temp.
    pub execution: Option<u64>,
    /// The Python frame around the allocation.
    pub frame: Option<String>,
}

impl Joined {
    /// Whose the array is that the event with this number allocated.
    #[must_use]
    pub fn owner(&self, allocators: &[Allocator], allocator: usize, event: u32) -> Owner {
        let Some(e) = allocators.get(allocator).and_then(|a| a.by_number(event)) else {
            return Owner::Nowhere;
        };
        if let Some(execution) = e.context.execution() {
            return match self.requests.planned(execution, allocator, event) {
                Some(planned) => Owner::Planned(execution, planned),
                None => {
                    let donated = self.module_of(execution).is_some_and(|m| m.donated.contains(&e.requested));
                    if donated { Owner::Copied(execution) } else { Owner::Unplanned(execution) }
                }
            };
        }
        e.context.place().map_or(Owner::Nowhere, Owner::Place)
    }

    /// The kind of an owner.
    #[must_use]
    pub fn kind(&self, run: &Run, owner: Owner) -> LiveKind {
        match owner {
            Owner::Planned(execution, planned) => {
                let module = self.module_of(execution);
                match module.is_some_and(|m| m.is_temp(planned)) {
                    true => LiveKind::Temp,
                    false => LiveKind::Outputs,
                }
            }
            // Of an execution without a plan the allocations are outputs or temp: which, nobody knows.
            Owner::Copied(_) | Owner::Unplanned(_) => LiveKind::Outputs,
            Owner::Place(place) => match run.places.get(place).map(|p| p.class) {
                Some(Class::Transfer) => LiveKind::DevicePut,
                Some(Class::Outputs) => LiveKind::Outputs,
                _ => LiveKind::Other,
            },
            Owner::Nowhere | Owner::Unexplained => LiveKind::Other,
            Owner::BeforeCapture => LiveKind::BeforeCapture,
        }
    }

    fn module_of(&self, execution: usize) -> Option<&super::Module> {
        self.executions.get(execution)?.module().and_then(|m| self.modules.get(m))
    }

    /// The module's name of an execution: of the module it was joined with, else the one that the run gives.
    #[must_use]
    pub fn module_name(&self, run: &Run, execution: usize) -> Option<String> {
        if let Some(module) = self.module_of(execution) {
            return Some(module.name.clone());
        }
        let e = run.execution(execution)?;
        let name = e.module().map(|m| m.0);
        match (e.program(), name) {
            (Some(program), Some(name)) => Some(format!("{name}({})", program.id)),
            (_, name) => name.map(str::to_owned),
        }
    }

    /// `jit_step execution 3`; executions whose span was lost have no number.
    fn execution_name(&self, run: &Run, execution: usize) -> String {
        let base = match self.module_of(execution) {
            // Only the id tells programs of one name apart.
            Some(module) if module.shares_name => module.name.clone(),
            Some(module) => module.base_name.clone(),
            None => {
                let name = run.execution(execution).and_then(|e| e.module().map(|m| m.0.to_owned()));
                name.unwrap_or_else(|| "an unnamed module".into())
            }
        };
        if execution >= run.len() {
            return format!("an execution of {base} that the capture lost in part");
        }
        let number = self.executions.get(execution).map_or(0, |e| e.number);
        format!("{base} execution {number}")
    }

    /// Numbers of the outputs that an array holds.
    pub fn output_numbers(&self, owner: Owner) -> impl Iterator<Item = u64> {
        let allocation = match owner {
            Owner::Planned(execution, planned) => {
                self.module_of(execution).and_then(|m| m.launch.get(planned))
            }
            _ => None,
        };
        allocation.into_iter().flat_map(|a| a.outputs.iter().map(|o| o.number))
    }

    /// An owner that stands for all whose arrays belong to the same group.
    #[must_use]
    pub fn representative(&self, owner: Owner) -> Owner {
        let Owner::Planned(execution, planned) = owner else { return owner };
        Owner::Planned(execution, self.module_of(execution).map_or(planned, |m| m.first_like(planned)))
    }

    /// The group that an owner's arrays belong to.
    #[must_use]
    pub fn group(&self, run: &Run, owner: Owner) -> Group {
        let kind = self.kind(run, owner);
        let of_execution = |origin: String, execution: usize| Group {
            origin,
            kind,
            module: self.module_name(run, execution),
            execution: (execution < run.len())
                .then(|| self.executions.get(execution).map(|e| u64::from(e.number)))
                .flatten(),
            frame: run.execution(execution).and_then(|e| e.place()).and_then(|p| p.frame.clone()),
        };
        let plain = |origin: &str| Group {
            origin: origin.to_owned(),
            kind,
            module: None,
            execution: None,
            frame: None,
        };
        match owner {
            Owner::Planned(execution, _) => {
                let what = if kind == LiveKind::Temp { "temp" } else { "outputs" };
                of_execution(format!("{what} of {}", self.execution_name(run, execution)), execution)
            }
            Owner::Copied(execution) => {
                let name = self.execution_name(run, execution);
                of_execution(format!("copies of donated arguments of {name}"), execution)
            }
            Owner::Unplanned(execution) => {
                let name = self.execution_name(run, execution);
                let has_plan = self.module_of(execution).is_some_and(|m| m.has_plan);
                let origin = if has_plan {
                    format!("outside the plan of {name}")
                } else {
                    format!("allocated by {name}")
                };
                of_execution(origin, execution)
            }
            Owner::Place(place) => match run.places.get(place) {
                Some(place) => Group { kind, frame: place.frame.clone(), ..plain(&describe(place)) },
                None => plain("a place that is unknown"),
            },
            Owner::Nowhere => plain("a place that is unknown"),
            Owner::BeforeCapture => plain(crate::terms::BEFORE_CAPTURE),
            Owner::Unexplained => plain("not explained: events of the allocator were lost"),
        }
    }

    /// Where memory was given back, in words, and the Python frame around it.
    #[must_use]
    pub fn freeing(&self, run: &Run, freed: &super::FreedBy) -> (String, Option<String>) {
        if let Some(execution) = freed.execution {
            let frame = run.execution(execution).and_then(|e| e.place()).and_then(|p| p.frame.clone());
            return (self.execution_name(run, execution), frame);
        }
        match freed.place.and_then(|p| run.places.get(p)) {
            Some(place) => (describe(place), place.frame.clone()),
            None => (NO_HOST_EVENT.to_owned(), None),
        }
    }

    /// One array in words: its group, and for an output its number, shape and path.
    #[must_use]
    pub fn describe(&self, run: &Run, owner: Owner) -> String {
        let Owner::Planned(execution, planned) = owner else { return self.group(run, owner).origin };
        let name = self.execution_name(run, execution);
        match self.module_of(execution).and_then(|m| m.launch.get(planned)) {
            Some(allocation) => format!("{} of {name}", allocation.what()),
            None => format!("an allocation of {name}"),
        }
    }
}

/// A place in words: the host event, with the shape that it or the allocation gives.
fn describe(place: &Place) -> String {
    let event = place.event.as_deref().or(place.inner_frame.as_deref());
    let mut text = match event {
        // TensorFlow names operations `name:Type`, TraceMes of classes `Class::Method`: the name says it as it stands.
        Some(event) => event.to_owned(),
        None => NO_HOST_EVENT.to_owned(),
    };
    if let Some(shape) = &place.shape {
        text.push_str(&format!("({shape})"));
    }
    text
}
