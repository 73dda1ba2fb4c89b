//! What is told of a fix: how its numbers were reached, and what it costs.

use super::FixKind;
use super::effect::Basis;
use super::picture::{self, Piece};
use crate::units::Bytes;

impl Basis {
    /// How the numbers of a fix were reached.
    pub fn how(&self, fix: FixKind) -> String {
        let (acts_on, alive) = (Bytes(self.acts_on(fix)), Bytes(self.alive(fix)));
        let program = &self.program;
        match fix {
            FixKind::Donate => {
                let scratch: u64 = self
                    .picture
                    .pieces
                    .iter()
                    .filter(|p| !p.returned && self.donatable.holds(p))
                    .map(|p| p.bytes)
                    .fold(0, u64::saturating_add);
                let moved = if scratch == 0 {
                    String::new()
                } else {
                    "; what XLA put into their buffers as scratch moves into temp".to_owned()
                };
                format!(
                    "{acts_on} of outputs have a parameter of the same shape, type, layout and sharding{moved}"
                )
            }
            FixKind::DropOutputs => {
                format!(
                    "{acts_on} of outputs belong to no parameter; unreturned they live until they are read last"
                )
            }
            FixKind::Remat => {
                let kept = Bytes(self.remat.boundaries);
                let rounds: Vec<String> = self.remat.scans.iter().map(i64::to_string).collect();
                let what = match (self.remat.blocks, rounds.is_empty()) {
                    (0, _) => format!("a scan of {} rounds", rounds.join(" and ")),
                    (n, true) => format!("{n} blocks"),
                    (n, false) => format!("{n} blocks and a scan of {} rounds", rounds.join(" and ")),
                };
                let at_peak = Bytes(self.waiting_at_peak());
                let at_peak = if at_peak == acts_on {
                    String::new()
                } else {
                    format!(", {at_peak} of that at the peak")
                };
                format!(
                    "{acts_on} of forward results of {what} wait for the backward pass{at_peak}; the inputs that remain are {kept}, and one block at a time is computed again"
                )
            }
            FixKind::FusedAttention => {
                format!(
                    "{alive} of what is alive at the peak have the shape of attention scores, [batch, heads, sequence, sequence]"
                )
            }
            FixKind::Batch(_) => {
                format!(
                    "{alive} of what is alive at the peak have the batch of {} in their shape",
                    shown(program.batch)
                )
            }
            FixKind::Accumulate(_) => format!(
                "{alive} of what is alive at the peak have the batch of {} in their shape; the sums of the gradients add {}",
                shown(program.batch),
                Bytes(program.weights())
            ),
            FixKind::Sequence(_) => format!(
                "{alive} of what is alive at the peak have the sequence of {} in their shape, attention scores twice",
                shown(program.sequence)
            ),
            FixKind::Bf16 => {
                format!("{alive} of what the forward and backward pass hold at the peak are float32")
            }
            FixKind::Bf16State => {
                format!("{alive} of state, gradients and their copies at the peak are float32")
            }
            FixKind::Offload => format!(
                "{acts_on} of state are read by the update alone; at most all of it comes back at once for the update"
            ),
            FixKind::Shard(n) => format!(
                "{alive} of what is alive at the peak are parameters, optimizer state and gradients, of which each device keeps 1/{n}; the weights gathered for use are {} in all",
                Bytes(program.weights())
            ),
            FixKind::Pool(_) => "the plan stays".to_owned(),
        }
    }
}

impl Basis {
    /// Of the forward results that rematerialization acts on, the bytes that are alive at the peak: not all wait at once.
    fn waiting_at_peak(&self) -> u64 {
        let pieces = &self.picture.pieces;
        let fullest = picture::fullest(self.picture.moments, pieces, Piece::is_temp);
        let waiting = self.remat.replaced.iter().filter_map(|r| pieces.get(r.piece));
        let alive = waiting.filter(|p| (p.first..=p.last).contains(&fullest));
        alive.map(|p| p.bytes).fold(0, u64::saturating_add)
    }
}

/// What a fix costs.
pub(super) fn cost(fix: FixKind) -> String {
    match fix {
        FixKind::Donate => "the old arrays can't be used after the call".to_owned(),
        FixKind::DropOutputs => {
            "the caller no longer gets them; reduce inside the step what is needed of them".to_owned()
        }
        FixKind::Remat => "about one more forward pass of time".to_owned(),
        FixKind::FusedAttention => "needs a kernel for the dtype and the head size".to_owned(),
        FixKind::Batch(k) => {
            format!("{k} times as many steps for the same data; the gradient of a step is noisier")
        }
        FixKind::Accumulate(k) => {
            format!("the {k} parts run one after the other, each with smaller matrix multiplications")
        }
        FixKind::Sequence(_) => "shorter contexts".to_owned(),
        FixKind::Bf16 => "less precision; keep sums, norms and the loss in float32".to_owned(),
        FixKind::Bf16State => "less precision of the parameters: small updates are lost".to_owned(),
        FixKind::Offload => "the state crosses the bus twice a step".to_owned(),
        FixKind::Shard(n) => {
            format!("{n} devices; weights are gathered before and gradients scattered after use")
        }
        FixKind::Pool(_) => {
            "less room for what lives outside the pool: CUDA context, cuDNN, NCCL, other processes".to_owned()
        }
    }
}

fn shown(n: Option<i64>) -> String {
    n.map_or_else(|| "?".to_owned(), |n| n.to_string())
}
