import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Delivery, type Transition, isOpen } from '../../shared/domain/delivery/delivery.ts';
import { retryNow } from '../../shared/domain/delivery/interventions.ts';
import {
  attemptOf,
  awaitPull,
  cancelWaiting,
  openForPull,
  receive,
  recordReceived,
  type PullResult,
} from '../../shared/domain/delivery/pull.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { aBarePolicy, aMessage } from '../support/builders.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';

const WEEK = 7 * 24 * 60 * 60 * 1000;
const POLICY = aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 });

const at = (seconds: number) => ({ now: SOME_TIME + 1000 * seconds, retentionMs: WEEK });

/** Contract of the deliveries that wait until their subscriber receives them. */
export const describeWaitingDeliveriesContract = (name: string, make: () => Deliveries): void => {
  let deliveries: Deliveries;
  beforeAll(() => {
    deliveries = make();
  });

  const write = async (transition: Transition): Promise<Delivery> => {
    const result = await deliveries.write(transition);
    if (result.kind === 'refused') throw new Error(`${transition.name} was refused`);
    return result.delivery;
  };

  const open = (subscriptionId: string, seconds = 0): Promise<Delivery> => {
    const body = { kind: 'inline', message: aMessage() } as const;
    const key = aDeliveryKey({ subscriptionId });
    return write(
      openForPull({ kind: 'job', key, attempt: 1, acceptedAt: SOME_TIME, lost: 1, body }, at(seconds)),
    );
  };

  const leaseFrom = (seconds: number) => ({
    owner: `pull/${randomUUID()}`,
    until: at(seconds + 60).now,
    receivedAt: at(seconds).now,
  });

  const waitingFor = async ({ key }: Delivery, seconds: number, limit = 10) =>
    (await deliveries.waiting(key, at(seconds).now, limit)).map(({ key: found, overdueAt }) => ({
      messageId: found.messageId,
      since: overdueAt - SOME_TIME,
    }));

  /** Whether reconcile would find the delivery by then. */
  const isOverdue = async ({ key }: Delivery, seconds: number): Promise<boolean> =>
    (await deliveries.overdue(at(seconds).now, 10_000)).some((one) => one.key.messageId === key.messageId);

  const receiveNow = async (delivery: Delivery, seconds: number) => {
    const [found] = await deliveries.waiting(delivery.key, at(seconds).now, 1);
    if (found === undefined) throw new Error('nothing waits');
    const lease = leaseFrom(seconds);
    return { ...(await write(receive(found, lease, at(seconds)))), lease };
  };

  const answer = async (
    received: Awaited<ReturnType<typeof receiveNow>>,
    result: PullResult,
    seconds: number,
  ): Promise<Delivery> =>
    write(
      recordReceived(
        received,
        { attempt: attemptOf(received, result, at(seconds).now), policy: POLICY },
        at(seconds),
      ),
    );

  describe(`waiting deliveries ${name}`, () => {
    it('are found by their subscription, the longest waiting first, up to a limit, and not by reconcile', async () => {
      const subscription = randomUUID();
      const [late, early] = [await open(subscription, 2), await open(subscription, 1)];
      await open(randomUUID());
      const found = [early, late].map(({ key, overdueAt = 0 }) => ({
        messageId: key.messageId,
        since: overdueAt - SOME_TIME,
      }));
      expect(await waitingFor(late, 9)).toEqual(found);
      expect(await waitingFor(late, 9, 1)).toEqual(found.slice(0, 1));
      expect(await waitingFor(late, 1)).toEqual(found.slice(0, 1));
      expect(await isOverdue(late, 9999)).toBe(false);
      expect(await deliveries.find(late.key)).toEqual(late);
      expect(late).toMatchObject({ status: 'pending', lost: 0, next: { number: 1, by: 'pull' } });
    });

    it('are received once, and found by reconcile at the end of the lease', async () => {
      const delivery = await open(randomUUID());
      const [found] = await deliveries.waiting(delivery.key, at(1).now, 1);
      if (found === undefined) throw new Error('it waits');
      const received = await write(receive(found, leaseFrom(1), at(1)));
      expect(received.lease).toMatchObject({ receivedAt: at(1).now, until: at(61).now });
      expect((await deliveries.write(receive(found, leaseFrom(1), at(1)))).kind).toBe('refused');
      expect(await waitingFor(delivery, 9999)).toEqual([]);
      expect([await isOverdue(delivery, 60), await isOverdue(delivery, 61)]).toEqual([false, true]);
    });

    it('are in no index once they are acknowledged', async () => {
      const received = await receiveNow(await open(randomUUID()), 1);
      expect(await answer(received, { kind: 'acknowledged' }, 2)).toMatchObject({ status: 'delivered' });
      expect(await waitingFor(received, 9999)).toEqual([]);
      expect(await isOverdue(received, 9999)).toBe(false);
    });

    it.each([{ kind: 'refused' }, { kind: 'lapsed' }] satisfies PullResult[])(
      'wait again from the time of their retry on, and end when there is none: $kind',
      async (result) => {
        const delivery = await open(randomUUID());
        const failed = await answer(await receiveNow(delivery, 0), result, 60);
        const again = 1000 * (60 + 5);
        expect(failed).toMatchObject({ status: 'retrying', next: { number: 2, dueAt: SOME_TIME + again } });
        expect(await waitingFor(delivery, 64)).toEqual([]);
        expect(await waitingFor(delivery, 65)).toEqual([{ messageId: delivery.key.messageId, since: again }]);
        expect(await isOverdue(delivery, 9999)).toBe(false);
        const ended = await answer(await receiveNow(delivery, 70), result, 130);
        expect(ended).toMatchObject({
          status: 'exhausted',
          pendingSteps: [{ kind: 'undeliverable' }, { kind: 'exhausted_event' }],
        });
        expect(await waitingFor(delivery, 9999)).toEqual([]);
        expect(await isOverdue(delivery, 130)).toBe(true);
      },
    );

    it('can be cancelled, and given to deliver and back', async () => {
      const [cancelled, moved] = [await open(randomUUID()), await open(randomUUID())];
      const [found] = await deliveries.waiting(cancelled.key, at(1).now, 1);
      if (found === undefined) throw new Error('it waits');
      await write(cancelWaiting(found, 'message_expired', at(1)));
      expect(await waitingFor(cancelled, 9999)).toEqual([]);
      if (!isOpen(moved)) throw new Error('it waits');
      const woken = await write(retryNow(moved, at(1)));
      expect([await waitingFor(moved, 9999), await isOverdue(moved, 1)]).toEqual([[], true]);
      if (!isOpen(woken) || woken.next === undefined) throw new Error('it has a next attempt');
      const back = await write(awaitPull(woken, woken.next, at(2)));
      expect(back.next).toEqual({ number: 1, phase: 'manual', dueAt: at(1).now, by: 'pull' });
      expect(await isOverdue(moved, 9999)).toBe(false);
      expect(await waitingFor(moved, 1)).toEqual([{ messageId: moved.key.messageId, since: 1000 }]);
    });

    it('are not mistaken for those of deliver', async () => {
      const pushed = aDelivery({ status: 'retrying', overdueAt: SOME_TIME });
      await write({ name: 'open', key: pushed.key, expect: { kind: 'absent' }, create: pushed });
      expect(await waitingFor(pushed, 9999)).toEqual([]);
    });
  });
};
