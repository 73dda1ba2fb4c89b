/** Name stacks and argument paths as the module path that a reader knows. */

import type { Buffer } from '../../generated/report';

/** Parts of a JAX name stack that are transformations or control flow, not the program's own names. */
const MACHINERY =
  /^(main|while|body|cond|closed_call|checkpoint|remat\d*|rematted_computation|core_call|custom_[jv]vp_call(_jaxpr)?|shard_map|scan|branch_\d+_fun)?$/;

/** `jvp(GPT)`, `transpose(jvp(GPT))`, `vmap(f)` are GPT and f; `jit(f)` is how the program was called. */
function unwrapped(part: string): string {
  let name = part;
  for (;;) {
    const inner = /^(jvp|transpose|vmap|pmap|remat|checkpoint|custom_jvp|custom_vjp)\((.*)\)$/s.exec(name);
    if (inner === null) return /^p?jit\(/.test(name) ? '' : name;
    name = inner[2] ?? '';
  }
}

/** Name stacks are cut at slashes outside of brackets: `transpose(jvp(a/b))` is one part. */
function split(stack: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < stack.length; i++) {
    const c = stack[i];
    if (c === '(') depth++;
    else if (c === ')') depth--;
    else if (c === '/' && depth <= 0) {
      out.push(stack.slice(from, i));
      from = i + 1;
    }
  }
  out.push(stack.slice(from));
  return out;
}

const cache = new Map<string, readonly string[]>();

/** `jit(step)/jvp(GPT)/layer_0/attn/div` is GPT, layer_0, attn, div; `params['w']['b']` is params, w, b. */
export function modulePath(opName: string | null): readonly string[] {
  if (opName === null || opName === '') return [];
  let path = cache.get(opName);
  if (path === undefined) {
    const text = opName.slice(0, 2000);
    path = text.includes('/')
      ? split(text).flatMap((p) => {
          const name = unwrapped(p);
          return MACHINERY.test(name) ? [] : name.split('/');
        })
      : text.split(/[.[\]'"]+/).filter((p) => p !== '');
    if (cache.size > 20_000) cache.clear();
    cache.set(opName, path);
  }
  return path;
}

/** What tells one buffer from another, at every moment of the schedule. */
export function bufferKey(b: Buffer): string {
  return `${b.allocation}.${b.offset_bytes}.${b.instruction}.${b.shape}`;
}

/** A shape without its layout: `f32[8,1024]` of `f32[8,1024]{1,0}`. */
export function bareShape(shape: string): string {
  return shape.replace(/\{[^}]*\}/g, '');
}
