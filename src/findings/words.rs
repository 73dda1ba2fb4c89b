//! How findings speak of sizes, names and counts.

use crate::plain::short;
use crate::terms::SourceLine;
use crate::units::Bytes;

/// The unit that several sizes of one sum are written in, so that a reader can add them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    shift: u32,
    name: &'static str,
    decimals: u32,
}

/// Every unit, the largest first.
const UNITS: [(u32, &str); 5] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];

/// Of a sum, smaller parts than this may round to nothing.
const VANISHING: u64 = 2000;

impl Unit {
    /// The unit in which `size` is written on its own.
    pub fn of(size: Bytes) -> Unit {
        let (shift, name) = UNITS.into_iter().find(|u| size.0 >= 1 << u.0).unwrap_or((0, "B"));
        Unit { shift, name, decimals: if shift == 0 { 0 } else { 2 } }
    }

    /// The unit of `size` with as many decimals as it takes for parts, as they are written, to add up to their total; the next
    /// smaller one where that takes too many. Parts that are worth showing must not vanish.
    pub fn adding_up(size: Bytes, sums: &[(Vec<Bytes>, Bytes)]) -> Unit {
        let own = Unit::of(size);
        let smaller = UNITS.into_iter().find(|u| u.0 < own.shift && u.0 > 0);
        let smaller = smaller.map(|(shift, name)| Unit { shift, name, decimals: 2 });
        let finer = |unit: Unit| [unit, Unit { decimals: unit.decimals + 1, ..unit }];
        let all = [Some(own), smaller].into_iter().flatten().filter(|unit| unit.shift > 0).flat_map(finer);
        let adds_up = |unit: &Unit| {
            sums.iter().all(|(parts, total)| {
                let vanishes = |part: &Bytes| unit.rounded(*part) == 0 && part.0 > total.0 / VANISHING;
                let sum: u128 = parts.iter().map(|part| unit.rounded(*part)).sum();
                sum == unit.rounded(*total) && !parts.iter().any(vanishes)
            })
        };
        all.clone().find(adds_up).or_else(|| all.last()).unwrap_or(own)
    }

    /// `size` in the last decimal of this unit.
    fn rounded(self, size: Bytes) -> u128 {
        let scaled = u128::from(size.0) * 10u128.pow(self.decimals);
        if self.shift == 0 { scaled } else { (scaled + (1 << (self.shift - 1))) >> self.shift }
    }

    /// `size` in this unit, without its name.
    pub fn number(self, size: Bytes) -> String {
        let (n, one) = (self.rounded(size), 10u128.pow(self.decimals));
        match self.decimals as usize {
            0 => n.to_string(),
            decimals => format!("{}.{:0decimals$}", n / one, n % one),
        }
    }

    /// `size` in this unit, with its name.
    pub fn with_name(self, size: Bytes) -> String {
        format!("{} {}", self.number(size), self.name)
    }

    /// `0.31 parameters + 3.41 temp`: the parts that can be seen in this unit.
    pub fn sum(self, parts: &[(Bytes, &str)]) -> String {
        let seen: Vec<String> = parts
            .iter()
            .map(|&(size, name)| (self.number(size), name))
            .filter(|(number, _)| number.bytes().any(|b| b.is_ascii_digit() && b != b'0'))
            .map(|(number, name)| format!("{number} {name}"))
            .collect();
        seen.join(" + ")
    }
}

/// A share as people say it: `84 %`, `0.4 %`.
pub(super) fn percent(share: f64) -> String {
    let n = share * 100.0;
    match n {
        // Nearly all is not all, nor nearly nothing nothing.
        _ if (99.5..100.0).contains(&n) => format!("{:.1} %", n.min(99.9)),
        _ if n.abs() >= 10.0 || n == 0.0 => format!("{n:.0} %"),
        _ if n > 0.0 && n < 0.05 => "< 0.1 %".to_owned(),
        _ => format!("{n:.1} %"),
    }
}

/// `1 execution`, `3 executions`.
pub(super) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// With its first letter as a sentence begins. Sentences here begin with English words: the letters of all the world's
/// scripts would be a hundredth of the core.
pub(super) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A name from the capture, cut where it would drown the sentence. It can be anything: what shows it shows it as text.
pub(super) fn name(text: &str) -> String {
    short(text, 72)
}

/// A shape without its layout: `f32[8192,17800]{1,0}` → `f32[8192,17800]`.
pub(super) fn shape(text: &str) -> String {
    name(text.split('{').next().unwrap_or(text))
}

/// A Python position, without the folders: `model.py:41 block`.
pub(super) fn position(at: &SourceLine) -> String {
    let file = at.file.rsplit('/').next().unwrap_or(&at.file);
    let line = at.line.map_or_else(String::new, |n| format!(":{n}"));
    let function = at.function.as_ref().map_or_else(String::new, |f| format!(" {f}"));
    name(&format!("{file}{line}{function}"))
}

/// `jit_train_step(17)` → `jit_train_step`.
pub(super) fn base(module: &str) -> &str {
    match module.rfind('(') {
        Some(at) if at > 0 && module.ends_with(')') => &module[..at],
        _ => module,
    }
}

/// The Python function of a module: `jit_train_step` → `train_step`. Names that no Python function can have give `step`.
pub(super) fn function(base_name: &str) -> String {
    let name =
        base_name.strip_prefix("jit_").or_else(|| base_name.strip_prefix("pmap_")).unwrap_or(base_name);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && name.len() <= 60 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_name { name.to_owned() } else { "step".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_sum_share_a_unit() {
        let unit = Unit::of(Bytes(3_991_235_612));
        let parts =
            [(Bytes(324_602_376), "parameters"), (Bytes(1276), "outputs"), (Bytes(3_666_631_960), "temp")];
        assert_eq!(unit.with_name(Bytes(3_991_235_612)), "3.72 GiB");
        assert_eq!(unit.sum(&parts), "0.30 parameters + 3.41 temp");
        assert_eq!(Unit::of(Bytes(7)).with_name(Bytes(7)), "7 B");
    }

    #[test]
    fn what_is_written_adds_up() {
        let (need, parameters, temp) = (Bytes(3_991_235_612), Bytes(324_602_376), Bytes(3_666_631_960));
        let unit = Unit::adding_up(need, &[(vec![parameters, Bytes(1276), temp], need)]);
        assert_eq!(unit.sum(&[(parameters, "parameters"), (temp, "temp")]), "0.302 parameters + 3.415 temp");
        assert_eq!(unit.with_name(need), "3.717 GiB");
        // Two decimals do where they can.
        let unit = Unit::adding_up(Bytes(3 << 30), &[(vec![Bytes(1 << 30), Bytes(2 << 30)], Bytes(3 << 30))]);
        assert_eq!(unit.with_name(Bytes(3 << 30)), "3.00 GiB");
        assert_eq!(
            Unit::adding_up(Bytes(9), &[(vec![Bytes(4), Bytes(5)], Bytes(9))]).with_name(Bytes(9)),
            "9 B"
        );
    }

    #[test]
    fn names_become_python_only_where_they_can() {
        assert_eq!(function("jit_train_step"), "train_step");
        assert_eq!(function("jit__where"), "_where");
        assert_eq!(function("jit_<lambda>"), "step");
        assert_eq!(function("main"), "main");
        assert_eq!(base("jit_train_step(17)"), "jit_train_step");
        assert_eq!(base("jit_f(-3)"), "jit_f");
        assert_eq!(base("(x)"), "(x)");
    }

    #[test]
    fn counts_and_lists_read_as_english() {
        assert_eq!(count(1, "execution"), "1 execution");
        assert_eq!(count(0, "execution"), "0 executions");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(percent(0.8389), "84 %");
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(0.9993), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
    }
}
