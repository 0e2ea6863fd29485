import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../shared/domain/delivery/operator-event.ts';
import type { OperatorEvents } from '../../shared/ports/journal.ts';
import { aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';

export type OperatorEventsUnderTest = {
  operatorEvents: OperatorEvents;
  /** Waits for `count` events, and returns them as a listener receives them. */
  heard: (count: number) => Promise<readonly unknown[]>;
};

/** Contract of operator events: a listener receives everything that was published. */
export const describeOperatorEventsContract = (
  name: string,
  make: () => Promise<OperatorEventsUnderTest>,
): void => {
  describe(`operator events ${name}`, () => {
    const ids = { queue: 'orders.eu-1', subscriptionId: randomUUID() };
    const since = SOME_TIME;
    const at = SOME_TIME + 123;
    const events: OperatorEvent[] = [
      { type: 'subscription.disabled', ...ids, reason: 'gone', at },
      { type: 'subscription.disabled', ...ids, reason: 'failing', at },
      { type: 'subscription.disabled', ...ids, reason: 'manual', at },
      { type: 'subscription.failing', ...ids, since, failures: 20 },
      { type: 'subscription.recovered', ...ids, since, at },
      { type: 'subscription.certificate_expiring', ...ids, expiresAt: at, days: 30 },
      { type: 'delivery.exhausted', key: aDeliveryKey(ids), attempts: 20, at },
      {
        type: 'attempt.failed',
        key: aDeliveryKey(ids),
        attempt: 1,
        outcome: 'rejected',
        statusCode: 404,
        at,
      },
    ];

    it('arrive unchanged', async () => {
      const { operatorEvents, heard } = await make();
      for (const event of events) await operatorEvents.publish(event);
      const received = await heard(events.length);
      expect(received).toHaveLength(events.length);
      expect(received).toEqual(expect.arrayContaining(events));
    });

    it('arrive as often as they are published, so that listeners must recognise copies', async () => {
      const { operatorEvents, heard } = await make();
      const event: OperatorEvent = { type: 'subscription.failing', ...ids, since, failures: 20 };
      await operatorEvents.publish(event);
      await operatorEvents.publish(event);
      expect(await heard(2)).toEqual([event, event]);
    });
  });
};
