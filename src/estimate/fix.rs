//! The fixes by name, as `--what-if` takes them.

use std::fmt;
use std::str::FromStr;

/// Something that a program can change to need less memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FixKind {
    /// `donate`: give the old state away (`donate_argnums`).
    Donate,
    /// `drop-outputs`: stop returning the outputs that no parameter is paired with, the gradients mostly.
    DropOutputs,
    /// `remat`: `jax.checkpoint` on each block, or on the body of the scan.
    Remat,
    /// `fused-attention`: an attention that never holds the `[batch, heads, sequence, sequence]` scores.
    FusedAttention,
    /// `batch/k`: the step is called with a kth of the batch.
    Batch(u32),
    /// `accumulate/k`: the step takes the same batch in k parts, one after the other, and adds up their gradients.
    Accumulate(u32),
    /// `seq/k`: sequences of a kth of the length.
    Sequence(u32),
    /// `bf16`: activations and gradients in bfloat16; parameters and optimizer state stay as they are.
    Bf16,
    /// `bf16-state`: parameters and optimizer state in bfloat16.
    Bf16State,
    /// `offload`: optimizer state in the host's memory.
    Offload,
    /// `shard/n`: parameters, optimizer state and gradients over n devices (FSDP); the batch of each device stays.
    Shard(u32),
    /// `pool/p`: a pool of p percent of the card (`XLA_CLIENT_MEM_FRACTION`). The plan stays.
    Pool(u32),
}

impl FixKind {
    /// The order in which fixes are taken together: what changes the program's buffers first, what scales them next.
    pub(super) fn rank(self) -> u8 {
        match self {
            FixKind::DropOutputs => 0,
            FixKind::Donate => 1,
            FixKind::FusedAttention => 2,
            FixKind::Remat => 3,
            FixKind::Batch(_) => 4,
            FixKind::Sequence(_) => 5,
            FixKind::Bf16 => 6,
            FixKind::Bf16State => 7,
            FixKind::Accumulate(_) => 8,
            FixKind::Offload => 9,
            FixKind::Shard(_) => 10,
            FixKind::Pool(_) => 11,
        }
    }

    /// Whether both can be asked for together: of one kind there is one.
    pub(super) fn excludes(self, other: FixKind) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for FixKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FixKind::Donate => f.write_str("donate"),
            FixKind::DropOutputs => f.write_str("drop-outputs"),
            FixKind::Remat => f.write_str("remat"),
            FixKind::FusedAttention => f.write_str("fused-attention"),
            FixKind::Batch(k) => write!(f, "batch/{k}"),
            FixKind::Accumulate(k) => write!(f, "accumulate/{k}"),
            FixKind::Sequence(k) => write!(f, "seq/{k}"),
            FixKind::Bf16 => f.write_str("bf16"),
            FixKind::Bf16State => f.write_str("bf16-state"),
            FixKind::Offload => f.write_str("offload"),
            FixKind::Shard(n) => write!(f, "shard/{n}"),
            FixKind::Pool(percent) => write!(f, "pool/{percent}"),
        }
    }
}

/// Why a text names no fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAFix {
    /// No fix has this name.
    #[error(
        "`{0}` is no fix: there are donate, drop-outputs, remat, fused-attention, batch/2, accumulate/2, seq/2, bf16, bf16-state, offload, shard/8 and pool/90, separated by commas"
    )]
    Unknown(String),
    /// It takes a number.
    #[error("`{0}` needs a number from 2 on, such as `{0}/2`")]
    Number(String),
    /// A share of the card.
    #[error("`{0}` needs a percentage from 1 to 100, such as `pool/90`")]
    Percent(String),
    /// The same twice.
    #[error("`{0}` is there twice")]
    Twice(String),
}

impl FromStr for FixKind {
    type Err = NotAFix;

    fn from_str(text: &str) -> Result<FixKind, NotAFix> {
        let text = text.trim();
        let (name, number) = text.split_once('/').map_or((text, None), |(name, n)| (name, Some(n)));
        let plain = |fix| if number.is_none() { Ok(fix) } else { Err(NotAFix::Unknown(text.to_owned())) };
        let divided = |fix: fn(u32) -> FixKind| match number.map(str::parse::<u32>) {
            Some(Ok(k)) if k >= 2 => Ok(fix(k)),
            _ => Err(NotAFix::Number(name.to_owned())),
        };
        match name {
            "donate" => plain(FixKind::Donate),
            "drop-outputs" => plain(FixKind::DropOutputs),
            "remat" => plain(FixKind::Remat),
            "fused-attention" => plain(FixKind::FusedAttention),
            "bf16" => plain(FixKind::Bf16),
            "bf16-state" => plain(FixKind::Bf16State),
            "offload" => plain(FixKind::Offload),
            "batch" => divided(FixKind::Batch),
            "accumulate" => divided(FixKind::Accumulate),
            "seq" => divided(FixKind::Sequence),
            "shard" => divided(FixKind::Shard),
            "pool" => match number.map(str::parse::<u32>) {
                Some(Ok(percent)) if (1..=100).contains(&percent) => Ok(FixKind::Pool(percent)),
                _ => Err(NotAFix::Percent(name.to_owned())),
            },
            _ => Err(NotAFix::Unknown(text.to_owned())),
        }
    }
}

/// The fixes of a list such as `donate,remat,batch/2`.
///
/// # Errors
/// Where a part of it is no fix, or one kind of fix is there twice.
pub fn parse_list(text: &str) -> Result<Vec<FixKind>, NotAFix> {
    let mut out: Vec<FixKind> = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let fix: FixKind = part.parse()?;
        if out.iter().any(|other| fix.excludes(*other)) {
            return Err(NotAFix::Twice(fix.to_string()));
        }
        out.push(fix);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fix_reads_back_from_its_name() {
        let list = "donate,drop-outputs,remat,fused-attention,batch/2,accumulate/4,seq/2,bf16,bf16-state,offload,shard/8,pool/90";
        let fixes = parse_list(list).unwrap();
        assert_eq!(fixes.len(), 12);
        assert_eq!(fixes.iter().map(FixKind::to_string).collect::<Vec<_>>().join(","), list);
        assert_eq!(parse_list(" remat , batch/2 ").unwrap(), [FixKind::Remat, FixKind::Batch(2)]);
        assert_eq!(parse_list("").unwrap(), []);
    }

    #[test]
    fn what_is_no_fix_is_said() {
        for (text, error) in [
            ("remote", NotAFix::Unknown("remote".into())),
            ("remat/2", NotAFix::Unknown("remat/2".into())),
            ("batch", NotAFix::Number("batch".into())),
            ("batch/1", NotAFix::Number("batch".into())),
            ("seq/x", NotAFix::Number("seq".into())),
            ("shard/-8", NotAFix::Number("shard".into())),
            ("pool/120", NotAFix::Percent("pool".into())),
            ("batch/2,remat,batch/4", NotAFix::Twice("batch/4".into())),
        ] {
            assert_eq!(parse_list(text), Err(error), "{text}");
        }
    }
}
