//! A transformer's training step, as JAX and XLA would hand it to the runtime.

use super::module::{Builder, Style, Value};
use super::shape::{
    Element::{self, Bf16, F32, S32},
    Shape, shape,
};
use crate::proto::hlo::HloProto;

/// What the step is like. The defaults are a small language model whose state is donated.
#[derive(Debug, Clone)]
pub struct Transformer {
    /// How many blocks.
    pub layers: usize,
    /// Sequences in a batch.
    pub batch: i64,
    /// Tokens in a sequence.
    pub sequence: i64,
    /// Model width; the feed-forward layer has four times as much.
    pub width: i64,
    /// Attention heads.
    pub heads: i64,
    /// Tokens of the vocabulary.
    pub vocabulary: i64,
    /// The type of weights and activations.
    pub element: Element,
    /// `donate_argnums` for the state.
    pub donate: bool,
    /// The gradients are results too.
    pub return_gradients: bool,
    /// XLA repeats the activation function in the backward pass (`.remat`).
    pub rematerialized: bool,
    /// `jax.checkpoint` on the block.
    pub checkpoint: bool,
    /// Weights are converted to f32 for the whole step.
    pub float32_copies: bool,
    /// Bytes of an array that the function closes over.
    pub captured: i64,
    /// How ids and positions are written.
    pub style: Style,
}

impl Default for Transformer {
    fn default() -> Transformer {
        Transformer {
            layers: 2,
            batch: 8,
            sequence: 1024,
            width: 2048,
            heads: 16,
            vocabulary: 32_000,
            element: Bf16,
            donate: true,
            return_gradients: false,
            rematerialized: false,
            checkpoint: false,
            float32_copies: false,
            captured: 0,
            style: Style::New,
        }
    }
}

/// A weight with its Adam state and, in time, its gradient.
struct Weight {
    path: String,
    shape: Shape,
    arrays: [Value; 3],
    /// What the forward and backward passes read: the weight, or its copy in f32.
    read: Value,
    gradient: Option<Value>,
}

/// What a block keeps for the backward pass.
struct Kept {
    input: Value,
    qkv: Value,
    probabilities: Value,
    context: Value,
    hidden: Value,
    up: Value,
    activation: Value,
}

/// Weights of a block, by name, with their shapes in widths.
const BLOCK: [(&str, i64, i64); 4] = [("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1)];

struct Step<'a> {
    of: &'a Transformer,
    m: Builder,
    weights: Vec<Weight>,
}

impl Transformer {
    /// Paths and shapes of the weights.
    #[must_use]
    pub fn weights(&self) -> Vec<(String, Shape)> {
        let d = self.width;
        let mut weights = vec![("['embed']".to_owned(), shape(self.element, &[self.vocabulary, d]))];
        for layer in 0..self.layers {
            for (name, rows, columns) in BLOCK {
                let path = format!("['layer_{layer}']['{name}']");
                weights.push((path, shape(self.element, &[rows * d, columns * d])));
            }
        }
        weights
    }

    /// The compiled step, `jit_train_step`.
    #[must_use]
    pub fn train_step(&self) -> HloProto {
        let mut m = Builder::new("jit_train_step", self.style);
        m.at(&[("train.py", 61, "train_step")]);
        let mut arrays: Vec<[Value; 3]> = Vec::new();
        let weights = self.weights();
        for (path, shape) in &weights {
            let [p, mu, nu] = ["params", "opt_state[0].mu", "opt_state[0].nu"]
                .map(|part| m.parameter(&format!("state.{part}{path}"), shape.clone()));
            arrays.push([p, mu, nu]);
        }
        let tokens = m.parameter("batch['tokens']", shape(S32, &[self.batch, self.sequence]));
        let targets = m.parameter("batch['targets']", shape(S32, &[self.batch, self.sequence]));
        let weights = weights.into_iter().zip(arrays);
        let weights = weights.map(|((path, shape), arrays)| Weight {
            path,
            shape,
            read: arrays[0],
            arrays,
            gradient: None,
        });
        let mut step = Step { of: self, m, weights: weights.collect() };
        if self.float32_copies {
            step.convert();
        }
        let loss = step.forward_and_backward(tokens, targets);
        let mut outputs = step.update();
        outputs.push(loss);
        if self.return_gradients {
            outputs.extend(step.weights.iter().filter_map(|w| w.gradient));
        }
        step.m.finish(&outputs)
    }
}

impl Step<'_> {
    fn at(&mut self, line: i32) {
        self.m.at(&[
            ("model.py", line, "__call__"),
            ("train.py", 48, "loss_fn"),
            ("train.py", 61, "train_step"),
        ]);
    }

    /// `[batch, sequence, n × width]`.
    fn tokens(&self, n: i64) -> Shape {
        shape(self.of.element, &[self.of.batch, self.of.sequence, n * self.of.width])
    }

    fn scores(&self) -> Shape {
        shape(F32, &[self.of.batch, self.of.heads, self.of.sequence, self.of.sequence])
    }

    fn convert(&mut self) {
        for i in 0..self.weights.len() {
            let wide = shape(F32, &self.weights[i].shape.dims);
            let name =
                format!("jit(train_step)/jvp(GPT){}/convert_element_type", slashes(&self.weights[i].path));
            let from = self.weights[i].read;
            self.weights[i].read = self.m.op("convert", &name, wide, &[from]);
        }
    }

    fn forward_and_backward(&mut self, tokens: Value, targets: Value) -> Value {
        let captured = (self.of.captured > 0).then(|| self.m.constant(shape(F32, &[self.of.captured / 4])));
        let mut inputs = vec![tokens, self.weights[0].read];
        inputs.extend(captured);
        self.at(31);
        let mut x = self.m.op("gather", "jit(train_step)/jvp(GPT)/embed/gather", self.tokens(1), &inputs);
        let mut kept = Vec::new();
        for layer in 0..self.of.layers {
            let (block, out) = self.block(layer, x, "jvp(GPT)", "");
            kept.push(block);
            x = out;
        }
        self.at(44);
        let all = shape(F32, &[self.of.batch, self.of.sequence, self.of.vocabulary]);
        let embed = self.weights[0].read;
        let logits =
            self.m.op("gemm_fusion_dot", "jit(train_step)/jvp(GPT)/logits/dot_general", all, &[x, embed]);
        self.m.at(&[("train.py", 51, "loss_fn"), ("train.py", 61, "train_step")]);
        let loss = self.m.op(
            "input_reduce_fusion",
            "jit(train_step)/jvp()/reduce_sum",
            shape(F32, &[]),
            &[logits, targets],
        );

        let back = |what: &str| format!("jit(train_step)/transpose(jvp(GPT))/{what}");
        let dlogits = self.m.in_place(
            "loop_subtract_fusion",
            "jit(train_step)/transpose(jvp())/sub",
            logits,
            &[targets],
        );
        self.at(44);
        self.gradient(0, &back("logits/dot_general"), &[dlogits, x]);
        let mut dx =
            self.m.op("gemm_fusion_dot", &back("logits/dot_general"), self.tokens(1), &[dlogits, embed]);
        for layer in (0..self.of.layers).rev() {
            dx = self.block_backward(layer, &kept[layer], dx);
        }
        loss
    }

    /// One block: what it keeps, and its output.
    fn block(&mut self, layer: usize, x: Value, pass: &str, scope: &str) -> (Kept, Value) {
        let name = |what: &str| format!("jit(train_step)/{pass}/{scope}layer_{layer}/{what}");
        let [qkv_w, out_w, up_w, down_w] = [0, 1, 2, 3].map(|i| self.weights[1 + 4 * layer + i].read);
        self.at(12);
        let qkv = self.m.op("gemm_fusion_dot", &name("attn/qkv/dot_general"), self.tokens(3), &[x, qkv_w]);
        self.at(14);
        let scores =
            self.m.op("gemm_fusion_dot", &name("attn/bqhd,bkhd->bhqk/dot_general"), self.scores(), &[qkv]);
        self.at(15);
        let probabilities = self.m.op("loop_exponential_fusion", &name("attn/exp"), self.scores(), &[scores]);
        self.at(16);
        let context = self.m.op(
            "gemm_fusion_dot",
            &name("attn/bhqk,bkhd->bqhd/dot_general"),
            self.tokens(1),
            &[probabilities, qkv],
        );
        let hidden =
            self.m.op("gemm_fusion_dot", &name("attn/out/dot_general"), self.tokens(1), &[context, out_w, x]);
        self.at(21);
        let up = self.m.op("gemm_fusion_dot", &name("up/dot_general"), self.tokens(4), &[hidden, up_w]);
        let activation = self.activation(&name("gelu/tanh"), up, false);
        let out = self.m.custom_call(
            "__cublas$lt$matmul",
            &name("down/dot_general"),
            self.tokens(1),
            32 << 20,
            &[activation, down_w],
        );
        (Kept { input: x, qkv, probabilities, context, hidden, up, activation }, out)
    }

    fn activation(&mut self, name: &str, up: Value, again: bool) -> Value {
        self.at(22);
        let shape = self.tokens(4);
        if again {
            self.m.rematerialized("loop_tanh_fusion", name, shape, &[up])
        } else {
            self.m.op("loop_tanh_fusion", name, shape, &[up])
        }
    }

    fn block_backward(&mut self, layer: usize, kept: &Kept, dx: Value) -> Value {
        let again;
        let mut kept = kept;
        let mut scope = String::new();
        if self.of.checkpoint {
            // All but the block's input is computed once more.
            let inside = "checkpoint/rematted_computation/";
            again = self.block(layer, kept.input, "transpose(jvp(GPT))", inside).0;
            kept = &again;
            scope = "checkpoint/".to_owned();
        }
        let name = |what: &str| format!("jit(train_step)/transpose(jvp(GPT))/{scope}layer_{layer}/{what}");
        let first = 1 + 4 * layer;
        let [qkv_w, out_w, up_w, down_w] = [0, 1, 2, 3].map(|i| self.weights[first + i].read);
        let activation = if self.of.rematerialized {
            let forward = format!("jit(train_step)/jvp(GPT)/layer_{layer}/gelu/tanh");
            self.activation(&forward, kept.up, true)
        } else {
            kept.activation
        };
        self.at(23);
        self.gradient(first + 3, &name("down/dot_general"), &[dx, activation]);
        let dact = self.m.op("gemm_fusion_dot", &name("down/dot_general"), self.tokens(4), &[dx, down_w]);
        let dup = self.m.in_place("loop_multiply_fusion", &name("gelu/mul"), dact, &[kept.up]);
        self.at(21);
        self.gradient(first + 2, &name("up/dot_general"), &[dup, kept.hidden]);
        let dh = self.m.op("gemm_fusion_dot", &name("up/dot_general"), self.tokens(1), &[dup, up_w]);
        self.at(16);
        self.gradient(first + 1, &name("attn/out/dot_general"), &[dh, kept.context]);
        let dcontext =
            self.m.op("gemm_fusion_dot", &name("attn/out/dot_general"), self.tokens(1), &[dh, out_w]);
        let dprobabilities = self.m.op(
            "gemm_fusion_dot",
            &name("attn/bhqk,bkhd->bqhd/dot_general"),
            self.scores(),
            &[dcontext, kept.qkv],
        );
        self.at(15);
        let dscores =
            self.m.in_place("loop_multiply_fusion", &name("attn/mul"), dprobabilities, &[kept.probabilities]);
        self.at(12);
        let dqkv = self.m.op(
            "gemm_fusion_dot",
            &name("attn/bqhd,bkhd->bhqk/dot_general"),
            self.tokens(3),
            &[dscores, kept.qkv, kept.probabilities],
        );
        self.gradient(first, &name("attn/qkv/dot_general"), &[dqkv, kept.input]);
        self.m.op("gemm_fusion_dot", &name("attn/qkv/dot_general"), self.tokens(1), &[dqkv, qkv_w, dx])
    }

    fn gradient(&mut self, weight: usize, name: &str, operands: &[Value]) {
        let shape = self.weights[weight].shape.clone();
        self.weights[weight].gradient = Some(self.m.op("gemm_fusion_dot", name, shape, operands));
    }

    /// Adam: the new weights and their new state.
    fn update(&mut self) -> Vec<Value> {
        self.m.at(&[("optimizer.py", 20, "apply"), ("train.py", 63, "train_step")]);
        let mut new: [Vec<Value>; 3] = Default::default();
        for weight in &self.weights {
            let gradient: Vec<Value> = weight.gradient.into_iter().collect();
            let mut write = |name: &str, old: Value, from: &[Value]| {
                if self.of.donate {
                    self.m.in_place("loop_add_fusion", name, old, from)
                } else {
                    let from: Vec<Value> = std::iter::once(old).chain(from.iter().copied()).collect();
                    self.m.op("loop_add_fusion", name, weight.shape.clone(), &from)
                }
            };
            let mu = write("jit(train_step)/add", weight.arrays[1], &gradient);
            let nu = write("jit(train_step)/add", weight.arrays[2], &gradient);
            let p = write("jit(train_step)/sub", weight.arrays[0], &[mu, nu]);
            for (list, value) in new.iter_mut().zip([p, mu, nu]) {
                list.push(value);
            }
        }
        new.concat()
    }
}

/// `['layer_0']['up']` as a scope, `/layer_0/up`.
fn slashes(path: &str) -> String {
    path.replace("']['", "/").replace("['", "/").replace("']", "")
}
