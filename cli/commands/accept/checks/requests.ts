import { randomBytes } from 'node:crypto';
import { getPayload, subscribe as subscribeTo } from '../../../../api-client/operations.ts';
import { encodeMessage } from '../../../../client/message.ts';
import { type Check, judge } from '../check.ts';
import { sha256 } from '../../../../functions/acceptance/receiver.ts';
import { RECEIVE_LEASE_SECONDS } from '../../../../shared/domain/delivery/pull.ts';
import { operatedPull, pullRoutes, type ReceivedDelivery } from '../../forward/forward-deliveries.ts';
import {
  createQueue,
  deliver,
  ended,
  firstRequest,
  NO_RETRIES,
  requests,
  subscribe,
  within,
} from '../scenario.ts';

/** The largest message of SQS, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Messages at one a second. */
const LIMITED = 4;

/** Reconcile runs once a minute, and a delivery must be overdue for a while. */
const LAPSE_SECONDS = 200;

/** What the receiver gets, by push and by pull. */
export const requestChecks: readonly Check[] = [
  {
    id: 'signature',
    title: 'The receiver can verify the signature, and refuses another key',
    seconds: 15,
    run: async (world) => {
      const queue = await createQueue(world, 'signature');
      const right = await subscribe(world, queue);
      const wrongKey = `whsec_${randomBytes(32).toString('base64')}`;
      const wrong = await subscribe(world, queue, { wrongKey });
      await world.publisher.publish({ queue, data: { text: 'é', number: 1 } });
      const signed = await firstRequest(world, right);
      const other = await firstRequest(world, wrong);
      const faults = [
        signed.signature !== 'valid' && `the signature does not verify: ${signed.signature}`,
        other.signature === 'valid' && 'the signature verifies with a key that is not its own',
      ];
      return judge(
        faults,
        'verified by client/verify, and refused with another key',
        'Does something between deliver and the receiver change the body or the headers?',
      );
    },
  },
  {
    id: 'payload',
    title: 'A message of 1 MiB arrives unchanged',
    seconds: 20,
    run: async (world) => {
      const queue = await createQueue(world, 'payload');
      const subscribed = await subscribe(world, queue);
      const empty = encodeMessage({ queue, id: 'large', data: '' }, 0).body.length;
      const data = 'x'.repeat(MAX_BYTES - empty);
      await world.publisher.publish({ queue, id: 'large', data });
      const seen = await firstRequest(world, subscribed);
      const { subscription } = subscribed;
      const { body = '' } = await world.api.call(getPayload, {
        path: { queue, message: 'large', subscription },
      });
      const faults = [
        seen.sha256 !== sha256(body) && 'the body is not the one on record',
        !body.includes(data) && 'the data on record is not the published one',
        seen.signature !== 'valid' && `the signature does not verify: ${seen.signature}`,
      ];
      return judge(
        faults,
        `${seen.bytes} bytes, with a valid signature`,
        'See the payload bucket, and the log of deliver.',
      );
    },
  },
  {
    id: 'repeat',
    title: 'A message that is published again makes no request',
    seconds: 20,
    run: async (world) => {
      const { queue, message: id, ...one } = await deliver(world, 'repeat', {});
      await firstRequest(world, one);
      await world.publisher.publish({ queue, id, data: { check: 'repeat' } });
      // Its arrival shows that the repeat was dispatched, in most cases: SQS keeps no order.
      await world.publisher.publish({ queue, id: 'later', data: 1, delay: 2 });
      const seen = await requests(world, one, 2);
      const again = seen.filter(({ messageId }) => messageId === id).length - 1;
      return judge(
        [again > 0 && `it made ${again} more requests`],
        'one request for two sends',
        'See the record of the message: posthaste message show. Is its table the one of this deployment?',
      );
    },
  },
  {
    id: 'filters',
    title: 'Event types and filters choose the messages of a subscription',
    seconds: 20,
    run: async (world) => {
      const queue = await createQueue(world, 'filters');
      const byType = await subscribe(world, queue, { options: { event_types: ['order.created'] } });
      const filter = { total: [{ numeric: ['>', 100] }] };
      const byContent = await subscribe(world, queue, { options: { filter } });
      const all = await subscribe(world, queue);
      await world.publisher.publishBatch([
        { queue, id: 'small', type: 'order.created', data: { total: 1 } },
        { queue, id: 'large', type: 'order.paid', data: { total: 1000 } },
      ]);
      await requests(world, all, 2);
      await firstRequest(world, byType);
      await firstRequest(world, byContent);
      const got = [byType, byContent].map(({ key }) =>
        world.receiver.seen(key).map((seen) => seen.messageId),
      );
      return judge(
        [JSON.stringify(got) !== '[["small"],["large"]]' && `they got ${JSON.stringify(got)}`],
        'each subscription got its message alone',
        'Report it with the answer of posthaste explain.',
      );
    },
  },
  {
    id: 'rate-limit',
    title: 'A rate limit spaces the requests of a subscription',
    seconds: 30,
    run: async (world) => {
      const queue = await createQueue(world, 'rate-limit');
      const subscribed = await subscribe(world, queue, { options: { max_per_second: 1 } });
      await world.publisher.publishBatch(Array.from({ length: LIMITED }, (_, data) => ({ queue, data })));
      const seen = await requests(world, subscribed, LIMITED, 90);
      // Attempts start to the second, so one second may be missing.
      const starts = seen.map(({ startedAt }) => startedAt);
      const took = (Math.max(...starts) - Math.min(...starts)) / 1000;
      const detail = `${LIMITED} requests at 1/s started within ${took} s`;
      return judge([took < LIMITED - 2 && detail], detail, 'See slot_not_reserved in the log of deliver.');
    },
  },
  {
    id: 'pull',
    title: 'A pull subscription gives a delivery again after its lease, until it is acknowledged',
    seconds: LAPSE_SECONDS,
    run: async (world) => {
      const queue = await createQueue(world, 'pull');
      const options = { _retry_policy: { ...NO_RETRIES, retries_with_no_delay: 3 } };
      const { subscription_id: subscription } = await world.api.call(subscribeTo, {
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
