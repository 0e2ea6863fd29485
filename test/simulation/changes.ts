import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import {
  disableManually,
  unsubscribe,
  updateSubscription,
} from '../../functions/api/subscriptions/change.ts';
import { setConfirmed } from '../../functions/api/subscriptions/confirm.ts';
import { rotateSecret } from '../../functions/api/subscriptions/secret-routes.ts';
import { pauseAt, resumeAt } from '../../functions/api/pauses/pause.ts';
import { restoreQueue, restoreSubscription } from '../../functions/api/archives/routes.ts';
import { deleteQueue } from '../../functions/api/queues/routes.ts';
import type { WaitingPlace } from '../../shared/domain/delivery/paused.ts';
import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type {
  Queue,
  SubscriptionKey,
  SubscriptionOptions,
} from '../../shared/domain/subscription/subscription.ts';
import { requestConfirmation } from './confirmations.ts';
import { interestsOf } from './planned-subscription.ts';
import { DAY, QUEUE, type PlannedChange } from './scenario.ts';
import type { ApiContext, ApiStep, SimulatedApi } from './simulated-api.ts';
import type { SimulatedWorld } from './simulated-world.ts';

type SubscriptionChange = Extract<PlannedChange, { id: string }>;

/** Makes a planned change. API callers repeat a request until it is answered. */
export function makeChange(world: SimulatedWorld, api: SimulatedApi, change: PlannedChange): void {
  switch (change.kind) {
    case 'settings':
      world.settings = { ...world.settings, ...change.settings };
      return;
    case 'queue_policy':
      api.retryUntilAnswered('queue policy', async ({ registry, clock }) => {
        if ((await registry.findQueue(QUEUE)) !== undefined)
          await registry.putQueue(queueOf(change.policy, clock.now()));
      });
      return;
    case 'queue_deleted':
      api.retryUntilAnswered('delete queue', (context) =>
        deleteQueue(context, QUEUE, restorableUntil(context)),
      );
      return;
    case 'restored':
      api.retryUntilAnswered('restore', (context) => restore(context, change.of));
      return;
    case 'queue_recreated':
      api.retryUntilAnswered('delete queue', async (context) => {
        await deleteQueue(context, QUEUE);
        const { time, scenario } = world;
        time.at(time.now() + change.afterMs, () => {
          api.retryUntilAnswered('create queue', ({ registry, clock }) =>
            registry.putQueue(queueOf(scenario.queuePolicy, clock.now())),
          );
        });
      });
      return;
    case 'paused': {
      const until = change.forMs === undefined ? undefined : world.time.now() + change.forMs;
      api.retryUntilAnswered('pause', (context) => pauseAt(context, placeOf(change), until));
      return;
    }
    case 'resumed':
      api.retryUntilAnswered('resume', (context) => resumeAt(context, placeOf(change), change.perSecond));
      return;
    case 'subscription_confirmed':
    case 'subscription_deleted':
    case 'subscription_disabled':
    case 'subscription_enabled':
    case 'subscription_interests':
    case 'subscription_limit':
    case 'subscription_policy':
    case 'subscription_secret':
    case 'subscription_unconfirmed':
    case 'subscription_url':
      changeSubscription(world, api, change);
  }
}

const restorableUntil = ({ clock }: ApiContext): number => clock.now() + 7 * DAY;

async function restore(context: ApiContext, of: string | undefined): Promise<void> {
  if (of !== undefined) {
    await restoreSubscription(context, { queue: QUEUE, subscriptionId: of });
    return;
  }
  await restoreQueue(context, QUEUE, context.clock.now());
  await context.registry.completeRestoredQueue(QUEUE, () => true);
}

function placeOf({ of }: { of: string | undefined }): WaitingPlace {
  return { queue: QUEUE, ...(of !== undefined && { subscriptionId: of }) };
}

export function queueOf(retryPolicy: PartialRetryPolicy | undefined, createdAt: number): Queue {
  return {
    name: QUEUE,
    metadata: {},
    createdAt,
    ...(retryPolicy === undefined ? {} : { retryPolicy }),
  };
}

function changeSubscription(world: SimulatedWorld, api: SimulatedApi, change: SubscriptionChange): void {
  const { kind, id } = change;
  const key = { queue: QUEUE, subscriptionId: id };
  const make = stepOf(world, change, key);
  if (world.subscriptions.find(id) !== undefined) api.retryUntilAnswered(`${kind} ${id}`, make);
}

/** The API request that makes a change. */
function stepOf(world: SimulatedWorld, change: SubscriptionChange, key: SubscriptionKey): ApiStep {
  const options = (changed: (now: SubscriptionOptions) => SubscriptionOptions): ApiStep => {
    const given = changed(world.subscriptions.find(change.id)?.options ?? {});
    return (context) => updateSubscription(context, key, { options: given });
  };
  switch (change.kind) {
    case 'subscription_deleted':
      return (context) => unsubscribe(context, key, restorableUntil(context));
    case 'subscription_disabled':
      return (context) => disableManually(context, key);
    case 'subscription_enabled':
      return (context) => updateSubscription(context, key, { disabled: null });
    case 'subscription_confirmed':
      return (context) => setConfirmed(context, key, true);
    case 'subscription_unconfirmed':
      return (context) => setConfirmed(context, key, false);
    case 'subscription_secret':
      return (context) => {
        const secret = makeSecret('v1', context.randomBytes);
        return rotateSecret(context, key, { secret, graceMs: change.graceMs });
      };
    case 'subscription_url': {
      const subscriber = world.receivers.newAddressOf(
        change.id,
        change.hasNewOrigin ? 'new server' : undefined,
      );
      return async (context) => {
        await updateSubscription(context, key, { destination: parseDestination(subscriber) });
        await requestConfirmation(context, change.id);
      };
    }
    case 'subscription_policy':
      return options(({ _retry_policy: _before, ...others }) =>
        change.policy === undefined ? others : { ...others, _retry_policy: change.policy },
      );
    case 'subscription_limit':
      return options(({ max_per_second: _before, ...others }) =>
        change.maxPerSecond === undefined ? others : { ...others, max_per_second: change.maxPerSecond },
      );
    case 'subscription_interests':
      return options(({ event_types: _types, filter: _filter, ...others }) => ({
        ...others,
        ...interestsOf(change.interests),
      }));
  }
}
