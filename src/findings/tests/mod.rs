//! Each rule on a report made for it, and next to its edge.

mod made;
mod plan;
mod run;
