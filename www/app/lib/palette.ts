/**
 * What the colours mean: one role, kind or owner has the same colour in every view, and a pattern or a label beside it,
 * so that no view depends on colour alone. The colours themselves stand in `styles/tokens.css`.
 */

import type { BufferKind, Evidence, LiveKind, Role, Severity, VerdictStatus } from '../../generated/report';

/** Something with a colour. */
export interface Swatch {
  /** The custom property `--c-<key>`. */
  readonly key: string;
  readonly label: string;
  /** One sentence for those who ask what it means. */
  readonly help: string;
  /** Drawn with stripes, since it is a variant of another one. */
  readonly striped?: boolean;
}

export const ROLES: readonly Role[] = ['forward', 'backward', 'recomputed', 'workspace', 'update', 'other'];

export const ROLE: Readonly<Record<Role, Swatch>> = {
  forward: {
    key: 'forward',
    label: 'forward',
    help: 'Made by the forward pass; kept for the backward pass where it lives that long.',
  },
  backward: { key: 'backward', label: 'backward', help: 'Made by the backward pass: gradients and their temporaries.' },
  recomputed: {
    key: 'recomputed',
    label: 'recomputed',
    help: 'Forward values computed again inside the backward pass (jax.checkpoint).',
    striped: true,
  },
  workspace: {
    key: 'workspace',
    label: 'workspace',
    help: 'Scratch of a library call (GEMM, convolution, attention).',
  },
  update: {
    key: 'update',
    label: 'update',
    help: 'Neither forward nor backward: the optimizer, metrics, code outside grad.',
  },
  other: { key: 'other', label: 'other', help: 'Made by XLA, without a name from the program.' },
};

export const KINDS: readonly BufferKind[] = ['temp', 'parameter', 'donated', 'output', 'constant'];

export const KIND: Readonly<Record<BufferKind, Swatch>> = {
  parameter: { key: 'parameters', label: 'parameter', help: 'An argument of the program that is not donated.' },
  donated: {
    key: 'parameters',
    label: 'donated',
    help: 'An argument whose memory an output takes over.',
    striped: true,
  },
  output: { key: 'outputs', label: 'output', help: 'A result that needs memory of its own.' },
  constant: { key: 'constants', label: 'constant', help: 'A value compiled into the program.' },
  temp: { key: 'temp', label: 'temp', help: 'Scratch of the step, in one planned block.' },
};

export const OWNER: Readonly<Record<LiveKind, Swatch>> = {
  before_capture: {
    key: 'parameters',
    label: 'earlier arrays',
    help: 'Allocated before the capture started: parameters, mostly.',
  },
  outputs: { key: 'outputs', label: 'outputs', help: 'Results of executions that are still referenced.' },
  temp: { key: 'temp', label: 'temp', help: 'The scratch block of an execution.' },
  device_put: { key: 'transfers', label: 'transfers', help: 'Arrays copied from the host (device_put).' },
  other: { key: 'live', label: 'other', help: 'Allocated by another host event.' },
};

/** Everything of the pool bar that is no role. */
export const POOL = {
  parameters: KIND.parameter,
  donated: KIND.donated,
  outputs: KIND.output,
  constants: KIND.constant,
  temp: KIND.temp,
  copies: {
    key: 'live',
    label: 'copies of what is donated',
    help: 'Copies that the launch makes of donated parameters, since something else still holds these.',
    striped: true,
  },
  live: {
    key: 'live',
    label: 'other live arrays',
    help: 'Arrays in use when the execution started that are none of its parameters.',
  },
} as const satisfies Record<string, Swatch>;

export const EVIDENCE: Readonly<Record<Evidence, string>> = {
  measured: 'Measured: an allocator or trace event in this capture says so.',
  read: "Read: XLA's own memory plan in this capture says so.",
  inferred: 'Inferred: computed or matched by oomscope from what was measured and read. As good as what went into it.',
};

export const SEVERITY: Readonly<Record<Severity, string>> = {
  error: 'Error',
  warning: 'Warning',
  note: 'Note',
  ok: 'All well',
};

export const STATUS: Readonly<Record<VerdictStatus, { label: string; severity: Severity }>> = {
  out_of_memory: { label: 'Out of memory', severity: 'error' },
  at_risk: { label: 'At risk', severity: 'warning' },
  fits: { label: 'Fits', severity: 'ok' },
  cannot_tell: { label: 'Cannot tell', severity: 'note' },
};
