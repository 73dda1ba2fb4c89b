/** Numbers for people: sizes in binary units, times in the unit that fits, both as the command line prints them. */

const UNITS: readonly (readonly [string, number])[] = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** `3.72 GiB`, `103.97 MiB`, `512 B`; in the unit that another size has, unless it is less than a tenth of that. */
export function size(bytes: number, like = 0): string {
  const n = Math.abs(bytes);
  for (const [unit, one] of UNITS) {
    if (n >= one || (Math.abs(like) >= one && n >= one / 10)) {
      const value = bytes / one;
      return `${Math.abs(value) >= 1000 ? whole.format(value) : value.toFixed(2)} ${unit}`.replace('-', '−');
    }
  }
  return exactSize(bytes);
}

/** `3,991,235,612 B`. */
export function exactSize(bytes: number): string {
  return `${whole.format(bytes)} B`.replace('-', '−');
}

/** A difference of sizes with its sign: `+104.00 MiB`, `−1.20 GiB`, `±0`. */
export function signedSize(bytes: number): string {
  return bytes === 0 ? '±0' : `${bytes > 0 ? '+' : '−'}${size(Math.abs(bytes))}`;
}

/** A difference of counts with its sign. */
export function signedCount(n: number): string {
  return n === 0 ? '±0' : `${n > 0 ? '+' : '−'}${whole.format(Math.abs(n))}`;
}

/** `12,345`. */
export function count(n: number): string {
  return whole.format(n);
}

/** `1 array`, `3 arrays`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A share as `84.1 %`. Nearly all is not all, nor nearly nothing nothing. */
export function percent(share: number): string {
  const n = share * 100;
  return n > 0 && n < 0.05 ? '< 0.1 %' : `${(n < 100 ? Math.min(n, 99.9) : n).toFixed(1)} %`;
}

/** A length of time: `10.00 s`, `52.4 ms`, `138.5 µs`. */
export function duration(picoseconds: number): string {
  const n = Math.abs(picoseconds);
  if (n >= 1e12) return `${(picoseconds / 1e12).toFixed(2)} s`;
  if (n >= 1e9) return `${(picoseconds / 1e9).toFixed(1)} ms`;
  if (n >= 1e6) return `${(picoseconds / 1e6).toFixed(1)} µs`;
  if (n >= 1e3) return `${(picoseconds / 1e3).toFixed(1)} ns`;
  return `${whole.format(picoseconds)} ps`;
}

/** A moment on an axis whose ticks are `step` picoseconds apart: only as many decimals as tell the ticks apart. */
export function tickTime(picoseconds: number, step: number): string {
  // 50,200 µs are 50.20 ms.
  const large = Math.max(step, Math.abs(picoseconds) / 10);
  const [unit, one] =
    large >= 1e12
      ? (['s', 1e12] as const)
      : large >= 1e9
        ? (['ms', 1e9] as const)
        : large >= 1e6
          ? (['µs', 1e6] as const)
          : (['ns', 1e3] as const);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / one) - 1e-9));
  // No minus before a zero that is a hair off.
  const value = picoseconds / one + 0;
  return `${decimals > 0 ? value.toFixed(decimals) : whole.format(value)} ${unit}`;
}

/** A size on an axis whose ticks are `step` bytes apart: `2.5 GiB`. */
export function tickSize(bytes: number, step: number): string {
  if (bytes === 0) return '0';
  for (const [unit, one] of UNITS) {
    // Steps are powers of two, so half a unit takes one decimal, a quarter two.
    if (Math.abs(bytes) >= one)
      return `${(bytes / one).toFixed(Math.min(3, Math.max(0, Math.ceil(Math.log2(one / step)))))} ${unit}`;
  }
  return `${whole.format(bytes)} B`;
}

/** A round step for an axis of bytes: the power of two that gives at most `ticks` of them. */
export function byteStep(span: number, ticks: number): number {
  return span > 0 ? Math.max(1, 2 ** Math.ceil(Math.log2(span / Math.max(1, ticks)) - 1e-9)) : 1;
}

/** Round steps of 1, 2, 5 times a power of ten. */
export function decimalStep(span: number, ticks: number): number {
  if (!(span > 0)) return 1;
  const raw = span / Math.max(1, ticks);
  const one = 10 ** Math.floor(Math.log10(raw));
  for (const m of [1, 2, 5]) if (m * one >= raw) return m * one;
  return 10 * one;
}

/** The multiples of `step` within `[from, to]`. */
export function ticksBetween(from: number, to: number, step: number): number[] {
  const out: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && out.length < 200; i++)
    out.push(i === 0 ? 0 : i * step);
  return out;
}
