//! A picture with fixes applied, and the need that comes of it.

use super::effect::Outputs;
use super::picture::{NONE, Picture, Piece, peak};

/// Which end of the interval a scene is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Least,
    Most,
}

/// The memory of the step after fixes, for one end of the interval.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub side: Side,
    pub moments: u32,
    /// Those of the picture at their positions, and others after them; what is gone has no bytes.
    pub pieces: Vec<Piece>,
    pub parameters: u64,
    pub outputs: u64,
    pub constants: u64,
    /// By which part of itself the temp can come out different, since XLA schedules a changed program anew.
    pub slack: f64,
    /// Which part the temp blocks lose to packing.
    pub loss: f64,
    /// Temp of which the lives don't tell what it is for: it stays.
    pub unexplained: u64,
}

/// What the lives may miss of XLA's peak before the rest of the temp counts as unexplained.
const EXPLAINED: f64 = 0.1;

/// The need of a step and what of it the call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    pub total: u64,
    pub launch: u64,
}

impl Scene {
    pub fn of(picture: &Picture, side: Side) -> Scene {
        let beyond = picture.temp.saturating_sub(picture.peak);
        let (loss, unexplained) = if picture.strays > EXPLAINED {
            (0.0, beyond)
        } else {
            (beyond as f64 / picture.peak.max(1) as f64, 0)
        };
        Scene {
            side,
            moments: picture.moments,
            pieces: picture.pieces.clone(),
            parameters: picture.parameters,
            outputs: picture.outputs,
            constants: picture.constants,
            slack: 0.0,
            loss: loss.min(1.0),
            unexplained,
        }
    }

    /// Takes the buffers of outputs away: what lies in them as scratch moves into temp, and `fate` decides on the outputs
    /// themselves.
    pub fn evict(&mut self, outputs: &Outputs, fate: impl Fn(usize, &mut Piece)) {
        for (i, piece) in self.pieces.iter_mut().enumerate() {
            if outputs.holds(piece) {
                piece.home = NONE;
                if piece.returned {
                    piece.returned = false;
                    fate(i, piece);
                }
            }
        }
        self.outputs = self.outputs.saturating_sub(outputs.bytes);
    }

    /// The least: everything packed without loss, scratch and temp in the outputs' buffers wherever these aren't made yet. The
    /// most: what is scratch now stays where it is, the rest is temp, and packing loses as much as now.
    pub fn need(&self) -> Need {
        let launch = match self.side {
            Side::Least => {
                let live = peak(self.moments, &self.pieces, |_| true);
                let temp = live.saturating_sub(self.outputs);
                self.outputs.saturating_add(scaled(temp, 1.0 - self.slack))
            }
            Side::Most => {
                let temp = peak(self.moments, &self.pieces, Piece::is_temp);
                self.outputs.saturating_add(scaled(temp, (1.0 + self.loss) * (1.0 + self.slack)))
            }
        };
        let launch = launch.saturating_add(self.unexplained);
        Need { total: self.parameters.saturating_add(self.constants).saturating_add(launch), launch }
    }
}

/// Some bytes times a factor.
pub(super) fn scaled(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor.max(0.0)) as u64
}
