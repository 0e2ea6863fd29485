import {
  deleteQueue,
  disableManually,
  enable,
  unsubscribe,
  updateSubscription,
} from '../../functions/api/subscriptions/change.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Queue, SubscriptionOptions } from '../../shared/domain/subscription/subscription.ts';
import { QUEUE, type PlannedChange } from './scenario.ts';
import type { SimulatedApi } from './simulated-api.ts';
import type { SimulatedWorld } from './simulated-world.ts';

type SubscriptionChange = Extract<PlannedChange, { id: string }>;

/** What is changed in a run, by callers of the API who repeat what was not answered. */
export function makeChange(world: SimulatedWorld, api: SimulatedApi, change: PlannedChange): void {
  switch (change.kind) {
    case 'settings':
      world.settings = { ...world.settings, ...change.settings };
      return;
    case 'queue_policy':
      api.insist('queue policy', async ({ registry, clock }) => {
        if ((await registry.findQueue(QUEUE)) !== undefined)
          await registry.putQueue(queueOf(change.policy, clock.now()));
      });
      return;
    case 'queue_deleted':
      api.insist('delete queue', (context) => deleteQueue(context, QUEUE));
      return;
    case 'queue_recreated':
      api.insist('delete queue', async (context) => {
        await deleteQueue(context, QUEUE);
        const { time, scenario } = world;
        time.at(time.now() + change.afterMs, () => {
          api.insist('create queue', ({ registry, clock }) =>
            registry.putQueue(queueOf(scenario.queuePolicy, clock.now())),
          );
        });
      });
      return;
    case 'subscription_deleted':
    case 'subscription_disabled':
    case 'subscription_enabled':
    case 'subscription_policy':
    case 'subscription_url':
      changeSubscription(world, api, change);
  }
}

function queueOf(retryPolicy: PartialRetryPolicy | undefined, createdAt: number): Queue {
  return {
    name: QUEUE,
    metadata: {},
    createdAt,
    ...(retryPolicy === undefined ? {} : { retryPolicy }),
  };
}

function changeSubscription(world: SimulatedWorld, api: SimulatedApi, change: SubscriptionChange): void {
  const { kind, id } = change;
  const known = world.subscriptions.find(id);
  if (known === undefined) return;
  const name = { queue: QUEUE, subscriptionId: id };
  const what = `${kind} ${id}`;
  switch (kind) {
    case 'subscription_deleted':
      api.insist(what, (context) => unsubscribe(context, name));
      return;
    case 'subscription_disabled':
      api.insist(what, (context) => disableManually(context, name));
      return;
    case 'subscription_enabled':
      api.insist(what, (context) => enable(context, name));
      return;
    case 'subscription_url': {
      const subscriber = world.receivers.newAddressOf(id);
      api.insist(what, (context) => updateSubscription(context, name, { subscriber }));
      return;
    }
    case 'subscription_policy': {
      const options = withPolicy(known.options, change.policy);
      api.insist(what, (context) => updateSubscription(context, name, { options }));
    }
  }
}

function withPolicy(
  options: SubscriptionOptions,
  policy: PartialRetryPolicy | undefined,
): SubscriptionOptions {
  const { _retry_policy: _before, ...others } = options;
  return policy === undefined ? others : { ...others, _retry_policy: policy };
}
