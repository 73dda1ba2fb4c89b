//! Scenarios of a training loop around one compiled step.

use super::super::module::{Builder, Style};
use super::super::program::Program;
use super::super::run::{Array, Call, Card, Client, Ran, Session};
use super::super::shape::{Element, shape};
use super::super::space::Stat;
use super::super::transformer::Transformer;
use super::{Scenario, Truth, scenario};

/// An 80 GB card.
const H100: u64 = 85_520_809_984;

/// A card whose pool is the default 75 % of it.
pub(super) fn card(memory: u64) -> Card {
    Card { amd: false, memory, pool: memory / 4 * 3, preallocated: true, count: 1 }
}

/// A training loop in simulation.
struct Training {
    session: Session,
    program: Program,
    state: Vec<Array>,
    batch: u64,
    truth: Truth,
}

impl Training {
    /// Loads the step, puts its state on the devices, and starts the profiler.
    fn new(client: Client, model: &Transformer, card: Card) -> Training {
        Training::with(client, model, card, |_| {})
    }

    /// The same, with something else done before the capture starts.
    fn with(client: Client, model: &Transformer, card: Card, before: impl FnOnce(&mut Session)) -> Training {
        let mut session = Session::new(client, card);
        let program = session.load(&model.train_step(), 17);
        let mut state = Vec::new();
        for device in 0..card.count {
            for (_, weight) in model.weights() {
                // In the order of the plan's donated parameters no array has another's place: sizes suffice.
                state.extend((0..3).filter_map(|_| session.allocate(device, weight.bytes()).ok()));
            }
        }
        before(&mut session);
        let truth = Truth::of(&program, session.allocator(0).limit);
        let batch = shape(Element::S32, &[model.batch, model.sequence]).bytes();
        session.start();
        session.enter("$train.py:142 main", &[]);
        warm_up(&mut session);
        Training { session, program, state, batch, truth }
    }

    /// One round of the loop, on every device.
    fn step(&mut self, number: i64, call: Call) -> Vec<Ran> {
        self.session.enter("train", &[("_r", Stat::Int(1)), ("step_num", Stat::Int(number))]);
        self.session.enter("$train.py:97 run_step", &[]);
        self.session.enter("$train.py:61 next_batch", &[]);
        let devices = self.state.iter().map(|a| a.device).max().map_or(1, |d| d + 1);
        let mut batch = Vec::new();
        for device in 0..devices {
            batch.extend((0..2).filter_map(|_| self.session.device_put(device, self.batch).ok()));
        }
        self.session.leave();
        let ran = self.session.execute(&self.program, call);
        self.truth.saw(&ran[0]);
        for array in batch {
            self.session.drop_array(array);
        }
        self.session.block_until_ready();
        self.session.leave();
        self.session.leave();
        ran
    }

    /// The rounds, with the loss dropped after each.
    fn steps(&mut self, count: i64, call: Call) {
        for number in 0..count {
            for ran in self.step(number, call) {
                self.drop_all(ran.outputs);
            }
        }
    }

    fn drop_all(&mut self, arrays: Vec<Array>) {
        for array in arrays {
            self.session.drop_array(array);
        }
    }

    fn finish(mut self) -> (Truth, Vec<u8>) {
        self.truth.peak = Some(self.session.recorded_peak(0));
        (self.truth, self.session.finish())
    }
}

/// A small module runs first, so that the capture shows what a launch looks like.
fn warm_up(session: &mut Session) {
    let mut m = Builder::new("jit_negative", Style::New);
    let x = m.parameter("x", shape(Element::S32, &[2]));
    let y = m.op("loop_negate_fusion", "jit(negative)/neg", shape(Element::S32, &[2]), &[x]);
    let program = session.load(&m.finish(&[y]), 5);
    for ran in session.execute(&program, Call::default()) {
        for array in ran.outputs {
            session.drop_array(array);
        }
    }
}

/// A card on which the pool is `share` of what the model's step needs.
fn card_for(model: &Transformer, share: f64) -> Card {
    let need = Program::of(&model.train_step(), 17).need;
    card((need as f64 * share / 0.75) as u64)
}

pub(super) fn attention_too_large() -> Scenario {
    let model = Transformer { sequence: 8192, ..Transformer::default() };
    let mut run = Training::new(Client::CommonWithRetries, &model, card(H100));
    run.step(0, Call::default());
    scenario(
        "attention-too-large",
        "The step keeps rows of attention for every layer, and its plan is larger than the pool.",
        (&["step-does-not-fit", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn gradients_kept() -> Scenario {
    let model = Transformer {
        width: 4096,
        heads: 32,
        return_gradients: true,
        style: Style::Old,
        ..Transformer::default()
    };
    let mut run = Training::new(Client::StreamExecutor, &model, card_for(&model, 2.0));
    for number in 0..30 {
        let ran = run.step(number, Call::default());
        // The loss is dropped, the gradients are appended to a list.
        let loss = ran[0].outputs.iter().copied().filter(|a| a.block.requested == 4);
        run.drop_all(loss.collect());
        run.session.event("$<unknown> append", 1);
        if ran[0].failed.is_some() {
            break;
        }
    }
    scenario(
        "gradients-kept",
        "Each step returns its gradients, and the program keeps them all.",
        (&["grows-per-execution", "allocator-retry"], &["live-arrays"]),
        run.finish(),
    )
}

pub(super) fn nothing_donated() -> Scenario {
    let model = Transformer { layers: 4, sequence: 256, donate: false, ..Transformer::default() };
    let mut run = Training::new(Client::Common, &model, card_for(&model, 0.9));
    run.step(0, Call::default());
    scenario(
        "nothing-donated",
        "The step doesn't donate its state, so that old and new state live together.",
        (&["not-donated", "step-does-not-fit", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn fits() -> Scenario {
    let model = Transformer::default();
    let mut run = Training::new(Client::Tfrt, &model, card(H100));
    run.steps(4, Call::default());
    scenario("fits", "A step that fits.", (&["fits"], &[]), run.finish())
}

pub(super) fn donation_defeated() -> Scenario {
    let model = Transformer::default();
    let mut run = Training::new(Client::StreamExecutor, &model, card(H100));
    for number in 0..3 {
        let ran = run.step(number, Call { not_donatable: true, ..Call::default() }).remove(0);
        run.drop_all(ran.outputs);
        let old = std::mem::replace(&mut run.state, ran.copies);
        run.drop_all(old);
    }
    scenario(
        "donation-defeated",
        "The plan donates the state, but the arrays passed can't be donated, and XLA copies them.",
        (&["donation-defeated"], &[]),
        run.finish(),
    )
}

pub(super) fn data_set_on_device() -> Scenario {
    let model = Transformer::default();
    let need = Program::of(&model.train_step(), 17).need;
    let shard = 512 << 20;
    let older = 3 << 30;
    let memory = (need + older + 16 * shard) / 3 * 4;
    let mut run =
        Training::with(Client::CommonWithRetries, &model, Card { amd: true, ..card(memory) }, |s| {
            let _ = s.allocate(0, older);
        });
    run.session.enter("$data.py:33 load_dataset", &[]);
    for _ in 0..17 {
        let _ = run.session.device_put(0, shard);
    }
    run.session.leave();
    run.session.block_until_ready();
    run.step(0, Call::default());
    scenario(
        "data-set-on-device",
        "A data set put on the device leaves too little room for a step that would fit an empty pool.",
        (&["live-arrays", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn wait_rescued() -> Scenario {
    let model = Transformer::default();
    let program = Program::of(&model.train_step(), 17);
    let (need, queue) = (program.need, program.temp() + 4096);
    let mut oldest = None;
    let mut run = Training::with(Client::CommonWithRetries, &model, card((need + queue / 2) / 3 * 4), |s| {
        oldest = s.allocate(0, queue).ok();
    });
    run.step(0, Call { rescue: oldest.map(|array| (array, 1300)), ..Call::default() });
    run.steps(2, Call::default());
    scenario(
        "wait-rescued",
        "The first step waits until another thread frees an array.",
        (&["allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn fragmented_pool() -> Scenario {
    let model = Transformer::default();
    let program = Program::of(&model.train_step(), 17);
    let hole = program.temp() / 4 * 3;
    let small = 24 << 20;
    let mut holes = Vec::new();
    let mut run = Training::with(
        Client::Common,
        &model,
        card((program.need + 4 * (hole + small) - program.temp() / 2) / 3 * 4),
        |s| {
            for _ in 0..4 {
                holes.extend(s.allocate(0, hole).ok());
                let _ = s.allocate(0, small);
            }
            // The rest of the pool, but for too little for the step.
            let rest = s.allocator(0).largest_free().saturating_sub(200 << 20);
            let _ = s.allocate(0, rest);
        },
    );
    run.session.enter("$restore.py:51 drop_checkpoint", &[]);
    run.drop_all(holes);
    run.session.leave();
    run.step(0, Call::default());
    scenario(
        "fragmented-pool",
        "Enough bytes are free, but small arrays stand between them, and no chunk is large enough.",
        (&["fragmented", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn rematerialized() -> Scenario {
    let model = Transformer { rematerialized: true, ..Transformer::default() };
    let mut run = Training::new(Client::Common, &model, card(H100));
    run.steps(2, Call::default());
    scenario(
        "rematerialized",
        "XLA computes activations twice to save memory.",
        (&["xla-rematerialized", "fits"], &[]),
        run.finish(),
    )
}

pub(super) fn checkpointed() -> Scenario {
    let model = Transformer { checkpoint: true, sequence: 2048, ..Transformer::default() };
    let mut run = Training::new(Client::Common, &model, card(H100));
    run.steps(2, Call::default());
    scenario(
        "checkpointed",
        "The same block with jax.checkpoint: the backward pass computes it again.",
        (&["fits"], &[]),
        run.finish(),
    )
}

pub(super) fn small_pool() -> Scenario {
    let model = Transformer { batch: 16, ..Transformer::default() };
    let need = Program::of(&model.train_step(), 17).need;
    let card = Card { pool: need / 10 * 8, memory: need / 10 * 24, ..card(0) };
    let mut run = Training::new(Client::CommonWithRetries, &model, card);
    run.step(0, Call::default());
    scenario(
        "small-pool",
        "The step needs more than the pool, which is a third of the card.",
        (&["step-does-not-fit", "allocator-retry", "pool-smaller-than-card", "xla-budget"], &[]),
        run.finish(),
    )
}

pub(super) fn growing_pool() -> Scenario {
    let model = Transformer::default();
    let mut run = Training::new(Client::StreamExecutor, &model, Card { preallocated: false, ..card(H100) });
    run.steps(3, Call::default());
    scenario(
        "growing-pool",
        "The pool is mapped while the program runs; that is neither growth nor fragmentation.",
        (&["fits"], &[]),
        run.finish(),
    )
}

pub(super) fn float32_copies() -> Scenario {
    let model = Transformer { float32_copies: true, batch: 1, sequence: 256, ..Transformer::default() };
    let mut run = Training::new(Client::CommonWithRetries, &model, card_for(&model, 0.9));
    run.step(0, Call::default());
    scenario(
        "float32-copies",
        "The weights are bf16, and the step converts all of them to f32 first.",
        (&["float32-copies", "step-does-not-fit", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn large_vocabulary() -> Scenario {
    let model =
        Transformer { vocabulary: 256_000, layers: 1, width: 1024, heads: 8, ..Transformer::default() };
    let mut run = Training::new(Client::CommonWithRetries, &model, card_for(&model, 0.9));
    run.step(0, Call::default());
    scenario(
        "large-vocabulary",
        "The logits of the whole vocabulary are one array.",
        (&["vocabulary-logits", "step-does-not-fit", "allocator-retry"], &[]),
        run.finish(),
    )
}

pub(super) fn captured_constant() -> Scenario {
    let model = Transformer { captured: 2 << 30, ..Transformer::default() };
    let mut run = Training::new(Client::Common, &model, card(H100));
    run.steps(2, Call::default());
    scenario(
        "captured-constant",
        "The step closes over an array of 2 GiB.",
        (&["captured-constants"], &[]),
        run.finish(),
    )
}

pub(super) fn events_lost() -> Scenario {
    let model = Transformer { return_gradients: true, ..Transformer::default() };
    let mut run = Training::new(Client::StreamExecutor, &model, card(H100));
    let mut kept = Vec::new();
    for number in 0..9 {
        run.session.record(!(4..6).contains(&number));
        let ran = run.step(number, Call::default()).remove(0);
        let (loss, gradients) = ran.outputs.into_iter().partition(|a| a.block.requested == 4);
        run.drop_all(loss);
        run.session.event("$<unknown> append", 1);
        kept.push(gradients);
    }
    let (mut truth, bytes) = run.finish();
    // Two of the nine left no trace on the host.
    truth.executions = Some(7);
    scenario(
        "events-lost",
        "Gradients are kept, and the profiler lost the events of two steps.",
        (&["truncated-capture", "grows-per-execution"], &[]),
        (truth, bytes),
    )
}

pub(super) fn one_device_fuller() -> Scenario {
    let model = Transformer { layers: 1, ..Transformer::default() };
    let fuller = Card { count: 4, ..card(H100) };
    let mut run = Training::with(Client::StreamExecutor, &model, fuller, |s| {
        let _ = s.allocate(2, 20 << 30);
    });
    run.steps(2, Call::default());
    scenario(
        "one-device-fuller",
        "One of four devices holds 20 GiB more than the others.",
        (&["devices-differ"], &[]),
        run.finish(),
    )
}
