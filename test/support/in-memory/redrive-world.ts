import type {
  DeadLetter,
  DeadLetterReading,
  RedrivenMessage,
} from '../../../shared/domain/delivery/dead-letter.ts';
import type { DeadLetterQueue, WorkQueues } from '../../../shared/ports/queues.ts';
import { sendBack } from '../../../cli/dead-letters/change.ts';
import {
  type DeadLetterRequest,
  processDeadLetters,
} from '../../../cli/dead-letters/process-dead-letters.ts';
import { inMemoryDeadLetterQueue, inMemoryWorkQueues } from './in-memory-queues.ts';

export const START = Date.UTC(2026, 0, 1);

export const aLetter = (n: number, sentAt = START - 1000): Omit<DeadLetter, 'receipt'> => ({
  id: `letter-${n}`,
  sentAt,
  body: `body-${n}`,
  attributes: {},
});

/** Identifies dead letters by their bodies; bodies that start with `garbage` cannot be redriven. */
const read = ({ body }: DeadLetter): DeadLetterReading =>
  body.startsWith('garbage')
    ? { kind: 'skip', reason: 'not_json' }
    : { kind: 'redrive', message: { to: 'ingress', body, attributes: {} }, identity: body };

/** A dead-letter queue and the queue behind it, with a clock that a sleep advances. */
export const redriveWorld = (letters: Omit<DeadLetter, 'receipt'>[]) => {
  let now = START;
  const sleeps: number[] = [];
  const steps: string[] = [];
  const clock = {
    now: () => now,
    sleep: (milliseconds: number) => {
      sleeps.push(milliseconds);
      now += milliseconds;
      return Promise.resolve();
    },
  };
  const deadLetters = inMemoryDeadLetterQueue(clock);
  deadLetters.put(...letters);
  const workQueues = inMemoryWorkQueues();
  const queue: DeadLetterQueue = {
    ...deadLetters,
    remove: (removed) => {
      steps.push(`remove ${removed.length}`);
      return deadLetters.remove(removed);
    },
  };
  const send: WorkQueues['send'] = (messages) => {
    steps.push(`send ${messages.length}`);
    return workQueues.send(messages);
  };
  /** `faults`: what the two queues do instead. */
  const run = (
    order: Partial<DeadLetterRequest<RedrivenMessage>> = {},
    faults: Partial<DeadLetterQueue & WorkQueues> = {},
  ) =>
    processDeadLetters(
      { clock, deadLetters: { ...queue, ...faults } },
      {
        read,
        handle: sendBack({ send, ...faults }),
        startedAt: START,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        ...order,
      },
    );
  const bodies = () => workQueues.sent.map(({ body }) => body);
  return { clock, deadLetters, send, run, sleeps, steps, bodies };
};

export const letters = (count: number) => Array.from({ length: count }, (_, n) => aLetter(n));
export const bodiesOf = (count: number) => letters(count).map(({ body }) => body);
