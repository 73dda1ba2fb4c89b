//! Which instructions belong to which block of the model.
//!
//! Two signs, each alone enough: names that differ in a number alone (`layer_3` of flax, haiku, or a `jax.named_scope`), and
//! argument paths that do (`params['layers'][3]['w']`), whose block is then that of everything computed with it.

use super::flow::{Flow, NEVER, Op};
use super::program::{Program, Uses};
use crate::arrange::Arrange;
use crate::terms::Role;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For each instruction its block's number, in order of running; [`NEVER`] outside of blocks and of the forward pass.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<u32>);

impl Blocks {
    fn of(flow: &Flow<'_>) -> Blocks {
        Blocks(vec![NEVER; flow.count()])
    }

    fn set(&mut self, i: u32, block: u32) {
        self.0[i as usize] = block;
    }

    /// The block of an instruction.
    pub fn get(&self, i: u32) -> Option<u32> {
        self.0.get(i as usize).copied().filter(|&block| block != NEVER)
    }

    /// How many blocks there are.
    pub fn count(&self) -> usize {
        let numbers = || self.0.iter().filter(|&&block| block != NEVER).map(|&block| block as usize);
        let mut seen = vec![false; numbers().max().map_or(0, |most| most + 1)];
        numbers().for_each(|block| seen[block] = true);
        seen.into_iter().filter(|&seen| seen).count()
    }
}

/// Blocks by the names of modules in the name stacks.
pub(super) fn by_names(flow: &Flow<'_>, program: &Program) -> Blocks {
    let Some(split) = program.split else { return Blocks::default() };
    let forward = || {
        let until_split = flow.order.iter().take(split as usize + 1);
        until_split.copied().filter(|&i| flow.role(i) == Some(Role::Forward))
    };
    // Names are read once, however many instructions have them.
    let mut block_of_name = vec![NEVER; flow.hlo.roles().len()];
    let mut is_used = vec![false; block_of_name.len()];
    forward().for_each(|i| is_used[flow.name(i) as usize] = true);
    let mut found: BTreeMap<String, BTreeMap<String, Vec<u32>>> = BTreeMap::new();
    for (number, _) in (0..).zip(&is_used).filter(|(_, used)| **used) {
        if let Some((class, name)) = numbered(flow.hlo.name_stack(number)) {
            found.entry(class).or_default().entry(name).or_default().push(number);
        }
    }
    let blocks = found.into_values().filter(|blocks| blocks.len() > 1).flat_map(BTreeMap::into_values);
    let mut members: Vec<Vec<u32>> = Vec::new();
    for names in blocks {
        for name in names {
            block_of_name[name as usize] = members.len() as u32;
        }
        members.push(Vec::new());
    }
    for i in forward() {
        if let Some(members) = members.get_mut(block_of_name[flow.name(i) as usize] as usize) {
            members.push(i);
        }
    }
    number(flow, members)
}

/// Blocks by the argument paths of the parameters that an instruction depends on: the last block counts.
pub(super) fn by_parameters(flow: &Flow<'_>, program: &Program, uses: &Uses) -> Blocks {
    let Some(split) = program.split else { return Blocks::default() };
    let mut classes: BTreeMap<(usize, String), BTreeMap<String, Vec<u32>>> = BTreeMap::new();
    let weights = || program.arguments.iter().filter(|a| a.forward && !a.input);
    for argument in weights() {
        let parts: Vec<&str> =
            argument.path.split(['[', ']', '.', '\'', '"']).filter(|p| !p.is_empty()).collect();
        // The outermost number that differs: tried from the whole path's first number on.
        for (depth, _) in parts.iter().enumerate() {
            if let Some((class, name)) = numbered_at(&parts, depth) {
                classes
                    .entry((depth, class))
                    .or_default()
                    .entry(name)
                    .or_default()
                    .push(argument.instruction);
            }
        }
    }
    let mut block_of: HashMap<u32, String> = HashMap::new();
    for blocks in classes.into_values().filter(|blocks| blocks.len() > 1) {
        for (name, parameters) in blocks {
            for parameter in parameters {
                block_of.entry(parameter).or_insert_with(|| name.clone());
            }
        }
    }
    if block_of.is_empty() {
        return Blocks::default();
    }
    // Parameters outside blocks (the head's) end the last block before them.
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for argument in weights() {
        let block = block_of.get(&argument.instruction);
        let key = block.map_or_else(|| format!("\u{0}{}", argument.instruction), Clone::clone);
        let group = groups.entry(key).or_default();
        group.is_block = block.is_some();
        for &reader in uses.get(&argument.instruction).into_iter().flatten() {
            let forward = matches!(flow.role(reader), Some(Role::Forward) | None);
            if forward && flow.moment(reader) <= split {
                group.readers.insert(reader);
                group.last = group.last.max(flow.moment(reader));
            }
        }
    }
    label(flow, split, groups.into_values().filter(|g| !g.readers.is_empty()).collect())
}

#[derive(Default)]
struct Group {
    is_block: bool,
    readers: HashSet<u32>,
    last: u32,
}

/// Gives each forward instruction the last group that it depends on; those of groups that are no blocks get none.
fn label(flow: &Flow<'_>, split: u32, mut groups: Vec<Group>) -> Blocks {
    groups.arrange_by_key(|g| median(g.readers.iter().map(|&i| flow.moment(i))));
    // For each instruction the last group that it depends on, counted from 1.
    let mut last: Vec<u32> = vec![0; flow.count()];
    for (rank, group) in (1..).zip(&groups) {
        for &reader in &group.readers {
            let known = &mut last[reader as usize];
            *known = rank.max(*known);
        }
    }
    let last_block = groups.iter().rposition(|g| g.is_block);
    let mut out = Blocks::of(flow);
    let mut done = vec![false; flow.count()];
    for &i in flow.order.iter().take(split as usize + 1) {
        if flow.op(i) == Op::While
            || matches!(flow.role(i), Some(Role::Backward | Role::Recomputed | Role::Update))
        {
            continue;
        }
        let known = flow.operands(i).iter().filter(|&&o| done[o as usize]);
        let inherited = known.map(|&o| last[o as usize]).max().unwrap_or(0);
        let rank = inherited.max(last[i as usize]);
        (last[i as usize], done[i as usize]) = (rank, true);
        let Some(at) = (rank as usize).checked_sub(1) else { continue };
        let Some(group) = groups.get(at) else { continue };
        // What comes after the last parameter of the last block is the model's end.
        let after = Some(at) == last_block && flow.moment(i) > group.last;
        if group.is_block && !after {
            out.set(i, at as u32);
        }
    }
    out
}

/// Numbers groups of instructions in order of running.
fn number(flow: &Flow<'_>, mut groups: Vec<Vec<u32>>) -> Blocks {
    groups.arrange_by_key(|group| median(group.iter().map(|&i| flow.moment(i))));
    let mut out = Blocks::of(flow);
    for (n, group) in (0..).zip(groups) {
        group.into_iter().for_each(|i| out.set(i, n));
    }
    out
}

/// The moment in the middle. The first one says little: XLA runs what depends on parameters alone early, in the order of their
/// names, `layer_10` before `layer_2`.
fn median(moments: impl Iterator<Item = u32>) -> u32 {
    let mut moments: Vec<u32> = moments.collect();
    // Mostly they were gathered in order.
    if !moments.is_sorted() {
        moments.arrange();
    }
    moments.get(moments.len() / 2).copied().unwrap_or(0)
}

/// A name stack's part without what JAX wraps around it: `transpose(jvp(layer_0))` is `layer_0`.
fn unwrapped(part: &str) -> &str {
    let inner = part.rsplit('(').next().unwrap_or(part);
    inner.trim_end_matches(')')
}

/// The first part of a name stack that ends in a number: all up to it with the number left open, and as it is. The stack's first
/// part is the function, its last the primitive (`expm1`).
fn numbered(stack: &str) -> Option<(String, String)> {
    let mut parts: Vec<&str> = stack.split('/').skip(1).map(unwrapped).collect();
    parts.pop();
    (0..parts.len()).find_map(|depth| numbered_at(&parts, depth))
}

fn numbered_at(parts: &[&str], depth: usize) -> Option<(String, String)> {
    let part = parts.get(depth)?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.ends_with(|c: char| c.is_ascii_digit()) || !part.chars().all(word) {
        return None;
    }
    let before = parts.get(..depth)?.join("/");
    let open: String = part.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    Some((format!("{before}/{}", open.replace("##", "#").replace("##", "#")), format!("{before}/{part}")))
}

/// The blocks that explain more of `bytes`: those by name unless those by parameters explain a quarter more.
pub(super) fn better(names: Blocks, parameters: Blocks, bytes: impl Fn(&Blocks) -> u64) -> Blocks {
    let (a, b) = (bytes(&names), bytes(&parameters));
    if a.saturating_add(a / 4) >= b { names } else { parameters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_parts_that_differ_in_a_number() {
        assert_eq!(
            numbered("jit(step)/jvp(GPT)/layer_12/attn/w1/dot_general"),
            Some(("GPT/layer_#".into(), "GPT/layer_12".into()))
        );
        assert_eq!(numbered("jit(step)/jvp(layer_3)/add"), Some(("/layer_#".into(), "/layer_3".into())));
        assert_eq!(numbered("jit(step)/jvp()/bqhd,bkhd->bhqk/dot_general"), None);
        assert_eq!(numbered("jit(step)/jvp()/expm1"), None);
    }
}
