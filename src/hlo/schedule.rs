//! The order in which a module's instructions run.

use super::fields::integers;
use super::instruction::InstrIx;
use super::module::Hlo;
use crate::bytes::wire::Cursor;
use std::collections::HashMap;

impl Hlo {
    /// The instructions of every scheduled computation in the order in which they run, by the computation's id
    /// (`HloModuleProto.schedule`); empty where the module has no schedule.
    #[must_use]
    pub fn schedule(&self) -> HashMap<i64, Vec<InstrIx>> {
        Cursor::new(self.schedule.of(&self.bytes))
            .filter(|(number, _)| *number == 1)
            .map(|(_, entry)| self.sequence(entry.bytes()))
            .collect()
    }

    /// One entry of the map: a computation's id and its `InstructionSequence`.
    fn sequence(&self, entry: &[u8]) -> (i64, Vec<InstrIx>) {
        let (mut computation, mut order) = (0, Vec::new());
        for (number, value) in Cursor::new(entry) {
            match number {
                1 => computation = value.varint() as i64,
                2 => order.extend(integers(value.bytes(), 1).filter_map(|id| self.by_id(id))),
                _ => {}
            }
        }
        (computation, order)
    }
}
