import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { ZodType } from 'zod';

/** A child process of a run, with its messages. */
export type Child<To, From extends { kind: string }> = {
  send: (message: To) => void;
  /** Waits for the next message of a kind. @throws when the process exits first */
  next: <Kind extends From['kind']>(kind: Kind) => Promise<Extract<From, { kind: Kind }>>;
  /** Calls the listener for every message from now on. */
  onMessage: (listener: (message: From) => void) => void;
  stop: () => Promise<void>;
};

/** Characters of stderr that are kept for the error message. */
const MAX_STDERR = 4_000;

export const startChild = <To extends object, From extends { kind: string }>(
  file: string,
  schema: ZodType<From>,
): Child<To, From> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-MAX_STDERR);
  });
  const listeners = new Set<(message: From) => void>();
  const ended = once(child, 'exit');
  child.on('message', (message) => {
    const parsed = schema.parse(message);
    for (const listener of listeners) listener(parsed);
  });

  return {
    send: (message) => child.send(message),
    next: (kind) =>
      new Promise((resolve, reject) => {
        const listener = (message: From): void => {
          if (!isOf(kind, message)) return;
          listeners.delete(listener);
          resolve(message);
        };
        listeners.add(listener);
        void ended.then(() => {
          reject(new Error(`${file} exited before it sent “${kind}”. ${stderr}`));
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
