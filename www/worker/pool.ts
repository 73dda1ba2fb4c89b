/** Makes the client: shares the files out among workers, and outlives their faults. */

import type {
  Beside,
  BesideKind,
  Capture,
  Client,
  Input,
  Item,
  ItemState,
  OpenEvents,
  Opening,
  PassedOver,
  Sample,
  SelfTestCheck,
  Sizes,
} from '../client';
import type { Report } from '../generated/report';
import { engine, workerUrl } from './engine';
import type { GeneralQuestions, Questions, Reply, Request } from './protocol';

/** More workers than this only take memory: reading is bound by the disk and the browser's own processes. */
const MOST_WORKERS = 8;

const FAULT = 'oomscope stopped at a fault of its own';
const NO_MEMORY =
  'Reading it takes more memory than a browser gives to a page, 4 GiB at most. The command line reads it, with all that the machine has';
const CLOSED = 'This capture was closed.';

/** The client of this page. Loads nothing yet: the first worker starts when the page has been painted. */
export function connect(): Client {
  return new Pool();
}

/** A file on its way into a worker: for an item of an opening, or again after a worker was lost. */
interface Job {
  readonly capture: number;
  readonly blob: Blob;
  readonly name: string;
  readonly damage: string | undefined;
  progress(doneBytes: number): void;
  opened(report: Report, slot: Slot): void;
  failed(message: string): void;
  /** It is an archive: a file in it, one that was left out, and its end. */
  inside?(input: Input): void;
  /** It is the packing of this file, which the worker goes on with. */
  becomes?(input: Input): void;
  passedOver?(passed: PassedOver): void;
  unpacked?(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** One worker, the file it is reading and the captures it holds. */
class Slot {
  job: Job | null = null;
  readonly captures = new Set<Held>();
  readonly waiting = new Map<number, Waiting>();
  readonly #worker = new Worker(workerUrl());
  #sending: Promise<void>;
  #ended = false;

  constructor(readonly onReply: (slot: Slot, reply: Reply) => void) {
    this.#worker.onmessage = (event: MessageEvent<Reply>) => {
      if (!this.#ended) onReply(this, event.data);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      if (!this.#ended) onReply(this, { type: 'fault', message: event.message || 'the worker could not start' });
    };
    this.#sending = engine().then((module) => this.#worker.postMessage({ type: 'start', engine: module }));
    this.#sending.catch((error: unknown) => onReply(this, { type: 'fault', message: String(error) }));
  }

  /** Messages keep their order and wait for the engine. */
  send(request: Request): void {
    this.#sending = this.#sending.then(() => {
      if (!this.#ended) this.#worker.postMessage(request);
    });
    this.#sending.catch(() => {}); // told once, by the constructor
  }

  end(reason: string): void {
    this.#ended = true;
    this.#worker.terminate();
    for (const held of this.captures) held.slot = null;
    for (const waiting of this.waiting.values()) waiting.reject(new Error(reason));
  }
}

/** What the build wrote into the page of itself. */
function meta(name: string): string | null {
  return document.querySelector<HTMLMetaElement>(`meta[name=oomscope-${name}]`)?.content || null;
}

class Pool implements Client {
  readonly version = meta('version') ?? 'unknown';
  readonly home = meta('home');
  readonly #slots: Slot[] = [];
  readonly #queue: Job[] = [];
  readonly #most = Math.max(1, Math.min(navigator.hardwareConcurrency || 2, MOST_WORKERS));
  #opening: Reading | null = null;
  #lastId = 0;

  constructor() {
    // After the first paint: the frame that this callback waits for is drawn before the timer fires.
    requestAnimationFrame(() => setTimeout(() => this.#slots.length || this.#add()));
  }

  open(inputs: readonly Input[], events: OpenEvents = {}): Opening {
    this.#opening?.replace();
    this.#opening = new Reading(this, inputs, events);
    return this.#opening;
  }

  samples(): Promise<Sample[]> {
    return this.#askAny<'samples'>({ about: 'samples' });
  }

  async sample(id: string): Promise<Input> {
    const bytes = await this.#askAny<'sample'>({ about: 'sample', id });
    const name = `${id}.xplane.pb`;
    return { name, path: name, blob: new Blob([bytes]) };
  }

  async besideKind({ blob, name }: Input): Promise<BesideKind | null> {
    return (await this.#askAny<'besideKind'>({ about: 'besideKind', blob, name })) ?? null;
  }

  selfTest(): Promise<SelfTestCheck[]> {
    return this.#askAny<'selfTest'>({ about: 'selfTest' });
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** Puts a file in the queue; in front, where somebody waits for an answer from it. */
  read(job: Job, urgent = false): void {
    if (urgent) this.#queue.unshift(job);
    else this.#queue.push(job);
    this.#pump();
  }

  /** Takes files out of the queue, and stops the workers of those being read: deep in a computation they hear nothing. */
  stop(captures: ReadonlySet<number>): void {
    const kept = this.#queue.filter((job) => !captures.has(job.capture));
    this.#queue.splice(0, this.#queue.length, ...kept);
    for (const slot of [...this.#slots]) {
      if (slot.job && captures.has(slot.job.capture)) this.#remove(slot, 'Reading was cancelled.');
    }
  }

  /** Asks a worker; `capture` is null for questions about none. */
  ask(slot: Slot, request: Omit<Extract<Request, { type: 'ask' }>, 'id' | 'type'>): Promise<unknown> {
    const id = this.nextId();
    return new Promise((resolve, reject) => {
      slot.waiting.set(id, { resolve, reject });
      slot.send({ type: 'ask', id, ...request } as Request);
    });
  }

  #askAny<K extends keyof GeneralQuestions>(
    question: { about: K } & GeneralQuestions[K]['ask'],
  ): Promise<GeneralQuestions[K]['answer']> {
    const slot = this.#slots.find((slot) => !slot.job) ?? this.#slots[0] ?? this.#add();
    return this.ask(slot, { capture: null, question } as never) as Promise<GeneralQuestions[K]['answer']>;
  }

  #add(): Slot {
    const slot = new Slot((slot, reply) => this.#onReply(slot, reply));
    this.#slots.push(slot);
    return slot;
  }

  #remove(slot: Slot, reason: string): void {
    const at = this.#slots.indexOf(slot);
    if (at >= 0) this.#slots.splice(at, 1);
    slot.end(reason);
    this.#pump();
  }

  #pump(): void {
    while (this.#queue.length) {
      const slot = this.#slots.find((slot) => !slot.job) ?? (this.#slots.length < this.#most ? this.#add() : null);
      if (!slot) return;
      const job = this.#queue.shift() as Job;
      slot.job = job;
      const { capture, blob, name, damage } = job;
      slot.send({ type: 'open', capture, blob, name, damage });
    }
  }

  #onReply(slot: Slot, reply: Reply): void {
    switch (reply.type) {
      case 'progress':
        if (slot.job?.capture === reply.capture) slot.job.progress(reply.doneBytes);
        return;
      case 'inside':
      case 'becomes': {
        const { type, path, blob, damage } = reply;
        const name = path.slice(path.lastIndexOf('/') + 1);
        if (slot.job?.capture === reply.capture) slot.job[type]?.({ name, path, blob, damage });
        return;
      }
      case 'passed-over':
        if (slot.job?.capture === reply.capture) slot.job.passedOver?.(reply);
        return;
      case 'opened':
      case 'unpacked':
      case 'refused': {
        const job = slot.job;
        if (job?.capture !== reply.capture) return;
        slot.job = null;
        if (reply.type === 'opened') job.opened(reply.report, slot);
        else if (reply.type === 'unpacked') job.unpacked?.();
        else job.failed(reply.message);
        this.#pump();
        return;
      }
      case 'answer':
      case 'no-answer': {
        const waiting = slot.waiting.get(reply.id);
        slot.waiting.delete(reply.id);
        if (reply.type === 'answer') waiting?.resolve(reply.value);
        else waiting?.reject(new Error(reply.message));
        return;
      }
      case 'fault': {
        const job = slot.job;
        const sentence = reply.memory ? NO_MEMORY : `${FAULT}: ${reply.message}`;
        this.#remove(slot, sentence);
        job?.failed(`${sentence}. The other files are not affected${reply.memory ? '' : '; please report this one'}.`);
        return;
      }
    }
  }
}

/** A capture, wherever its index lies. */
class Held implements Capture {
  slot: Slot | null = null;
  beside: readonly Beside[] = [];
  given: Sizes = {};
  #again: Promise<Slot> | null = null;
  #closed = false;

  constructor(
    readonly pool: Pool,
    readonly id: number,
    readonly input: Input,
    public report: Report,
  ) {}

  get name(): string {
    return this.input.name;
  }

  get path(): string {
    return this.input.path;
  }

  module(name: string) {
    return this.#ask({ about: 'report', module: name });
  }

  planAt(event: number, module?: string) {
    return this.#ask({ about: 'planAt', event, ...(module === undefined ? {} : { module }) });
  }

  liveAt(allocator: string, picoseconds: number) {
    return this.#ask({ about: 'liveAt', allocator, picoseconds });
  }

  whatIf(fixes: readonly string[], module?: string) {
    return this.#ask({ about: 'whatIf', fixes, ...(module === undefined ? {} : { module }) });
  }

  text(kind: Questions['text']['ask']['kind'], module?: string) {
    return this.#ask({ about: 'text', kind, ...(module === undefined ? {} : { module }) });
  }

  async add(beside: Beside): Promise<void> {
    const { blob, name } = beside.input;
    await this.#ask({ about: 'add', blob, name });
    this.beside = [...this.beside.filter((b) => b.kind !== beside.kind), beside];
    this.report = await this.#ask({ about: 'report' });
  }

  async remove(kind: BesideKind): Promise<void> {
    this.beside = this.beside.filter((b) => b.kind !== kind);
    this.#letGo();
    this.report = await this.#ask({ about: 'report' });
  }

  async give(sizes: Sizes): Promise<void> {
    await this.#ask({ about: 'give', ...sizes });
    this.given = sizes;
    this.report = await this.#ask({ about: 'report' });
  }

  since({ blob, name }: Input) {
    return this.#ask({ about: 'since', blob, name });
  }

  close(): void {
    this.#closed = true;
    this.#letGo();
  }

  #letGo(): void {
    this.pool.stop(new Set([this.id]));
    this.slot?.send({ type: 'close', capture: this.id });
    this.slot?.captures.delete(this);
    this.slot = null;
  }

  holdIn(slot: Slot): void {
    this.slot = slot;
    slot.captures.add(this);
  }

  async #ask<K extends keyof Questions>(question: { about: K } & Questions[K]['ask']): Promise<Questions[K]['answer']> {
    if (this.#closed) throw new Error(CLOSED);
    const slot = this.slot ?? (await this.#openAgain());
    return this.pool.ask(slot, { capture: this.id, question } as never) as Promise<Questions[K]['answer']>;
  }

  #openAgain(): Promise<Slot> {
    this.#again ??= new Promise<Slot>((resolve, reject) => {
      const job: Job = {
        capture: this.id,
        blob: this.input.blob,
        name: this.input.name,
        damage: this.input.damage,
        progress: () => {},
        opened: (_, slot) => {
          this.holdIn(slot);
          // Before the question that is waiting; what was taken then is taken now.
          for (const { input } of this.beside)
            this.pool
              .ask(slot, { capture: this.id, question: { about: 'add', blob: input.blob, name: input.name } })
              .catch(() => {});
          this.pool.ask(slot, { capture: this.id, question: { about: 'give', ...this.given } }).catch(() => {});
          resolve(slot);
        },
        failed: (message) => reject(new Error(message)),
      };
      this.pool.read(job, true);
    }).finally(() => {
      this.#again = null;
    });
    return this.#again;
  }
}

class Entry implements Item {
  name: string;
  path: string;
  sizeBytes: number;
  state: ItemState = 'waiting';
  doneBytes = 0;
  error: string | null = null;
  capture: Capture | null = null;

  constructor(
    readonly id: number,
    public input: Input,
  ) {
    this.name = input.name;
    this.path = input.path;
    this.sizeBytes = input.blob.size;
  }

  get going(): boolean {
    return this.state === 'waiting' || this.state === 'reading';
  }

  /** Becomes the item of a file that was in its archive: half of the way is behind it. */
  become(input: Input): void {
    this.input = input;
    this.name = input.name;
    this.path = input.path;
    this.sizeBytes = input.blob.size;
    this.doneBytes = input.blob.size / 2;
  }
}

class Reading implements Opening {
  readonly items: Entry[];
  readonly passedOver: PassedOver[] = [];
  readonly settled: Promise<void>;
  #settle!: () => void;
  #open: number;
  #replaced = false;

  constructor(
    readonly pool: Pool,
    inputs: readonly Input[],
    readonly events: OpenEvents,
  ) {
    this.items = inputs.map((input) => new Entry(pool.nextId(), input));
    this.#open = this.items.length;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    for (const item of this.items) pool.read(this.#job(item));
    if (this.#open === 0) queueMicrotask(() => this.#finish());
  }

  cancel(): void {
    const going = this.items.filter((item) => item.going);
    this.pool.stop(new Set(going.map((item) => item.id)));
    for (const item of going) this.#end(item, 'cancelled');
  }

  /** Cancels in silence: a newer opening has the page. */
  replace(): void {
    this.#replaced = true;
    this.cancel();
  }

  /** Reads a file that may be an archive; `before` is the part of the way that unpacking it took. */
  #job(item: Entry, before = 0): Job {
    const archive = { path: item.path, item: item as Entry | null };
    const left: PassedOver[] = [];
    // What was packed alone is as old as its packing.
    const { modified } = item.input;
    const dated = (input: Input): Input => (modified === undefined ? input : { ...input, modified });
    return {
      capture: item.id,
      blob: item.input.blob,
      name: item.input.name,
      damage: item.input.damage,
      progress: (doneBytes) => {
        if (!archive.item?.going) return;
        item.state = 'reading';
        item.doneBytes = Math.max(item.doneBytes, before * item.sizeBytes + (1 - before) * doneBytes);
        this.#tell(item);
      },
      opened: (report, slot) => {
        const held = new Held(this.pool, item.id, item.input, report);
        held.holdIn(slot);
        if (!item.going) return held.close();
        item.capture = held;
        item.doneBytes = item.sizeBytes;
        this.#end(item, 'done');
      },
      failed: (message) => {
        if (!item.going) return;
        if (!archive.item) return void this.passedOver.push({ path: archive.path, sentence: message });
        item.error = message;
        this.#end(item, 'error');
      },
      inside: (input) => {
        if (this.#replaced) return;
        input = dated(input);
        // The archive's own item is the first capture's from now on.
        let member = archive.item;
        archive.item = null;
        if (member) {
          member.become(input);
        } else {
          member = new Entry(this.pool.nextId(), input);
          this.items.push(member);
          this.#open++;
        }
        this.#tell(member);
        this.pool.read(this.#job(member, member === item ? 0.5 : 0));
      },
      becomes: (input) => {
        item.become(dated(input));
        before = 0.5;
        this.#tell(item);
      },
      passedOver: ({ path, sentence }) => {
        const one = { path, sentence };
        left.push(one);
        this.passedOver.push(one);
      },
      unpacked: () => {
        if (!archive.item?.going) return;
        // One file that was packed alone is told of as its packing.
        const [alone, another] = left;
        const single = another === undefined ? alone : undefined;
        if (single) this.passedOver.splice(this.passedOver.indexOf(single), 1);
        // Of a file that is no capture it is told what it is; of one that could not be read, why, in a sentence.
        const why = left.find(({ sentence }) => sentence.endsWith('.'));
        const said = why ? `. ${why.sentence} A` : single ? `, only ${single.sentence}. A` : '. A';
        item.error = `No capture is in it${said} capture is called <host>.xplane.pb`;
        this.#end(item, 'error');
      },
    };
  }

  #end(item: Entry, state: ItemState): void {
    item.state = state;
    this.#open--;
    this.#tell(item);
    if (this.#open === 0) this.#finish();
  }

  #finish(): void {
    this.#settle();
    if (!this.#replaced) this.events.settled?.(this.items);
  }

  #tell(item: Entry): void {
    if (!this.#replaced) this.events.item?.(item);
  }
}
