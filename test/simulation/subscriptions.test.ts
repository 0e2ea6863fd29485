import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import { bucketOf } from './partition.ts';
import type { StepPorts } from './ports.ts';
import { itAccepts, itCatches, onlyWith, replaced, replacing, withoutFaults, writing } from './sabotage.ts';
import {
  answering,
  CALM,
  HOUR,
  plainPair,
  type PlannedChange,
  type Scenario,
  SECOND,
  UNSELECTIVE,
} from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

type HiddenFields = Pick<Subscription, 'previousSelection' | 'unconfirmed' | 'deletedAt'>;

/** Changes every subscription that is read. */
const reading = (overlook: (seen: HiddenFields) => void): Sabotage => {
  const seenAs = <Of extends HiddenFields>(subscription: Of): Of => {
    const seen = { ...subscription };
    overlook(seen);
    return seen;
  };
  return replacing('subscriptions', (subscriptions) => ({
    page: async (...args) => {
      const page = await subscriptions.page(...args);
      return page && { ...page, subscriptions: page.subscriptions.map(seenAs) };
    },
    find: async (...args) => {
      const { subscription, ...found } = await subscriptions.find(...args);
      return { ...found, subscription: subscription && seenAs(subscription) };
    },
  }));
};

/** Guards both calls by which a delivery meets the partition of its message: the read of the message, and the write. */
const guarding = (ports: StepPorts, guard: <Of>(call: () => Promise<Of>) => Promise<Of>): StepPorts => {
  const { deliveries, messageRecords } = ports;
  const guarded = replaced(ports, 'messageRecords', {
    find: (key) => guard(() => messageRecords.find(key)),
  });
  return replaced(guarded, 'deliveries', {
    write: (transition) => guard(() => deliveries.write(transition)),
  });
};

/** Two messages whose retries coincide in one invocation; the partition of one is throttled for a while. */
const withOneThrottledPartition = (scenario: Scenario): Scenario => {
  const { message } = plainPair(scenario);
  const plain = { ...message, at: 0, delaySeconds: undefined, repeats: [] };
  return {
    ...withoutFaults(scenario),
    ...CALM,
    settings: { ...scenario.settings, schedulerThresholdSeconds: 90 },
    messages: ['m0', 'm1'].map((id) => ({ ...plain, id })),
    subscriptions: scenario.subscriptions.map((one) => ({
      ...one,
      ...UNSELECTIVE,
      at: -HOUR,
      policy: { retries_with_no_delay: 0, minimum_delay_retries: 5, minimum_delay: 4, maximum_delay: 4 },
      answers: { first: [], then: answering(503) },
    })),
    throttles: [{ partition: bucketOf('m0'), from: SECOND, to: 30 * SECOND }],
  };
};

const withChange = (wanted: PlannedChange['kind']) =>
  onlyWith(({ changes }) => changes.some(({ kind }) => kind === wanted));

const heldUp = new WeakMap<object, Promise<void>>();
const openedSecrets = new Map<string, ReturnType<StepPorts['secretOpener']['open']>>();

itCatches({
  'in which one throttled call delays all other work of its invocation': {
    by: 'nothing_late',
    seed: 16,
    among: withOneThrottledPartition,
    ports: (ports, { actor }) =>
      guarding(ports, async (call) => {
        await heldUp.get(actor.invocation);
        try {
          return await call();
        } catch (error) {
          heldUp.set(actor.invocation, ports.clock.sleep(10 * SECOND));
          throw error;
        }
      }),
  },

  'in which one throttled call fails all other work of its invocation': {
    by: 'duplicates_are_explained',
    seed: 31,
    ports: (ports, { actor }) =>
      guarding(ports, async (call) => {
        try {
          return await call();
        } catch (error) {
          actor.invocation.hasEnded = true;
          throw error;
        }
      }),
  },

  'whose retries read a cache: they call the previous URL': {
    by: 'only_active_subscriptions',
    seed: 178,
    among: withChange('subscription_url'),
    ...replacing('subscriptions', (subscriptions) => ({
      find: (queue, id) => subscriptions.find(queue, id, 'cached'),
    })),
  },

  'whose repeats use the current filters: they reach subscriptions that did not match': {
    by: 'only_matches_get_a_message',
    seed: 390,
    among: withChange('subscription_interests'),
    ...reading((seen) => delete seen.previousSelection),
  },

  'that skips a subscription with an undecided filter': {
    by: 'everything_ends',
    seed: 84,
    ...replacing('subscriptions', (subscriptions) => ({
      page: async (...args) => {
        const page = await subscriptions.page(...args);
        const isDecided = ({ options }: Pick<Subscription, 'options'>) =>
          !JSON.stringify(options.filter ?? {}).includes('"l":');
        return page && { ...page, subscriptions: page.subscriptions.filter(isDecided) };
      },
    })),
  },

  'that sends messages to an unconfirmed subscription': {
    by: 'only_active_subscriptions',
    seed: 21,
    ...reading((seen) => delete seen.unconfirmed),
  },

  'whose retries call a subscription that is marked for deletion': {
    by: 'only_active_subscriptions',
    seed: 2,
    ...reading((seen) => delete seen.deletedAt),
  },

  'that signs with a secret that was replaced, because it keeps the first that it opened': {
    by: 'signed_by_its_secrets',
    seed: 3,
    ...replacing('secretOpener', (opener) => ({
      open: (owner, sealed) => {
        const secret = openedSecrets.get(owner.subscriptionId) ?? opener.open(owner, sealed);
        openedSecrets.set(owner.subscriptionId, secret);
        return secret;
      },
    })),
  },

  'that treats an unreadable subscription as deleted': {
    by: 'cancelled_for_a_reason',
    seed: 4,
    ...replacing('subscriptions', (subscriptions) => ({
      find: async (...args): ReturnType<Subscriptions['find']> => {
        try {
          return await subscriptions.find(...args);
        } catch {
          return { queue: undefined, subscription: undefined };
        }
      },
    })),
  },

  'that counts an internal fault before a request as a lost request': {
    by: 'lost_counts_are_true',
    seed: 6,
    ...writing((transition, _ports, { deliveries }) => {
      const delivery = deliveries.find(transition.key);
      return transition.name === 'release' && delivery !== undefined
        ? Promise.resolve({ kind: 'written', delivery })
        : undefined;
    }),
  },

  'that ignores an erasure when it stores a body: a retry finds no body': {
    by: 'the_body_is_kept',
    seed: 4,
    among: onlyWith(({ interventions }) => interventions.some(({ kind }) => kind === 'erase')),
    ...replacing('messageRecords', (records) => ({
      find: async (key) => {
        const record = await records.find(key);
        if (record === undefined) return undefined;
        const { erasedAt: _hidden, ...visible } = record;
        return visible;
      },
      keepBody: async (...args) => {
        await records.keepBody(...args);
        return 'kept';
      },
    })),
  },
});

itAccepts(35, { 'if one partition is throttled': withOneThrottledPartition });
