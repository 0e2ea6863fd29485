import type { Faults, MessageFault } from './faults.ts';
import { DAY, HOUR, MINUTE, SECOND, type QueueName } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

/** A message as a function receives it, once. */
export type Receipt<T> = {
  name: string;
  id: string;
  value: T;
  receiveCount: number;
  acknowledge: () => void;
};

export type SimulatedQueue<T> = {
  send(name: string, value: T, delayMs?: number): void;
  /** Moves the dead letters back, as new messages. */
  redrive(): void;
  readonly deadLetters: number;
};

type Message<T> = {
  id: string;
  name: string;
  value: T;
  receiveCount: number;
  deleted: boolean;
  received: number;
};

type QueueOptions<T> = {
  name: QueueName;
  time: VirtualClock;
  faults: Faults;
  /** SQS never loses a message; here wake-ups may be, because reconcile is there for it. */
  sending: readonly MessageFault[];
  /** How long a received message is hidden, in milliseconds. */
  visibilityMs: () => number;
  /** When a queue that hands nothing out will again; undefined: it does. */
  standsStillUntil: (now: number) => number | undefined;
  /** One invocation for a batch. */
  consume: (batch: readonly Receipt<T>[]) => void;
};

const MOST_RECEIVES = 10;
const BATCH = 10;

/** An SQS standard queue with its event source mapping: at least once, in no order, redriven after ten receives. */
export const simulatedQueue = <T>(options: QueueOptions<T>): SimulatedQueue<T> => {
  const { time, faults } = options;
  const names = new Map<string, number>();
  let ready: Message<T>[] = [];
  let deadLetters: Message<T>[] = [];
  let stored = 0;

  const store = (name: string, value: T, delayMs: number): void => {
    stored += 1;
    const message = {
      id: `${options.name}-${stored}`,
      name,
      value,
      receiveCount: 0,
      deleted: false,
      received: 0,
    };
    becomeVisible(message, time.now() + delayMs);
  };

  const becomeVisible = (message: Message<T>, at: number): void => {
    time.at(at, () => {
      if (message.deleted) return;
      ready.push(message);
      if (ready.length === 1) time.at(time.now(), handOut);
    });
  };

  const handOut = (): void => {
    const until = options.standsStillUntil(time.now());
    if (until !== undefined) {
      time.at(until, handOut);
      return;
    }
    const waiting = ready;
    ready = [];
    while (waiting.length > 0) {
      const size = 1 + Math.floor(faults.chance(`batch ${waiting[0]?.name ?? ''}`) * BATCH);
      const batch = waiting.splice(0, size).flatMap(receive);
      if (batch.length > 0) options.consume(batch);
    }
  };

  const receive = (message: Message<T>): Receipt<T>[] => {
    if (message.deleted) return [];
    if (message.receiveCount >= MOST_RECEIVES) {
      message.deleted = true;
      deadLetters.push(message);
      return [];
    }
    message.receiveCount += 1;
    message.received += 1;
    const name = `${message.name}#${message.receiveCount}`;
    comeAgain(message, name);
    return [
      {
        name,
        id: message.id,
        value: message.value,
        receiveCount: message.receiveCount,
        acknowledge: acknowledging(message, name),
      },
    ];
  };

  /** After the visibility timeout, unless it was received meanwhile; and at times before it, as SQS may. */
  const comeAgain = (message: Message<T>, name: string): void => {
    const { received } = message;
    const visibleAgainAt = time.now() + options.visibilityMs();
    time.at(visibleAgainAt, () => {
      if (message.received === received) becomeVisible(message, time.now());
    });
    if (faults.strikeMessage(`${name} twice`, ['received_twice']) !== undefined)
      becomeVisible(message, time.now() + Math.floor(faults.chance(`${name} again`) * 30 * SECOND));
  };

  /** Whoever deletes it, by whichever receipt, deletes it for all. */
  const acknowledging = (message: Message<T>, name: string) => (): void => {
    if (faults.strikeMessage(`${name} ack`, ['acknowledgement_lost']) === undefined) message.deleted = true;
  };

  return {
    get deadLetters() {
      return deadLetters.length;
    },
    send: (given, value, delayMs = 0) => {
      const copy = (names.get(given) ?? 0) + 1;
      names.set(given, copy);
      const name = `${options.name}:${given}~${copy}`;
      const fault = faults.strikeMessage(name, options.sending)?.kind;
      if (fault === 'lost') return;
      if (fault === 'duplicated') store(`${name}+`, value, delayMs + latenessOf(faults, `${name}+`));
      store(name, value, delayMs + (fault === 'delayed' ? latenessOf(faults, name) : 0));
    },
    redrive: () => {
      const redriven = deadLetters;
      deadLetters = [];
      for (const { name, value } of redriven) store(`${name}!`, value, 0);
    },
  };
};

/** From no time to as long as SQS keeps a message. */
const latenessOf = (faults: Faults, name: string): number => {
  const bounds = [SECOND, SECOND, 30 * SECOND, 30 * SECOND, 10 * MINUTE, HOUR, 3 * DAY];
  const bound = bounds[Math.floor(faults.chance(`${name} bound`) * bounds.length)] ?? SECOND;
  return Math.floor(faults.chance(`${name} late`) * bound);
};
