//! Names by id, compact: captures of Python programs hold hundreds of thousands.

use crate::plain::LONGEST_NAME as LONGEST;

/// A table of names by 64-bit id.
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    text: String,
    /// (id, end of its name in `text`), in order of insertion until [`NameTable::seal`] sorts by id.
    entries: Vec<(i64, u32, u32)>,
}

impl NameTable {
    /// Adds a name. Bytes that are no UTF-8 become U+FFFD. A later name for the same id wins, as in a protobuf map.
    pub fn insert(&mut self, id: i64, name: &[u8]) {
        let start = self.text.len();
        let cut = name.len() > LONGEST;
        self.text.push_str(&String::from_utf8_lossy(&name[..name.len().min(LONGEST)]));
        if cut {
            self.text.push('…');
        }
        // Names of more than 4 GiB together cannot be addressed: the rest go without one.
        let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(self.text.len())) else {
            self.text.truncate(start);
            return;
        };
        self.entries.push((id, start, end));
    }

    /// Sorts for look-up; call once after the last insertion.
    pub fn seal(&mut self) {
        // Stable, so that of equal ids the last inserted comes last.
        self.entries.sort_by_key(|e| e.0);
        self.entries.reverse();
        self.entries.dedup_by_key(|e| e.0);
        self.entries.reverse();
        self.entries.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    /// The name of `id`.
    #[must_use]
    pub fn get(&self, id: i64) -> Option<&str> {
        let i = self.entries.binary_search_by_key(&id, |e| e.0).ok()?;
        let (_, start, end) = self.entries[i];
        self.text.get(start as usize..end as usize)
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Ids and names, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &str)> {
        self.entries
            .iter()
            .map(|&(id, start, end)| (id, self.text.get(start as usize..end as usize).unwrap_or("")))
    }

    /// The first id with this name.
    #[must_use]
    pub fn id_of(&self, name: &str) -> Option<i64> {
        self.iter().find(|(_, n)| *n == name).map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_id_wins_and_ids_may_be_negative_or_large() {
        let mut t = NameTable::default();
        t.insert(7, b"first");
        t.insert(-3, b"negative");
        t.insert(i64::MAX, b"large");
        t.insert(7, b"second");
        t.insert(8, &[b'x', 0xff]);
        t.seal();
        assert_eq!(t.get(7), Some("second"));
        assert_eq!(t.get(-3), Some("negative"));
        assert_eq!(t.get(i64::MAX), Some("large"));
        assert_eq!(t.get(8), Some("x\u{fffd}"));
        assert_eq!(t.get(9), None);
        assert_eq!(t.len(), 4);
        assert_eq!(t.id_of("second"), Some(7));
    }

    #[test]
    fn a_name_of_a_megabyte_is_cut() {
        let mut t = NameTable::default();
        t.insert(1, &vec![b'a'; 1 << 20]);
        t.seal();
        assert_eq!(t.get(1).map(str::len), Some(LONGEST + '…'.len_utf8()));
    }
}
