/** What every component can reach: the model, and whether sizes are shown to the byte. */

import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../model';

export const ModelContext = createContext<Model | null>(null);

/** Apart from the model, since a change must reach what is otherwise not rendered again. */
export const ExactContext = createContext(false);

export function useModel(): Model {
  const model = useContext(ModelContext);
  if (model === null) throw new Error('no model');
  return model;
}

/** State of a view that is still there when one comes back to it, as long as the capture is open. */
export function useKept<T>(key: string, first: T): [T, (value: T) => void] {
  const { memory, current } = useModel();
  const name = `${current?.id} ${key}`;
  const [value, set] = useState<T>(memory.has(name) ? (memory.get(name) as T) : first);
  return [
    value,
    (next) => {
      memory.set(name, next);
      set(() => next);
    },
  ];
}

/** The answer to a question that takes a while. */
export interface Answer<T> {
  /** The last answer; while the next is on its way, still the one before. */
  readonly value: T | null;
  readonly error: string | null;
  readonly waiting: boolean;
}

/**
 * Asks whenever `on` changes. One question at a time: while one is being answered only the newest of those that came
 * meanwhile is kept, so that dragging over a chart asks as fast as answers come and no faster.
 */
export function useAnswer<T>(ask: () => Promise<T>, on: readonly unknown[]): Answer<T> {
  const [state, set] = useState<Answer<T>>({ value: null, error: null, waiting: true });
  const turn = useRef<{ busy: boolean; next: (() => Promise<T>) | null; gone: boolean }>({
    busy: false,
    next: null,
    gone: false,
  });
  useEffect(() => {
    const t = turn.current;
    const run = (question: () => Promise<T>) => {
      t.busy = true;
      const settle = (change: (s: Answer<T>) => Answer<T>) => {
        t.busy = false;
        const { next } = t;
        t.next = null;
        if (t.gone) return;
        set((s) => ({ ...change(s), waiting: next !== null }));
        if (next !== null) run(next);
      };
      question().then(
        (value) => settle(() => ({ value, error: null, waiting: false })),
        (error: unknown) => settle((s) => ({ ...s, error: error instanceof Error ? error.message : String(error) })),
      );
    };
    set((s) => (s.waiting ? s : { ...s, waiting: true }));
    if (t.busy) t.next = ask;
    else run(ask);
  }, on);
  useEffect(() => {
    turn.current.gone = false;
    return () => {
      turn.current.gone = true;
    };
  }, []);
  return state;
}
