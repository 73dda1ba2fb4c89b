//! Captures: planes, lines, events, stats.

use super::wire::Message;
use crate::arrange::Arrange;
use crate::units::Picos;
use std::collections::BTreeMap;

/// A capture being made; [`Space::encode`] writes it as profilers do: in each plane the lines before the metadata that
/// names their events (`tsl/profiler/protobuf/xplane.proto`, fields in ascending order).
#[derive(Debug, Clone, Default)]
pub struct Space {
    /// In the order of the file.
    pub planes: Vec<Plane>,
    /// What the profiler complained of.
    pub errors: Vec<String>,
    /// The same, milder.
    pub warnings: Vec<String>,
    /// The host, `synthetic` for all that is made here.
    pub hostname: String,
}

impl Space {
    /// The bytes of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Message::default();
        for plane in &self.planes {
            out.bytes(1, &plane.encode());
        }
        for (number, texts) in [(2, &self.errors), (3, &self.warnings)] {
            for text in texts {
                out.text(number, text);
            }
        }
        out.text(4, &self.hostname);
        out.bytes
    }
}

/// The value of a stat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stat<'a> {
    /// `int64_value`.
    Int(i64),
    /// `uint64_value`.
    Uint(u64),
    /// `double_value`.
    Double(f64),
    /// `str_value`.
    Str(&'a str),
    /// `bytes_value`.
    Bytes(&'a [u8]),
    /// `ref_value`: the text is interned as the name of a stat metadata.
    Ref(&'a str),
}

/// Names with ids from 1 in the order of their first use.
#[derive(Debug, Clone, Default)]
struct Names {
    ids: BTreeMap<String, i64>,
}

impl Names {
    fn id(&mut self, name: &str) -> i64 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.ids.len() as i64 + 1;
        self.ids.insert(name.to_owned(), id);
        id
    }
}

/// A plane being made.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    /// `/host:CPU`, `/device:GPU:0`, `/host:metadata`.
    pub name: String,
    /// 0 is left out, as in real files.
    pub id: i64,
    /// Threads or streams.
    pub lines: Vec<Line>,
    event_names: Names,
    stat_names: Names,
    /// Events' metadata that carries stats, or a key of its own.
    metadata: Vec<(i64, String, Message)>,
    stats: Message,
}

/// A line being made.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// A thread's id or a stream's number.
    pub id: i64,
    /// `python3`, `Stream #16(Compute)`.
    pub name: String,
    /// The origin of its events' offsets.
    pub timestamp_ns: i64,
    events: Vec<Event>,
}

#[derive(Debug, Clone)]
struct Event {
    name: i64,
    at: Picos,
    duration: Picos,
    stats: Message,
}

impl Plane {
    /// An empty plane.
    #[must_use]
    pub fn new(name: &str) -> Plane {
        Plane { name: name.to_owned(), ..Plane::default() }
    }

    /// Adds a line and returns its index.
    pub fn line(&mut self, id: i64, name: &str, timestamp_ns: i64) -> usize {
        self.lines.push(Line { id, name: name.to_owned(), timestamp_ns, events: Vec::new() });
        self.lines.len() - 1
    }

    /// Adds an event to the line with index `line`. `at` counts from the origin of all lines' times; an instant has
    /// the duration 0. Events may come in any order. Returns the event's index for [`Plane::lasted`].
    pub fn event(
        &mut self,
        line: usize,
        name: &str,
        at: Picos,
        duration: Picos,
        stats: &[(&str, Stat<'_>)],
    ) -> usize {
        let name = self.event_names.id(name);
        let mut written = Message::default();
        for (key, value) in stats {
            let stat = self.encode_stat(key, *value);
            written.bytes(4, &stat.bytes);
        }
        let Some(line) = self.lines.get_mut(line) else { return 0 };
        line.events.push(Event { name, at, duration, stats: written });
        line.events.len() - 1
    }

    /// Says how long an event lasted.
    pub fn lasted(&mut self, line: usize, event: usize, duration: Picos) {
        if let Some(event) = self.lines.get_mut(line).and_then(|l| l.events.get_mut(event)) {
            event.duration = duration;
        }
    }

    /// Adds a fact on the plane, such as `memory_size`.
    pub fn stat(&mut self, name: &str, value: Stat<'_>) {
        let stat = self.encode_stat(name, value);
        self.stats.bytes(6, &stat.bytes);
    }

    /// Adds an event metadata with a key and stats of its own, as modules have in `/host:metadata`.
    pub fn event_metadata(&mut self, key: i64, name: &str, stats: &[(&str, Stat<'_>)]) {
        let mut written = Message::default();
        for (stat, value) in stats {
            let stat = self.encode_stat(stat, *value);
            written.bytes(5, &stat.bytes);
        }
        self.metadata.push((key, name.to_owned(), written));
    }

    /// Adds the plan of a module. Captures of JAX up to 0.8 have the program id as `key`; newer ones count the keys
    /// from 1 and have the id as a stat.
    pub fn module(&mut self, key: i64, name: &str, hlo: &[u8], program_id: Option<i64>) {
        let mut stats = vec![("Hlo Proto", Stat::Bytes(hlo))];
        stats.extend(program_id.map(|id| ("program_id", Stat::Int(id))));
        self.event_metadata(key, name, &stats);
    }

    /// Whether it has neither events nor metadata nor facts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.metadata.is_empty() && self.stats.bytes.is_empty()
    }

    fn encode_stat(&mut self, name: &str, value: Stat<'_>) -> Message {
        let mut stat = Message::default();
        stat.int(1, self.stat_names.id(name));
        match value {
            Stat::Double(v) => stat.double(2, v),
            Stat::Uint(v) => stat.varint(3, v),
            Stat::Int(v) => stat.varint(4, v as u64),
            Stat::Str(v) => stat.bytes(5, v.as_bytes()),
            Stat::Bytes(v) => stat.bytes(6, v),
            Stat::Ref(v) => stat.varint(7, self.stat_names.id(v) as u64),
        }
        stat
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Message::default();
        out.int(1, self.id);
        out.text(2, &self.name);
        for line in &self.lines {
            out.bytes(3, &line.encode());
        }
        let mut entry = |field: u32, key: i64, name: &str, rest: &Message| {
            let mut metadata = Message::default();
            metadata.int(1, key);
            metadata.text(2, name);
            metadata.bytes.extend(&rest.bytes);
            let mut entry = Message::default();
            entry.int(1, key);
            entry.bytes(2, &metadata.bytes);
            out.bytes(field, &entry.bytes);
        };
        let none = Message::default();
        for (key, name, stats) in &self.metadata {
            entry(4, *key, name, stats);
        }
        for (name, id) in &self.event_names.ids {
            entry(4, *id, name, &none);
        }
        for (name, id) in &self.stat_names.ids {
            entry(5, *id, name, &none);
        }
        out.bytes.extend(&self.stats.bytes);
        out.bytes
    }
}

impl Line {
    fn encode(&self) -> Vec<u8> {
        let mut out = Message::default();
        out.int(1, self.id);
        out.text(2, &self.name);
        out.int(3, self.timestamp_ns);
        let origin = self.timestamp_ns.saturating_mul(1000);
        let mut order: Vec<&Event> = self.events.iter().collect();
        // A parent before its children, as the profiler sorts them.
        order.arrange_by_key(|e| (e.at, std::cmp::Reverse(e.duration)));
        for event in order {
            let mut written = Message::default();
            written.int(1, event.name);
            written.varint(2, event.at.0.saturating_sub(origin) as u64);
            written.int(3, event.duration.0);
            written.bytes.extend(&event.stats.bytes);
            out.bytes(4, &written.bytes);
        }
        out.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::xspace::{XSpace, x_event::Data, x_stat::Value};
    use prost::Message as _;

    #[test]
    fn what_is_written_reads_back_in_the_order_of_time() {
        let mut plane = Plane::new("/host:CPU");
        let line = plane.line(-7, "python3", 5);
        plane.event(
            line,
            "child",
            Picos(9000),
            Picos(10),
            &[("addr", Stat::Uint(u64::MAX)), ("who", Stat::Ref("me"))],
        );
        plane.event(line, "parent", Picos(9000), Picos(20), &[]);
        plane.event(line, "first", Picos(5000), Picos(0), &[("fragmentation", Stat::Double(f64::NAN))]);
        plane.stat("memory_size", Stat::Int(-1));
        plane.module(30, "jit_f(17)", b"hlo", Some(17));
        let space = Space { planes: vec![plane], hostname: "synthetic".into(), ..Space::default() };

        let read = XSpace::decode(&*space.encode()).unwrap();
        assert_eq!(read.hostnames, ["synthetic"]);
        let plane = &read.planes[0];
        let names: Vec<_> = plane.lines[0]
            .events
            .iter()
            .map(|e| plane.event_metadata[&e.metadata_id].name.as_str())
            .collect();
        assert_eq!(names, ["first", "parent", "child"]);
        let offsets: Vec<_> = plane.lines[0].events.iter().map(|e| e.data).collect();
        assert_eq!(
            offsets,
            [Some(Data::OffsetPs(0)), Some(Data::OffsetPs(4000)), Some(Data::OffsetPs(4000))]
        );
        let Some(Value::RefValue(id)) = plane.lines[0].events[2].stats[1].value else {
            panic!("a reference")
        };
        assert_eq!(plane.stat_metadata[&(id as i64)].name, "me");
        assert_eq!(plane.event_metadata[&30].stats[0].value, Some(Value::BytesValue(b"hlo".to_vec())));
        assert_eq!(plane.event_metadata[&30].name, "jit_f(17)");
    }
}
