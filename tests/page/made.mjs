// Captures made for the page tests: one module with a plan of any names, and an allocator's events of any number.

/** Writes protobuf messages. */
class Message {
  /** @type {Buffer[]} */
  #parts = [];
  /** @param {number} field @param {number | bigint} value */
  int(field, value) {
    if (BigInt(value) === 0n) return this;
    this.#parts.push(varint(field << 3), varint(value));
    return this;
  }
  /** @param {number} field @param {number} value */
  double(field, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.#parts.push(varint((field << 3) | 1), bytes);
    return this;
  }
  /** @param {number} field @param {string | Buffer | Message} value */
  put(field, value) {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value instanceof Message ? value.bytes() : value;
    this.#parts.push(varint((field << 3) | 2), varint(bytes.length), bytes);
    return this;
  }
  /** @param {number} field @param {Iterable<string | Buffer | Message>} values */
  all(field, values) {
    for (const value of values) this.put(field, value);
    return this;
  }
  bytes() {
    const whole = Buffer.concat(this.#parts);
    this.#parts = [whole];
    return whole;
  }
}

const message = () => new Message();

/** @param {number | bigint} value */
function varint(value) {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out = [];
  while (rest > 127n) {
    out.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return Buffer.from(out);
}

/**
 * @typedef {object} MadeBuffer
 * @property {string} name of its instruction
 * @property {string} opName
 * @property {string} file
 * @property {number} elements of f32
 */

const F32 = 11;
/** @param {number} elements */
const shape = (elements) =>
  message()
    .int(2, F32)
    .put(3, varint(elements))
    .put(5, message().put(1, varint(0)));

/**
 * The HloProto of a module whose temporaries follow one upon another, with all of them live in the middle.
 * @param {string} name
 * @param {MadeBuffer[]} buffers
 */
function hloProto(name, buffers) {
  const computation = message().put(1, 'main').int(5, 1).int(6, buffers.length);
  const assignment = message();
  const temp = message().int(1, 0);
  const trace = message().int(2, 1);
  let size = 0;
  buffers.forEach((b, i) => {
    const id = i + 1;
    computation.put(
      2,
      message()
        .put(1, b.name)
        .put(2, 'multiply')
        .put(3, shape(b.elements))
        .put(7, message().put(2, b.opName).put(3, b.file).int(4, 7))
        .int(35, id),
    );
    assignment.put(
      1,
      message()
        .int(1, id)
        .int(2, b.elements * 4)
        .put(3, message().put(2, b.name).int(4, id)),
    );
    temp.put(
      9,
      message()
        .int(1, id)
        .int(2, size)
        .int(3, b.elements * 4),
    );
    size += b.elements * 4;
  });
  buffers.forEach((b, i) => {
    trace.put(
      1,
      message()
        .int(1, 0)
        .int(2, i + 1)
        .put(3, 'main')
        .put(4, b.name),
    );
  });
  buffers.forEach((b, i) => {
    trace.put(
      1,
      message()
        .int(1, 1)
        .int(2, i + 1)
        .put(3, 'main')
        .put(4, b.name),
    );
  });
  temp.int(2, size);
  const module = message().put(1, name).put(2, 'main').put(3, computation).int(5, 17).int(6, 1);
  return message().put(1, module).put(3, assignment.put(3, temp).put(4, trace)).bytes();
}

/**
 * The bytes of a capture.
 * @param {object} of
 * @param {string} [of.module] its name, without the program id
 * @param {MadeBuffer[]} [of.buffers]
 * @param {string} [of.host]
 * @param {string} [of.allocator]
 * @param {number} [of.pairs] of an allocation and a deallocation
 * @param {string} [of.pythonFrame] around every second allocation
 * @param {number} [of.capacity]
 * @param {number[]} [of.older] sizes of arrays from before the capture, freed at its end
 */
export function capture({
  module = 'jit_made',
  buffers = [],
  host = 'made',
  allocator = 'GPU_0_bfc',
  pairs = 0,
  pythonFrame = '$made.py:1 step',
  capacity = 4 * 2 ** 30,
  older = [],
}) {
  const space = message();
  if (buffers.length > 0) {
    const metadata = message()
      .int(1, 17)
      .put(2, `${module}(17)`)
      .put(5, message().int(1, 1).put(6, hloProto(module, buffers)));
    space.put(
      1,
      message()
        .put(2, '/host:metadata')
        .put(4, message().int(1, 17).put(2, metadata))
        .put(5, message().int(1, 1).put(2, message().int(1, 1).put(2, 'Hlo Proto'))),
    );
  }
  if (pairs > 0) space.put(1, hostPlane(allocator, pairs, pythonFrame, capacity, older));
  const stat = (/** @type {number} */ id, /** @type {string} */ name) =>
    message().int(1, id).put(2, message().int(1, id).put(2, name));
  space.put(
    1,
    message()
      .put(2, '/device:GPU:0')
      .put(5, stat(1, 'memory_size'))
      .put(
        6,
        message()
          .int(1, 1)
          .int(3, capacity * 2),
      ),
  );
  return space.put(4, host).bytes();
}

/**
 * @param {string} allocator
 * @param {number} pairs
 * @param {string} frame
 * @param {number} capacity
 * @param {number[]} older
 */
function hostPlane(allocator, pairs, frame, capacity, older) {
  const names = [
    'allocator_name',
    'bytes_allocated',
    'bytes_available',
    'peak_bytes_in_use',
    'requested_bytes',
    'allocation_bytes',
    'addr',
    'bytes_reserved',
    'fragmentation',
  ];
  const events = ['MemoryAllocation', 'MemoryDeallocation', frame];
  const line = message().int(1, 1).put(2, 'main').int(3, 1000);
  let used = 2 ** 28;
  let peak = used;
  const name = message().int(1, 1).put(5, allocator);
  /** @param {number} kind @param {number} at @param {number} bytes @param {number} address */
  const event = (kind, at, bytes, address) => {
    used += kind === 1 ? bytes : -bytes;
    peak = Math.max(peak, used);
    return message()
      .int(1, kind)
      .int(2, at)
      .int(3, 1000)
      .put(4, name)
      .put(4, message().int(1, 2).int(4, used))
      .put(
        4,
        message()
          .int(1, 3)
          .int(4, capacity - used),
      )
      .put(4, message().int(1, 4).int(4, peak))
      .put(
        4,
        message()
          .int(1, 5)
          .int(4, bytes - 8),
      )
      .put(4, message().int(1, 6).int(4, bytes))
      .put(4, message().int(1, 7).int(3, address))
      .put(4, message().int(1, 9).double(2, 0));
  };
  for (let i = 0; i < pairs; i++) {
    const at = i * 40_000_000;
    // Sizes wander, so that no two pixels of the chart are alike.
    const bytes = 2 ** 20 * (1 + ((i * 7919) % 613));
    if (i % 2 === 0) line.put(4, message().int(1, 3).int(2, at).int(3, 30_000_000));
    line.put(4, event(1, at + 1_000_000, bytes, 0x7f0000000000 + i * 4096));
    line.put(4, event(2, at + 20_000_000, bytes, 0x7f0000000000 + i * 4096));
  }
  older.forEach((bytes, i) => {
    line.put(4, event(2, (pairs + i) * 40_000_000, bytes, 0x7e0000000000 + i * 2 ** 30));
  });
  const plane = message().put(2, '/host:CPU').put(3, line);
  events.forEach((name, i) => {
    plane.put(
      4,
      message()
        .int(1, i + 1)
        .put(
          2,
          message()
            .int(1, i + 1)
            .put(2, name),
        ),
    );
  });
  names.forEach((name, i) => {
    plane.put(
      5,
      message()
        .int(1, i + 1)
        .put(
          2,
          message()
            .int(1, i + 1)
            .put(2, name),
        ),
    );
  });
  return plane;
}

/** A file for the page. @param {string} name @param {Buffer} bytes */
export const asFile = (name, bytes) => ({ name, mimeType: 'application/octet-stream', buffer: bytes });

/** What a name may hold, each to be shown as text. */
export const HOSTILE = {
  markup: '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>',
  bidi: 'safe\u202Egnp.exe\u2066hidden\u2069',
  nul: 'a\0b\u0007c\u200Bd\u2028e',
  long: `${'x'.repeat(50_000)}middle${'y'.repeat(50_000)}`,
};
