/**
 * Unpacks LZMA (the `.lzma` format of xz and the LZMA SDK), which makes the core a fifth smaller than what browsers can
 * unpack by themselves. Follows the LZMA specification of the SDK; trusts its input, which is a part of the page.
 */

/** A new tree of probabilities, each one half. */
function probabilities(count: number): Uint16Array {
  return new Uint16Array(count).fill(1024);
}

/** The bytes of a packed file, in a buffer of their own. */
export function unpackLzma(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const view = new DataView(packed.buffer, packed.byteOffset);
  let properties = view.getUint8(0);
  const lc = properties % 9;
  properties = (properties / 9) | 0;
  const lp = properties % 5;
  const posMask = (1 << ((properties / 5) | 0)) - 1;
  const literalMask = (1 << lp) - 1;
  const out = new Uint8Array(view.getUint32(5, true));

  // The range coder.
  let at = 18; // after the header and the coder's first byte, which is 0, and its code
  // Range and code: in variables that the functions share, numbers of 32 bits would be boxed anew for each bit.
  const coder = new Uint32Array([0xffffffff, view.getUint32(14)]);

  function bit(probs: Uint16Array, index: number): number {
    const prob = probs[index] as number;
    const range = coder[0] as number;
    const code = coder[1] as number;
    const bound = Math.imul(range >>> 11, prob) >>> 0;
    let left: number;
    let value: number;
    if (code < bound) {
      left = bound;
      probs[index] = prob + ((2048 - prob) >> 5);
      value = 0;
    } else {
      left = range - bound;
      coder[1] = code - bound;
      probs[index] = prob - (prob >> 5);
      value = 1;
    }
    if (left < 0x1000000) {
      left <<= 8;
      coder[1] = ((coder[1] as number) << 8) | (packed[at++] as number);
    }
    coder[0] = left;
    return value;
  }

  function tree(probs: Uint16Array, offset: number, bits: number): number {
    let node = 1;
    for (let i = 0; i < bits; i++) node = (node << 1) | bit(probs, offset + node);
    return node - (1 << bits);
  }

  /** As a tree, lowest bit first. */
  function reverse(probs: Uint16Array, offset: number, bits: number): number {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const next = bit(probs, offset + node);
      node = (node << 1) | next;
      value |= next << i;
    }
    return value;
  }

  /** Bits without probabilities. */
  function direct(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++) {
      let range = (coder[0] as number) >>> 1;
      const code = coder[1] as number;
      const next = code >= range ? 1 : 0;
      if (next) coder[1] = code - range;
      value = (value << 1) | next;
      if (range < 0x1000000) {
        range <<= 8;
        coder[1] = ((coder[1] as number) << 8) | (packed[at++] as number);
      }
      coder[0] = range;
    }
    return value;
  }

  /** Lengths of matches: two choices, then short and middle ones by position, and long ones. */
  const lengths = () => ({
    choice: probabilities(2),
    low: probabilities(128),
    mid: probabilities(128),
    high: probabilities(256),
  });
  function length(of: ReturnType<typeof lengths>, position: number): number {
    if (!bit(of.choice, 0)) return 2 + tree(of.low, position << 3, 3);
    if (!bit(of.choice, 1)) return 10 + tree(of.mid, position << 3, 3);
    return 18 + tree(of.high, 0, 8);
  }

  const isMatch = probabilities(192);
  const isRep = probabilities(12);
  const isRepG0 = probabilities(12);
  const isRepG1 = probabilities(12);
  const isRepG2 = probabilities(12);
  const isRep0Long = probabilities(192);
  const literals = probabilities(0x300 << (lc + lp));
  const matchLengths = lengths();
  const repLengths = lengths();
  const slots = probabilities(256);
  const special = probabilities(128);
  const align = probabilities(16);

  let state = 0;
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];
  let done = 0;
  while (done < out.length) {
    const position = done & posMask;
    if (!bit(isMatch, (state << 4) + position)) {
      const before = done > 0 ? (out[done - 1] as number) : 0;
      const offset = 0x300 * (((done & literalMask) << lc) + (before >> (8 - lc)));
      let symbol = 1;
      if (state >= 7) {
        let matched = out[done - rep0 - 1] as number;
        do {
          const want = (matched >> 7) & 1;
          matched <<= 1;
          const got = bit(literals, offset + ((1 + want) << 8) + symbol);
          symbol = (symbol << 1) | got;
          if (want !== got) break;
        } while (symbol < 0x100);
      }
      while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, offset + symbol);
      out[done++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count: number;
    if (bit(isRep, state)) {
      if (!bit(isRepG0, state)) {
        if (!bit(isRep0Long, (state << 4) + position)) {
          state = state < 7 ? 9 : 11;
          out[done] = out[done - rep0 - 1] as number;
          done++;
          continue;
        }
      } else {
        let distance = rep1;
        if (bit(isRepG1, state)) {
          distance = rep2;
          if (bit(isRepG2, state)) {
            distance = rep3;
            rep3 = rep2;
          }
          rep2 = rep1;
        }
        rep1 = rep0;
        rep0 = distance;
      }
      count = length(repLengths, position);
      state = state < 7 ? 8 : 11;
    } else {
      rep3 = rep2;
      rep2 = rep1;
      rep1 = rep0;
      count = length(matchLengths, position);
      state = state < 7 ? 7 : 10;
      rep0 = tree(slots, Math.min(count - 2, 3) << 6, 6);
      if (rep0 >= 4) {
        const slot = rep0;
        const bits = (slot >> 1) - 1;
        rep0 = (2 | (slot & 1)) << bits;
        if (slot < 14) rep0 += reverse(special, rep0 - slot, bits);
        else rep0 += (direct(bits - 4) << 4) + reverse(align, 0, 4);
      }
    }
    for (const end = Math.min(done + count, out.length); done < end; done++) {
      out[done] = out[done - rep0 - 1] as number;
    }
  }
  return out;
}
