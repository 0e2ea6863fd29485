import * as z from 'zod';
import { subscribe as subscribeTo } from '../../../../api-client/operations.ts';
import { isRefusal, orElse } from '../../../../api-client/refusal.ts';
import { subscriptionItemKey } from '../../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { addressGuard, getPort } from '../../../../shared/adapters/http/address-guard.ts';
import { variables } from '../../../../shared/config/resources.ts';
import { type Check, failed, judge } from '../check.ts';
import { behavingUrl } from '../../../../functions/acceptance/receiver.ts';
import { createQueue, ended, NO_RETRIES, type Subscribed, subscribe } from '../scenario.ts';
import type { World } from '../world.ts';

/**
 * Metadata of EC2 and of containers, by both versions of IP; a private address; and one of multicast, to which no system
 * makes a TCP connection, so that a test can open the guard for it.
 */
const FORBIDDEN = [
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/v2/credentials',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://10.0.0.1/',
  'http://224.0.0.1/',
];

export const guardChecks: readonly Check[] = [
  {
    id: 'guard',
    title: 'No request goes to link-local, metadata or private addresses, from inside the functions either',
    seconds: 60,
    run: async (world) => {
      const queue = await createQueue(world, 'guard');
      const forbidden = FORBIDDEN.filter((url) => !isAllowedBySettings(world, url));
      const answers = await Promise.all(
        forbidden.map((subscriber) =>
          world.api
            .call(subscribeTo, { path: { queue }, body: JSON.stringify({ subscriber }) })
            .catch(orElse(isInvalid, undefined)),
        ),
      );
      const taken = forbidden.filter((_, index) => answers[index] !== undefined);
      // Nothing is sent there: the API would have refused what deliver refuses.
      if (taken.length > 0)
        return failed(
          `the API accepts ${taken.join(' and ')}`,
          'The guard of the functions is not that of the deployed settings: compare ALLOWED_ADDRESSES of the functions with the setting allowedAddresses, and deploy again.',
        );
      // All before the first message: dispatch remembers the subscriptions of a queue.
      const recorded = await Promise.all(forbidden.map((url) => recordAddress(world, queue, url)));
      const faults = await Promise.all(
        recorded.map(async ({ type, ...subscribed }) => {
          const { id: message } = await world.publisher.publish({ queue, type, data: { check: 'guard' } });
          const { status, reason } = await ended(world, { ...subscribed, message });
          return reason !== 'address_forbidden' && `a delivery to ${type} is ${status} ${reason}`;
        }),
      );
      const detail = `${forbidden.length} addresses refused by the API, and by deliver for records that have them`;
      return judge(faults, detail, STOP_DELIVER);
    },
  },
];

const STOP_DELIVER =
  'Disable the event sources of deliver, and compare its ALLOWED_ADDRESSES with the setting allowedAddresses. If they differ, deploy again; if not, report this: the guard does not work.';

function isInvalid(error: unknown): boolean {
  return isRefusal(error) && error.status === 400;
}

/** An operator may allow private networks. */
function isAllowedBySettings({ settings }: World, url: string): boolean {
  const parsed = new URL(url);
  const ranges = z.array(z.string()).parse(JSON.parse(settings[variables.allowedAddresses] ?? '[]'));
  const guard = addressGuard({ allowedAddresses: ranges });
  return guard.allows(parsed.hostname.replaceAll(/[[\]]/g, ''), getPort(parsed));
}

/** A subscription with an address as if the check of the API had been passed. It gets the messages of its type. */
async function recordAddress(
  world: World,
  queue: string,
  url: string,
): Promise<Subscribed & { type: string }> {
  // Without retries, a delivery also ends where the guard lets it through.
  const subscribed = await subscribe(world, queue, { policy: NO_RETRIES, options: { event_types: [url] } });
  const original = behavingUrl(world.receiver.url, subscribed.key, { status: 200 });
  world.undo.add({
    what: `the address of the subscription ${subscribed.subscription}`,
    command: 'none is needed: it is deleted with its queue',
    // The deletion of a subscription finds its claim on an address by the address.
    remove: () => writeSubscriber(world, subscribed, original),
  });
  await writeSubscriber(world, subscribed, url);
  return { ...subscribed, type: url };
}

/** The API refuses such addresses, so the record is written. */
async function writeSubscriber(
  { deployment }: World,
  { queue, subscription }: Subscribed,
  url: string,
): Promise<void> {
  const { dynamoClient } = await import('../../../../shared/adapters/dynamodb/client.ts');
  const dynamo = dynamoClient(deployment.client);
  await dynamo.update({
    TableName: deployment.subscriptionsTable,
    Key: subscriptionItemKey(queue, subscription),
    UpdateExpression: 'SET subscriber = :url',
    ExpressionAttributeValues: { ':url': url },
  });
  dynamo.destroy();
}
