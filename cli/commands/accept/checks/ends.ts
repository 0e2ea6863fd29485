import { readBooks } from '../../../../api-client/operations.ts';
import type { DeadLetter } from '../../../../shared/domain/delivery/dead-letter.ts';
import { describeDeadLetter } from '../../../dead-letters/describe.ts';
import { type Check, judge } from '../check.ts';
import {
  createQueue,
  deliver,
  ended,
  NO_RETRIES,
  requests,
  subscribe,
  within,
  takeDeadLetters,
} from '../scenario.ts';
import type { World } from '../world.ts';

/** Where messages end that no receiver takes, and whether every one of them is counted. */
export const endChecks: readonly Check[] = [
  {
    id: 'dead-letters',
    title: 'A message for an unknown queue is a dead letter with its reason',
    seconds: 40,
    run: async (world) => {
      const queue = `${world.prefix}-missing`;
      await world.publisher.publish({ queue, data: { check: 'dead-letters' } });
      const deadLetter = await findDeadLetter(world, world.deployment.ingressDeadLetterUrl, queue);
      const { reason = 'missing' } = describeDeadLetter('ingress', deadLetter);
      return judge(
        [reason !== 'unknown_queue' && `its reason is ${reason}, not unknown_queue`],
        'in the dead-letter queue of ingress with the reason unknown_queue, and removed',
        'See the log of dispatch. Does a program of yours consume the dead-letter queue?',
      );
    },
  },
  {
    id: 'undeliverable',
    title: 'A rejected delivery is in the undeliverable queue with its data',
    seconds: 40,
    run: async (world) => {
      const data = { secret: world.prefix };
      const delivered = await deliver(world, 'undeliverable', { behaviour: { status: 400 } }, data);
      const { status, reason } = await ended(world, delivered);
      const notice = await findDeadLetter(world, world.deployment.undeliverableQueueUrl, delivered.queue);
      const faults = [
        (status !== 'rejected' || reason !== 'http_400') && `the delivery is ${status} (${reason})`,
        !notice.body.includes(JSON.stringify(data)) && 'the notice lacks the data',
      ];
      return judge(faults, 'rejected, in the queue with its data, and removed', CONSUMER);
    },
  },
  {
    id: 'books',
    title: 'The reconciliation report balances, with exactly what was published',
    seconds: 60,
    run: async (world) => {
      const queue = await createQueue(world, 'books');
      const created = { event_types: ['created'] };
      const good = await subscribe(world, queue);
      const bad = await subscribe(world, queue, { behaviour: { status: 400 }, options: created });
      const dead = await subscribe(world, queue, {
        behaviour: { status: 500 },
        policy: { ...NO_RETRIES, retries_with_no_delay: 1 },
        options: created,
      });
      const [first] = await world.publisher.publishBatch([
        { queue, type: 'created', data: 1 },
        { queue, type: 'other', data: 2 },
      ]);
      await requests(world, good, 2);
      const message = first?.id ?? '';
      for (const { subscription } of [good, bad, dead]) await ended(world, { queue, message, subscription });
      // The success of the second message may be on record a moment after its request.
      const expected = { accepted: 2, matched: 4, filtered: 2, delivered: 2, rejected: 1, exhausted: 1 };
      const faults = await within(world, { what: 'nothing is pending' }, async () => {
        const { books, balances } = await world.api.call(readBooks, { path: { queue } });
        if (books.pending > 0) return undefined;
        const wrong = Object.entries(expected).filter(([name, count]) => count !== entry(books, name));
        return [
          !balances && 'the report does not balance',
          ...wrong.map(([name, count]) => `${name} is ${entry(books, name)}, not ${count}`),
        ];
      });
      return judge(faults, 'two messages, four deliveries, two filtered', BOOKS);
    },
  },
];

const CONSUMER =
  'Does a program of yours consume the undeliverable queue? It is faster than this check then.';
const BOOKS =
  'Keep the logs of dispatch and deliver of these minutes, and report it: a delivery is missing or counted twice.';

/** The dead letter of a queue of this run. All of this run are removed. */
function findDeadLetter(world: World, queueUrl: string, queue: string): Promise<DeadLetter> {
  return within(world, { what: `the dead letter of ${queue} arrives`, seconds: 90 }, async () => {
    const taken = await takeDeadLetters(world, queueUrl);
    return taken.find(({ body }) => body.includes(queue));
  });
}

function entry(counts: Readonly<Record<string, number>>, name: string): number {
  return counts[name] ?? 0;
}
