import { subscribe } from '../../../../api-client/operations.ts';
import { RECEIVE_LEASE_SECONDS } from '../../../../shared/domain/delivery/pull.ts';
import { operatedPull, pullRoutes, type ReceivedDelivery } from '../../forward/forward-deliveries.ts';
import { type Check, judge } from '../check.ts';
import { createQueue, ended, NO_RETRIES, within } from '../scenario.ts';

/** Reconcile runs once a minute, and a delivery must be overdue for a while. */
const LAPSE_SECONDS = 200;

export const pullChecks: readonly Check[] = [
  {
    id: 'pull',
    title: 'A pull subscription gives a delivery again after its lease, until it is acknowledged',
    seconds: LAPSE_SECONDS,
    run: async (world) => {
      const queue = await createQueue(world, 'pull');
      const options = { _retry_policy: { ...NO_RETRIES, retries_with_no_delay: 3 } };
      const { subscription_id: subscription } = await world.api.call(subscribe, {
        path: { queue },
        body: JSON.stringify({ subscriber: 'pull:', options }),
      });
      const { receive, ack, nack } = pullRoutes(world.api, operatedPull, { queue, subscription });
      const receiveOne = (what: string, leaseSeconds: number, seconds?: number): Promise<ReceivedDelivery> =>
        within(
          world,
          { what, seconds },
          async () => (await receive({ max: 1, leaseSeconds, signal: world.signal }))[0],
        );

      const { id: message } = await world.publisher.publish({ queue, data: { check: 'pull' } });
      const first = await receiveOne('the delivery is received', 60);
      await nack(first.receipt, 'refused by posthaste accept');
      await receiveOne('it is received again after a refusal', RECEIVE_LEASE_SECONDS.least);
      const third = await receiveOne('it is received again after its lease', 60, LAPSE_SECONDS);
      await ack(third.receipt);
      const { status, attempts } = await ended(world, { queue, message, subscription });
      const results = attempts.map(({ outcome }) => outcome).join(', ');
      return judge(
        [
          (status !== 'delivered' || results !== 'failed, failed, delivered') &&
            `the delivery is ${status}: ${results}`,
        ],
        'refused once, lapsed once, acknowledged by attempt 3',
        'Does reconcile run? See the alarm ReconcileSilent and its log.',
      );
    },
  },
];
