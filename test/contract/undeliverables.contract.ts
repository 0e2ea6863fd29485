import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { payloadKeyOf } from '../../shared/domain/message/body.ts';
import type { Undeliverables } from '../../shared/ports/queues.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import { aMessage } from '../support/builders.ts';
import { aDelivery, anAttempt } from '../support/delivery-builders.ts';
import { inAnyOrder } from '../support/in-any-order.ts';

/** The content of a notice; `data` is read from the location that the notice names. */
export type ReadNotice = Omit<DeliveryKey, 'bucket'> & {
  status: Delivery['status'];
  reason: string | undefined;
  attempts: number;
  data: string | undefined;
};

export type UndeliverablesUnderTest = {
  undeliverables: Undeliverables;
  /** The source of messages that are not in the notice, and the store for those that do not fit. */
  payloads: Payloads;
  /** Waits for `count` notices, and returns all that there are then. */
  notices: (count: number) => Promise<ReadNotice[]>;
};

const ended = (): Delivery => aDelivery({ status: 'exhausted', attempts: [anAttempt()] });

const noticeOf = ({ key, status, reason, attempts }: Delivery, data: string | undefined): ReadNotice => ({
  queue: key.queue,
  messageId: key.messageId,
  subscriptionId: key.subscriptionId,
  status,
  reason,
  attempts: attempts.length,
  data,
});

const aBody = (data: string): Message => aMessage({ id: randomUUID(), data });

/** Contract of undeliverable queues: a reader finds the delivery as it ended, and its message. */
export const describeUndeliverablesContract = (
  name: string,
  make: () => Promise<UndeliverablesUnderTest>,
): void => {
  describe(`undeliverable messages ${name}`, () => {
    it.each([
      ['small', '{"b": 12345678901234567890, "a": "größer 🐘 \\u0000"}'],
      ['of 64 KB', `"${'x'.repeat(64 * 1024)}"`],
      ['of 1 MiB', `"${'é'.repeat(512 * 1024 - 1)}"`],
    ])('arrive with their data, byte for byte: %s', async (_, data) => {
      const { undeliverables, payloads, notices } = await make();
      const [inline, stored] = [ended(), ended()];
      const message = aBody(data);
      await payloads.put(payloadKeyOf(message), message);
      await undeliverables.send({ delivery: inline, body: { kind: 'inline', message: aBody(data) } });
      await undeliverables.send({
        delivery: stored,
        body: { kind: 'stored', payloadKey: payloadKeyOf(message) },
      });
      expect(inAnyOrder(await notices(2))).toEqual(
        inAnyOrder([noticeOf(inline, data), noticeOf(stored, data)]),
      );
    });

    it('arrive without data after it was erased', async () => {
      const { undeliverables, notices } = await make();
      const [bodiless, erased] = [ended(), ended()];
      await undeliverables.send({ delivery: bodiless });
      await undeliverables.send({ delivery: erased, body: { kind: 'stored', payloadKey: randomUUID() } });
      expect(inAnyOrder(await notices(2))).toEqual(
        inAnyOrder([noticeOf(bodiless, undefined), noticeOf(erased, undefined)]),
      );
    });

    it('arrive as often as they were sent', async () => {
      const { undeliverables, notices } = await make();
      const deliveries = Array.from({ length: 20 }, ended);
      const [twice] = deliveries;
      if (twice === undefined) throw new Error('no delivery was made');
      const all = [...deliveries, twice];
      await Promise.all(
        all.map((delivery) =>
          undeliverables.send({ delivery, body: { kind: 'inline', message: aBody('1') } }),
        ),
      );
      expect(inAnyOrder(await notices(21))).toEqual(
        inAnyOrder(all.map((delivery) => noticeOf(delivery, '1'))),
      );
    });
  });
};
