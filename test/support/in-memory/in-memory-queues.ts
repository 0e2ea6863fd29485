import type {
  DeadLetter,
  RedrivenMessage,
  UndeliverableNotice,
} from '../../../shared/domain/delivery/dead-letter.ts';
import type { FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type {
  DeadLetterQueue,
  DeadLetters,
  DeliveryQueue,
  Ingress,
  Operations,
  Undeliverables,
  WorkQueues,
} from '../../../shared/ports/queues.ts';
import type { WakeUps } from '../../../shared/ports/wake-ups.ts';
import { modelledScheduler } from '../modelled-scheduler.ts';
import type { ModelledSqs } from '../modelled-sqs.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type PublishedMessage = Parameters<Ingress['publish']>[0][number];

/** The ingress queue, for publishers. */
export const inMemoryIngress = (queue: Pick<ModelledSqs<PublishedMessage>, 'send'>): Ingress => ({
  publish: (messages) => {
    for (const message of messages) queue.send(message);
    return Promise.resolve();
  },
});

/** The delivery queue, for dispatch and deliver. */
export const inMemoryDeliveryQueue = <Job extends FirstJob>(
  queue: Pick<ModelledSqs<Job>, 'send'>,
): DeliveryQueue<Job> => ({
  send: (jobs, delaySeconds) => {
    for (const job of jobs) queue.send(job, delaySeconds);
    return Promise.resolve();
  },
});

export type QueuedOperation = { operation: Operation; delaySeconds: number };

/** Collects operations in a list. */
export const inMemoryOperations = (queued: QueuedOperation[]): Operations => ({
  send: (operation, delaySeconds = 0) => {
    queued.push(structuredClone({ operation, delaySeconds }));
    return Promise.resolve();
  },
});

type SentLetter = { body: string; id: string; attributes?: Record<string, string>; reason: string };
type InMemoryDeadLetters = DeadLetters & { readonly sent: readonly SentLetter[] };
type InMemoryUndeliverables = Undeliverables & { readonly sent: readonly UndeliverableNotice[] };

export const inMemoryDeadLetters = (): InMemoryDeadLetters => {
  const sent: SentLetter[] = [];
  return {
    sent,
    send: (original, reason) => {
      sent.push({ ...original, reason });
      return Promise.resolve();
    },
  };
};

export const inMemoryUndeliverables = (): InMemoryUndeliverables => {
  const sent: UndeliverableNotice[] = [];
  return {
    sent,
    send: (notice) => {
      sent.push(structuredClone(notice));
      return Promise.resolve();
    },
  };
};

type InMemoryDeadLetterQueue = DeadLetterQueue & {
  put(...letters: Omit<DeadLetter, 'receipt'>[]): void;
  /** Ids of the messages that are visible now. */
  readonly visible: readonly string[];
  /** Ids of all messages. */
  readonly ids: readonly string[];
};

type InMemoryWorkQueues = WorkQueues & { readonly sent: readonly RedrivenMessage[] };

type Entry = { letter: Omit<DeadLetter, 'receipt'>; visibleAt: number; receives: number };

/** Every receive gives a dead letter a new receipt, and only the latest receipt can release it. */
export const inMemoryDeadLetterQueue = (clock: Pick<Clock, 'now'>): InMemoryDeadLetterQueue => {
  const entries = new Map<string, Entry>();
  const receiptOf = ({ letter, receives }: Entry): string => `${letter.id}/${receives}`;
  const shown = (): Entry[] => [...entries.values()].filter(({ visibleAt }) => visibleAt <= clock.now());

  return {
    put: (...letters) => {
      for (const letter of letters) entries.set(letter.id, { letter, visibleAt: 0, receives: 0 });
    },
    get visible() {
      return shown().map(({ letter }) => letter.id);
    },
    get ids() {
      return [...entries.keys()];
    },
    receive: (most, hiddenSeconds) => {
      const received = shown().slice(0, most);
      for (const entry of received) {
        entry.receives += 1;
        entry.visibleAt = clock.now() + hiddenSeconds * 1000;
      }
      return Promise.resolve(
        received.map((entry) => ({ ...entry.letter, receives: entry.receives, receipt: receiptOf(entry) })),
      );
    },
    remove: (letters) => {
      for (const { id } of letters) entries.delete(id);
      return Promise.resolve();
    },
    release: (letters) => {
      for (const { id, receipt } of letters) {
        const entry = entries.get(id);
        if (entry !== undefined && receiptOf(entry) === receipt) entry.visibleAt = 0;
      }
      return Promise.resolve();
    },
    counts: () => {
      const visible = shown().length;
      return Promise.resolve({ visible, hidden: entries.size - visible });
    },
  };
};

export const inMemoryWorkQueues = (): InMemoryWorkQueues => {
  const sent: RedrivenMessage[] = [];
  return {
    sent,
    send: (messages) => {
      sent.push(...structuredClone(messages));
      return Promise.resolve();
    },
  };
};

type SetSchedule = { name: string; at: number; wakeUp: WakeUp };

type InMemoryWakeUps = WakeUps & {
  /** All schedules set, except those removed before they fired. */
  readonly schedules: readonly SetSchedule[];
};

/** Wake-ups in memory. Schedules fire on time. */
export const inMemoryWakeUps = (
  clock: VirtualClock,
  retryQueue: Pick<ModelledSqs<WakeUp>, 'send'>,
): InMemoryWakeUps => {
  const schedules: SetSchedule[] = [];
  const scheduler = modelledScheduler<SetSchedule>({
    timeline: clock,
    lateMs: () => 0,
    fire: ({ wakeUp }) => {
      retryQueue.send(wakeUp);
    },
  });
  return {
    schedules,
    sendDelayed: (wakeUp, delaySeconds) => {
      retryQueue.send(wakeUp, delaySeconds);
      return Promise.resolve();
    },
    schedule: (name, at, wakeUp) => {
      const set = { name, at, wakeUp: structuredClone(wakeUp) };
      if (scheduler.create(name, at, set) === 'created') schedules.push(set);
      return Promise.resolve('scheduled');
    },
    unschedule: (name) => {
      const set = scheduler.find(name);
      if (set !== undefined) schedules.splice(schedules.indexOf(set), 1);
      return Promise.resolve(scheduler.delete(name));
    },
  };
};
