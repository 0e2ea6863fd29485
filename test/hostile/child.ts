import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { ZodType } from 'zod';

/** A process of a run, and what it says. */
export type Child<To, From extends { kind: string }> = {
  tell: (message: To) => void;
  /** The next message of a kind. @throws when the process ends before it */
  hear: <Kind extends From['kind']>(kind: Kind) => Promise<Extract<From, { kind: Kind }>>;
  /** From now on, every message that nobody waits for. */
  onMessage: (listener: (message: From) => void) => void;
  stop: () => Promise<void>;
};

/** How much of what a process complained about is kept, in characters. */
const MOST_COMPLAINT = 4_000;

export const startChild = <To extends object, From extends { kind: string }>(
  file: string,
  schema: ZodType<From>,
): Child<To, From> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-MOST_COMPLAINT);
  });
  const listeners = new Set<(message: From) => void>();
  const ended = once(child, 'exit');
  child.on('message', (message) => {
    const said = schema.parse(message);
    for (const listener of listeners) listener(said);
  });

  return {
    tell: (message) => child.send(message),
    hear: (kind) =>
      new Promise((resolve, reject) => {
        const listener = (message: From): void => {
          if (!isOf(kind, message)) return;
          listeners.delete(listener);
          resolve(message);
        };
        listeners.add(listener);
        void ended.then(() => {
          reject(new Error(`${file} ended before it was ${kind}. ${complaint}`));
        });
      }),
    onMessage: (listener) => void listeners.add(listener),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
};

const isOf = <From extends { kind: string }, Kind extends From['kind']>(
  kind: Kind,
  message: From,
): message is Extract<From, { kind: Kind }> => message.kind === kind;
