//! Captures with `n` of one thing and little else.

use oomscope::synth::large::module;
use oomscope::synth::module::{Builder, Style, Value};
use oomscope::synth::program::Program;
use oomscope::synth::run::{Call, Card, Client, Session};
use oomscope::synth::shape::{Element::F32, shape};
use oomscope::synth::space::{Plane, Space, Stat};
use oomscope::units::Picos;
use prost::Message;

const US: i64 = 1_000_000;

pub fn space(planes: Vec<Plane>) -> Vec<u8> {
    Space { planes, hostname: "synthetic".into(), ..Space::default() }.encode()
}

fn card() -> Card {
    Card { amd: false, memory: 80 << 30, pool: 60 << 30, preallocated: true, count: 1 }
}

/// A host line with what `events` writes.
fn host(events: impl FnOnce(&mut Plane, usize)) -> Vec<u8> {
    let mut plane = Plane::new("/host:CPU");
    let line = plane.line(7, "python3", 5);
    events(&mut plane, line);
    space(vec![Plane::new("/device:GPU:0"), plane])
}

pub fn frames(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            let name = format!("$train.py:{} f", i % 50);
            plane.event(line, &name, Picos((10 + 3 * i) * US), Picos(US), &[]);
        }
    })
}

pub fn nested(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            plane.event(line, "$train.py:7 f", Picos((10 + i) * US), Picos((3 * n as i64 - 2 * i) * US), &[]);
            if i % 10 == 0 {
                memory(plane, line, "MemoryAllocation", 10 + i, (i + 1) * 256, 256, i * 256);
            }
        }
    })
}

pub fn reversed(n: u64) -> Vec<u8> {
    // Lines whose order in time is the reverse of their order in the file, an event each.
    let mut plane = Plane::new("/host:CPU");
    for i in 0..n as i64 {
        let line = plane.line(i, "python3", 5);
        let (at, base) = (n as i64 - i, (n as i64 - i) * 256);
        memory(&mut plane, line, "MemoryAllocation", 10 + at, base, 256, base);
    }
    space(vec![plane])
}

fn memory(plane: &mut Plane, line: usize, name: &str, at: i64, in_use: i64, chunk: i64, address: i64) {
    let stats = [
        ("allocator_name", Stat::Ref("GPU_0_bfc")),
        ("bytes_reserved", Stat::Int(0)),
        ("bytes_allocated", Stat::Int(in_use)),
        ("bytes_available", Stat::Int((60 << 30) - in_use)),
        ("fragmentation", Stat::Double(0.25)),
        ("peak_bytes_in_use", Stat::Int(in_use.max(chunk))),
        ("requested_bytes", Stat::Int(chunk - 1)),
        ("allocation_bytes", Stat::Int(chunk)),
        ("addr", Stat::Int((7 << 40) + address)),
    ];
    plane.event(line, name, Picos(at * US), Picos(0), &stats);
}

fn one_execution(kernels: u64) -> (Session, Program) {
    let mut m = Builder::new("jit_step", Style::New);
    let mut x = m.parameter("x", shape(F32, &[1024]));
    for _ in 0..kernels {
        x = m.in_place("loop_add_fusion", "jit(step)/add", x, &[]);
    }
    let out = m.op("copy", "jit(step)/copy", shape(F32, &[1024]), &[x]);
    let mut session = Session::new(Client::CommonWithRetries, card());
    let program = session.load(&m.finish(&[out]), 17);
    session.start();
    (session, program)
}

pub fn kernels(n: u64) -> Vec<u8> {
    let (mut session, program) = one_execution(1000.min(n));
    for _ in 0..n / 1000 {
        session.execute(&program, Call::default());
    }
    session.finish()
}

pub fn executions(n: u64) -> Vec<u8> {
    let (mut session, program) = one_execution(2);
    for _ in 0..n {
        session.enter("$train.py:97 run_step", &[]);
        session.execute(&program, Call::default());
        session.leave();
    }
    session.finish()
}

pub fn kept_arrays(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            memory(plane, line, "MemoryAllocation", 10 + i, (i + 1) * 256, 256, i * 256);
        }
    })
}

pub fn passing_arrays(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 / 2 {
            memory(plane, line, "MemoryAllocation", 10 + 2 * i, 512, 256, i * 256);
            memory(plane, line, "MemoryDeallocation", 11 + 2 * i, 256, 256, i * 256);
        }
    })
}

pub fn freed_arrays(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            memory(plane, line, "MemoryDeallocation", 10 + i, (n as i64 - i) * 256, 256, i * 256);
        }
    })
}

pub fn waits(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            plane.event(line, "Build buffer allocations", Picos((10 + 40 * i) * US), Picos(30 * US), &[]);
            plane.event(line, "AllocatorRetry::AllocateRaw", Picos((12 + 40 * i) * US), Picos(20 * US), &[]);
            memory(plane, line, "MemoryAllocation", 33 + 40 * i, (i + 1) * 256, 256, i * 256);
        }
    })
}

pub fn lines(n: u64) -> Vec<u8> {
    let mut plane = Plane::new("/host:CPU");
    for i in 0..n as i64 {
        let line = plane.line(i, &format!("python3/{i}"), i);
        plane.event(line, "$train.py:7 f", Picos(n as i64 * US), Picos(US), &[]);
    }
    space(vec![plane])
}

pub fn planes(n: u64) -> Vec<u8> {
    let planes = (0..n).map(|i| {
        let mut plane = Plane::new(&format!("/device:GPU:{i}"));
        plane.stat("memory_size", Stat::Uint(80 << 30));
        let line = plane.line(16, "Stream #16(Compute)", 5);
        plane.event(line, "loop_add_fusion", Picos(10 * US), Picos(US), &[("correlation_id", Stat::Uint(i))]);
        plane
    });
    space(planes.collect())
}

pub fn names(n: u64) -> Vec<u8> {
    host(|plane, line| {
        for i in 0..n as i64 {
            plane.event(line, &format!("$train.py:{i} f_{i}"), Picos((10 + 3 * i) * US), Picos(US), &[]);
        }
    })
}

pub fn modules(n: u64) -> Vec<u8> {
    let mut plane = Plane::new("/host:metadata");
    for i in 0..n {
        let hlo = module(40, i).encode_to_vec();
        plane.module(i as i64 + 1, &format!("jit_train_step({i})"), &hlo, Some(i as i64));
    }
    space(vec![plane])
}

/// The capture of a module alone.
fn alone(m: Builder, outputs: &[Value]) -> Vec<u8> {
    let mut plane = Plane::new("/host:metadata");
    plane.module(17, "jit_step(17)", &m.finish(outputs).encode_to_vec(), Some(17));
    space(vec![plane])
}

pub fn instructions(n: u64) -> Vec<u8> {
    let mut plane = Plane::new("/host:metadata");
    plane.module(17, "jit_train_step(17)", &module(n, 5).encode_to_vec(), Some(17));
    space(vec![plane])
}

pub fn live_buffers(n: u64) -> Vec<u8> {
    let mut m = Builder::new("jit_step", Style::New);
    let x = m.parameter("x", shape(F32, &[8]));
    let all: Vec<Value> = (0..n as i64)
        .map(|i| m.op("multiply", &format!("jit(step)/jvp(f{i})/mul"), shape(F32, &[1 + i % 700, 3]), &[x]))
        .collect();
    let out = m.op("loop_add_fusion", "jit(step)/transpose(jvp(f))/add", shape(F32, &[]), &all);
    alone(m, &[out])
}

pub fn parameters(n: u64) -> Vec<u8> {
    different_parameters(n, |i| 1 + i)
}

pub fn equal_parameters(n: u64) -> Vec<u8> {
    different_parameters(n, |_| 64)
}

fn different_parameters(n: u64, length: fn(i64) -> i64) -> Vec<u8> {
    let mut m = Builder::new("jit_step", Style::New);
    let shapes: Vec<_> = (0..n as i64).map(|i| shape(F32, &[length(i)])).collect();
    let parameters: Vec<Value> =
        shapes.iter().enumerate().map(|(i, s)| m.parameter(&format!("state['w{i}']"), s.clone())).collect();
    let outputs: Vec<Value> =
        parameters.iter().zip(shapes).map(|(p, s)| m.op("add", "jit(step)/add", s, &[*p])).collect();
    alone(m, &outputs)
}

pub fn sharers(n: u64) -> Vec<u8> {
    let mut m = Builder::new("jit_step", Style::New);
    let x = m.parameter("x", shape(F32, &[64]));
    let mut y = m.op("copy", "jit(step)/jvp(f)/copy", shape(F32, &[64]), &[x]);
    for _ in 0..n {
        y = m.in_place("loop_add_fusion", "jit(step)/jvp(f)/add", y, &[]);
    }
    let out = m.op("copy", "jit(step)/copy", shape(F32, &[64]), &[y]);
    alone(m, &[out])
}

pub fn nested_loops(n: u64) -> Vec<u8> {
    fn inside(m: &mut Builder, depth: u64, carried: &[Value]) -> Vec<Value> {
        let name = "jit(step)/jvp(f)/while/body/sin";
        let y = m.op("loop_sin_fusion", name, shape(F32, &[64]), carried);
        if depth == 0 {
            return vec![y];
        }
        m.while_loop("jit(step)/jvp(f)/while", 3, &[y], |m, v| inside(m, depth - 1, v))
    }
    let mut m = Builder::new("jit_step", Style::New);
    let x = m.parameter("x", shape(F32, &[64]));
    let out = inside(&mut m, n, &[x]);
    let out = m.op("copy", "jit(step)/copy", shape(F32, &[64]), &out);
    alone(m, &[out])
}

pub fn stack(n: u64) -> Vec<u8> {
    let mut m = Builder::new("jit_step", Style::New);
    let names: Vec<String> = (0..n).map(|i| format!("f{i}")).collect();
    let frames: Vec<(&str, i32, &str)> = names.iter().map(|f| ("deep.py", 7, f.as_str())).collect();
    let x = m.parameter("x", shape(F32, &[64]));
    m.at(&frames);
    let out = m.op("copy", "jit(step)/copy", shape(F32, &[64]), &[x]);
    alone(m, &[out])
}
