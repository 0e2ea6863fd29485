import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../shared/domain/delivery/dead-letter.ts';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { scheduleName } from '../../shared/domain/delivery/wake-up-plan.ts';
import { type BodyLocation, toPayloadKey } from '../../shared/domain/message/body.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type {
  DeadLetterQueue,
  DeadLetters,
  DeliveryQueue,
  Ingress,
  Undeliverables,
} from '../../shared/ports/queues.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { aMessage } from '../support/builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, SOME_TIME } from '../support/delivery-builders.ts';
import { inAnyOrder } from '../support/in-any-order.ts';

/** `arrivals` waits for `count` messages, and returns all that there are then, with their times of arrival. */
type Observed<Arrival> = { now: () => number; arrivals: (count: number) => Promise<Arrival[]> };

type DeliveryQueueUnderTest = Observed<{ value: DeliveryJob; at: number }> & { queue: DeliveryQueue };

const aJob = (overrides: Partial<DeliveryJob> = {}): DeliveryJob => ({
  kind: 'job',
  key: aDeliveryKey(),
  attempt: 1,
  acceptedAt: SOME_TIME,
  body: { kind: 'inline', message: aMessage() },
  ...overrides,
});

const inline = (data: string, more: Parameters<typeof aMessage>[0] = {}): BodyLocation => ({
  kind: 'inline',
  message: aMessage({ id: randomUUID(), data, ...more }),
});

const valuesOf = <T>(arrived: readonly { value: T }[]): T[] => inAnyOrder(arrived.map(({ value }) => value));

/** Contract of delivery queues: each job arrives once, unchanged, and not before its time. */
export const describeDeliveryQueueContract = (
  name: string,
  make: () => Promise<DeliveryQueueUnderTest>,
): void => {
  describe(`a delivery queue ${name}`, () => {
    let world: DeliveryQueueUnderTest;
    beforeEach(async () => {
      world = await make();
    });
    const expectArrivals = async (jobs: readonly DeliveryJob[]) => {
      expect(valuesOf(await world.arrivals(jobs.length))).toEqual(inAnyOrder(jobs));
    };

    it('delivers jobs unchanged, and nothing for an empty list', async () => {
      const jobs = [
        aJob({ dueAt: SOME_TIME + 1 }),
        aJob({ body: { kind: 'stored', payloadKey: 'orders/m-1/abc' } }),
        aJob({ body: inline('1', { originalId: 'größer 🐘\u0000"', expiresAt: 1 }) }),
        aJob({ body: inline('[1.0,  12345678901234567890]') }),
      ];
      await world.queue.send([]);
      await world.queue.send(jobs);
      await expectArrivals(jobs);
    });

    it('delivers more jobs than fit into one request, each once', async () => {
      const jobs = Array.from({ length: 43 }, () => aJob());
      await world.queue.send(jobs);
      await expectArrivals(jobs);
    });

    it('delivers more than a mebibyte at once', async () => {
      const data = JSON.stringify('é'.repeat(32_000));
      const jobs = Array.from({ length: 18 }, () => aJob({ body: inline(data) }));
      await world.queue.send(jobs);
      await expectArrivals(jobs);
    });

    it('delivers the jobs of fifty concurrent senders', async () => {
      const jobs = Array.from({ length: 50 }, () => aJob());
      await Promise.all(jobs.map((job) => world.queue.send([job])));
      await expectArrivals(jobs);
    });

    it('delivers a delayed job not before its delay', async () => {
      const [delayed, prompt] = [aJob(), aJob()];
      const sentAt = world.now();
      await world.queue.send([delayed], 1);
      await world.queue.send([prompt]);
      const arrived = await world.arrivals(2);
      expect(valuesOf(arrived)).toEqual(inAnyOrder([delayed, prompt]));
      const last = arrived.find(({ value }) => isDeepStrictEqual(value, delayed));
      expect((last?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(1_000);
    });
  });
};

type ReceivedMessage = { body: string; attributes: Record<string, string>; at: number };
type IngressUnderTest = Observed<ReceivedMessage> & { ingress: Ingress };

const bodiesOf = (arrived: ReceivedMessage[]) => arrived.map(({ body }) => body).toSorted();

/** Contract of the ingress: each message arrives unchanged, with its attributes. */
export const describeIngressContract = (name: string, make: () => Promise<IngressUnderTest>): void => {
  describe(`an ingress ${name}`, () => {
    let world: IngressUnderTest;
    beforeEach(async () => {
      world = await make();
    });

    it('delivers messages unchanged, and nothing for an empty list', async () => {
      const attributes = { queue: 'orders', type: 'größer 🐘' };
      const body = '{"queue": "orders", "data": {"b": 12345678901234567890, "a": "größer 日本 🐘"}}';
      await world.ingress.publish([]);
      await world.ingress.publish([{ body, attributes }, { body: '2' }]);
      const arrived = await world.arrivals(2);
      const [bare, whole] = arrived.toSorted((one, other) => one.body.length - other.body.length);
      expect(arrived).toHaveLength(2);
      expect(whole).toMatchObject({ body, attributes });
      expect(bare).toMatchObject({ body: '2', attributes: {} });
    });

    it('delivers more messages than fit into one request, by number or by size, each once', async () => {
      const large = 'é'.repeat(45_000);
      const bodies = Array.from({ length: 23 }, (_, n) =>
        JSON.stringify({ n, data: n % 2 === 0 ? large : n }),
      );
      await world.ingress.publish(bodies.map((body) => ({ body })));
      expect(bodiesOf(await world.arrivals(23))).toEqual(bodies.toSorted());
    });

    it('delivers a message of the maximum size', async () => {
      const body = `"${'é'.repeat(512 * 1024 - 1)}"`;
      await world.ingress.publish([{ body }, { body: '1' }]);
      expect(bodiesOf(await world.arrivals(2))).toEqual([body, '1']);
    });

    it('delivers the messages of fifty concurrent publishers', async () => {
      const bodies = Array.from({ length: 50 }, (_, n) => JSON.stringify({ n }));
      await Promise.all(bodies.map((body) => world.ingress.publish([{ body }])));
      expect(bodiesOf(await world.arrivals(50))).toEqual(bodies.toSorted());
    });
  });
};

type DeadLettered = { body: string; id: string; reason: string; attributes: Record<string, string> };

type DeadLettersUnderTest = {
  deadLetters: DeadLetters;
  /** Waits for `count` dead letters, and returns all that there are then. */
  sent: (count: number) => Promise<DeadLettered[]>;
};

/** Contract of dead-letter senders: the content is unchanged, and the reason is added. */
export const describeDeadLettersContract = (
  name: string,
  make: () => Promise<DeadLettersUnderTest>,
): void => {
  describe(`dead letters ${name}`, () => {
    let world: DeadLettersUnderTest;
    beforeEach(async () => {
      world = await make();
    });

    it.each([
      ['garbage', ' not {json\n\t'],
      ['a character', ' '],
      ['JSON with big integers', '{"n": 12345678901234567890, "n": 1.0}'],
      ['any alphabet', '"größer 日本 🐘 \u2028"'],
      // 1 MiB minus the reason and the id, which count too.
      ['nearly 1 MiB', `"${'é'.repeat(512 * 1024 - 128)}"`],
    ])('keep the text unchanged: %s', async (_, body) => {
      await world.deadLetters.send({ body, id: 'sqs-id' }, 'not_json');
      expect(await world.sent(1)).toEqual([{ body, id: 'sqs-id', reason: 'not_json', attributes: {} }]);
    });

    it('keep the attributes unchanged', async () => {
      const attributes = { queue: 'orders', 'ce-type': 'größer 🐘', 'x.y-z_1': ' ', other: '{"n": 1}' };
      const letter = { body: 'body', id: 'sqs-id', attributes };
      await world.deadLetters.send(letter, 'not_json');
      expect(await world.sent(1)).toEqual([{ ...letter, reason: 'not_json' }]);
    });

    it('arrive as often as they were sent, including copies', async () => {
      const [first = '', ...others] = Array.from({ length: 19 }, () => randomUUID());
      const ids = [first, first, ...others];
      await Promise.all(ids.map((id) => world.deadLetters.send({ body: id, id }, `invalid_field:${id}`)));
      const letters = ids.map((id) => ({ body: id, id, reason: `invalid_field:${id}`, attributes: {} }));
      expect(inAnyOrder(await world.sent(20))).toEqual(inAnyOrder(letters));
    });
  });
};

/** A separate queue, and how to put messages on it. `put` returns the id. */
type DeadLetterQueueUnderTest = {
  queue: DeadLetterQueue;
  put: (body: string, attributes?: DeadLetterAttributes) => Promise<string>;
};

const HIDDEN_SECONDS = 60;

const receiveAll = async (queue: DeadLetterQueue): Promise<DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  for (;;) {
    const received = await queue.receive(50, HIDDEN_SECONDS);
    if (received.length === 0) return letters;
    letters.push(...received);
  }
};

const idsOf = (letters: readonly DeadLetter[]): string[] => letters.map(({ id }) => id).toSorted();

/** Contract of dead-letter queues: a dead letter is received by one caller at a time, until it is removed. */
export const describeDeadLetterQueueContract = (
  name: string,
  make: () => Promise<DeadLetterQueueUnderTest>,
): void => {
  const filled = async (count: number) => {
    const { queue, put } = await make();
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await put(`body ${n}`));
    return { queue, ids: ids.toSorted() };
  };

  // Concurrent, because these tests mostly wait.
  describe.concurrent(`a dead-letter queue ${name}`, () => {
    it('receives nothing while it is empty', async () => {
      const { queue } = await make();
      expect(await queue.receive(50, HIDDEN_SECONDS)).toEqual([]);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 0 });
      await queue.release([]);
      await queue.remove([]);
    });

    it('receives a dead letter completely, with typed attributes and its time of sending', async () => {
      const { queue, put } = await make();
      const attributes = {
        reason: { type: 'String', text: 'not_json' },
        count: { type: 'Number', text: '3' },
        picture: { type: 'Binary', bytes: Uint8Array.of(0, 255) },
      };
      const from = Date.now();
      const id = await put('{"ü": 🐘', attributes);
      const [letter] = await queue.receive(1, HIDDEN_SECONDS);
      expect(letter).toMatchObject({ id, body: '{"ü": 🐘', attributes });
      expect(letter?.receives).toBe(1);
      expect(letter?.sentAt).toBeGreaterThanOrEqual(from - 1000);
      expect(letter?.sentAt).toBeLessThanOrEqual(Date.now() + 1000);
    });

    it('receives more than ten at once, at most as many as requested, each once', async () => {
      const { queue, ids } = await filled(25);
      const first = await queue.receive(13, HIDDEN_SECONDS);
      expect(first.length).toBeLessThanOrEqual(13);
      expect(idsOf([...first, ...(await receiveAll(queue))])).toEqual(ids);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 25 });
    });

    it('receives a released dead letter again, which can then be removed', async () => {
      const { queue, ids } = await filled(12);
      await queue.release(await receiveAll(queue));
      const again = await receiveAll(queue);
      expect(idsOf(again)).toEqual(ids);
      await queue.remove(again);
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 0 });
    });

    it('never receives a removed dead letter again, and ignores its release', async () => {
      const { queue } = await filled(3);
      const [gone, ...others] = await receiveAll(queue);
      if (gone === undefined) throw new Error('no dead letter was received');
      await queue.remove([gone]);
      await queue.release([gone, ...others]);
      expect(idsOf(await receiveAll(queue))).toEqual(idsOf(others));
      expect(await queue.counts()).toEqual({ visible: 0, hidden: 2 });
    });
  });
};

/** The content of a notice; `data` is read from the location that the notice names. */
export type ReadNotice = Omit<DeliveryKey, 'bucket'> & {
  status: Delivery['status'];
  reason: string | undefined;
  attempts: number;
  data: string | undefined;
};

type UndeliverablesUnderTest = {
  undeliverables: Undeliverables;
  /** The source of messages that are not in the notice, and the store for those that do not fit. */
  payloads: Payloads;
  /** Waits for `count` notices, and returns all that there are then. */
  notices: (count: number) => Promise<ReadNotice[]>;
};

const ended = (): Delivery => aDelivery({ status: 'exhausted', attempts: [anAttempt()] });

export const noticeOf = ({ key, status, reason, attempts }: Delivery, data?: string): ReadNotice => {
  const { bucket: _, ...ids } = key;
  return { ...ids, status, reason, attempts: attempts.length, data };
};

/** Contract of undeliverable queues: a reader finds the delivery as it ended, and its message. */
export const describeUndeliverablesContract = (
  name: string,
  make: () => Promise<UndeliverablesUnderTest>,
): void => {
  describe(`undeliverable messages ${name}`, () => {
    let world: UndeliverablesUnderTest;
    beforeEach(async () => {
      world = await make();
    });
    const expectNotices = async (...notices: ReadNotice[]) => {
      expect(inAnyOrder(await world.notices(notices.length))).toEqual(inAnyOrder(notices));
    };

    it.each([
      ['small', '{"b": 12345678901234567890, "a": "größer 🐘 \\u0000"}'],
      ['of 64 KB', `"${'x'.repeat(64 * 1024)}"`],
      ['of 1 MiB', `"${'é'.repeat(512 * 1024 - 1)}"`],
    ])('arrive with their data, byte for byte: %s', async (_, data) => {
      const [small, stored] = [ended(), ended()];
      const message = aMessage({ id: randomUUID(), data });
      const payloadKey = toPayloadKey(message);
      await world.payloads.put(payloadKey, message);
      await world.undeliverables.send({ delivery: small, body: inline(data) });
      await world.undeliverables.send({ delivery: stored, body: { kind: 'stored', payloadKey } });
      await expectNotices(noticeOf(small, data), noticeOf(stored, data));
    });

    it('arrive without data after it was erased', async () => {
      const [bodiless, erased] = [ended(), ended()];
      await world.undeliverables.send({ delivery: bodiless });
      const gone = { kind: 'stored', payloadKey: randomUUID() } as const;
      await world.undeliverables.send({ delivery: erased, body: gone });
      await expectNotices(noticeOf(bodiless), noticeOf(erased));
    });

    it('arrive as often as they were sent', async () => {
      const twice = ended();
      const all = [twice, twice, ...Array.from({ length: 19 }, ended)];
      await Promise.all(all.map((delivery) => world.undeliverables.send({ delivery, body: inline('1') })));
      await expectNotices(...all.map((delivery) => noticeOf(delivery, '1')));
    });
  });
};

type WakeUpsUnderTest = Observed<{ value: WakeUp; at: number }> & { wakeUps: WakeUps };

const aWakeUp = (overrides: Partial<WakeUp> = {}): WakeUp => ({
  kind: 'wake_up',
  key: aDeliveryKey(),
  attempt: 2,
  dueAt: SOME_TIME,
  ...overrides,
});

const nameOf = ({ key, attempt, dueAt }: WakeUp): string => scheduleName(key, attempt, dueAt);

/**
 * Contract of wake-ups: each arrives unchanged and not before its time; a schedule's name stands for one wake-up.
 */
export const describeWakeUpsContract = (name: string, make: () => Promise<WakeUpsUnderTest>): void => {
  describe(`wake-ups ${name}`, () => {
    let world: WakeUpsUnderTest;
    beforeEach(async () => {
      world = await make();
    });

    it('arrive unchanged, after their delay and not before', async () => {
      const prompt = aWakeUp({ attempt: 100, by: 'reconcile' });
      const late = aWakeUp({ by: 'sqs_delay', dueAt: SOME_TIME + 0.5 });
      const sentAt = world.now();
      await world.wakeUps.sendDelayed(late, 1);
      await world.wakeUps.sendDelayed(prompt, 0);
      const arrived = await world.arrivals(2);
      expect(valuesOf(arrived)).toEqual(inAnyOrder([prompt, late]));
      const delayed = arrived.find(({ value }) => value.attempt === late.attempt);
      expect((delayed?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(1000);
    });

    it('arrive as often as they were sent, including copies', async () => {
      const copied = aWakeUp();
      await Promise.all(Array.from({ length: 50 }, () => world.wakeUps.sendDelayed(copied, 0)));
      const arrived = await world.arrivals(50);
      expect(arrived.map(({ value }) => value)).toEqual(Array.from({ length: 50 }, () => copied));
    });

    it('arrive once by a schedule at its time, however many callers set it', async () => {
      const [one, moved, other] = [aWakeUp({ by: 'scheduler' }), aWakeUp(), aWakeUp()];
      const later = { ...moved, dueAt: moved.dueAt + 1 };
      const at = world.now() + 1_500;
      const settings = [one, moved, later, other].flatMap((wakeUp) =>
        Array.from({ length: wakeUp === one ? 50 : 1 }, () =>
          world.wakeUps.schedule(nameOf(wakeUp), at, wakeUp),
        ),
      );
      expect(new Set(await Promise.all(settings))).toEqual(new Set(['scheduled']));
      // A later caller finds the name in use, and the first schedule stays.
      expect(await world.wakeUps.schedule(nameOf(one), at + 500, one)).toBe('scheduled');
      const arrived = await world.arrivals(4);
      expect(valuesOf(arrived)).toEqual(inAnyOrder([one, moved, later, other]));
      for (const arrival of arrived) expect(arrival.at).toBeGreaterThanOrEqual(at);
    });

    it('do not arrive by a removed schedule, unless it is set again', async () => {
      expect(await world.wakeUps.unschedule(nameOf(aWakeUp()))).toBe('absent');
      const [removed, renewed, kept] = [aWakeUp(), aWakeUp(), aWakeUp()];
      const at = world.now() + 1_500;
      for (const wakeUp of [removed, renewed, kept]) await world.wakeUps.schedule(nameOf(wakeUp), at, wakeUp);
      expect(await world.wakeUps.unschedule(nameOf(removed))).toBe('removed');
      expect(await world.wakeUps.unschedule(nameOf(removed))).toBe('absent');
      expect(await world.wakeUps.unschedule(nameOf(renewed))).toBe('removed');
      expect(await world.wakeUps.schedule(nameOf(renewed), at, renewed)).toBe('scheduled');
      const arrived = await world.arrivals(2);
      expect(valuesOf(arrived)).toEqual(inAnyOrder([renewed, kept]));
    });
  });
};
