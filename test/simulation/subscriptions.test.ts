import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Actor } from './history.ts';
import { findingsIn, isCaught, onlyWith, withoutFaults } from './is-caught.ts';
import { bucketOf } from './partition.ts';
import type { StepPorts } from './ports.ts';
import { erasureIgnored, leaseKeptOnFault, withWrite } from './sabotage.ts';
import { HOUR, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

type Reads = Pick<Subscriptions, 'page' | 'find'>;

/** The ports with replaced reads of subscriptions. */
const withReads = (ports: StepPorts, reads: (subscriptions: Reads) => Partial<Reads>): StepPorts => {
  const { subscriptions } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (...args) => subscriptions.page(...args),
      find: (...args) => subscriptions.find(...args),
      disable: (...args) => subscriptions.disable(...args),
      changeHealth: (...args) => subscriptions.changeHealth(...args),
      ...reads(subscriptions),
    },
  };
};

type HiddenFields = Pick<Subscription, 'previousSelection' | 'unconfirmed' | 'deletedAt'>;

/** Hides a field of every subscription that is read. */
const readWithout = (overlook: (seen: HiddenFields) => void): Sabotage => {
  const seenAs = <Of extends HiddenFields>(subscription: Of): Of => {
    const seen = { ...subscription };
    overlook(seen);
    return seen;
  };
  return {
    ports: (ports) =>
      withReads(ports, (subscriptions) => ({
        page: async (...args) => {
          const page = await subscriptions.page(...args);
          return page && { ...page, subscriptions: page.subscriptions.map(seenAs) };
        },
        find: async (...args) => {
          const { subscription, ...found } = await subscriptions.find(...args);
          return { ...found, subscription: subscription && seenAs(subscription) };
        },
      })),
  };
};

/** A repeat uses the current interests. */
const formerInterestsForgotten = readWithout((seen) => delete seen.previousSelection);

/** Unconfirmed subscriptions are treated as confirmed. */
const confirmationNotAwaited = readWithout((seen) => delete seen.unconfirmed);

/** Subscriptions marked for deletion are treated as active. */
const marksIgnored = readWithout((seen) => delete seen.deletedAt);

/** An undecided filter does not match. */
const undecidedLeftOut: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      page: async (...args) => {
        const page = await subscriptions.page(...args);
        const isDecided = ({ options }: Pick<Subscription, 'options'>) =>
          !JSON.stringify(options.filter ?? {}).includes('"l":');
        return page && { ...page, subscriptions: page.subscriptions.filter(isDecided) };
      },
    })),
};

/** An unreadable subscription is treated as deleted. */
const unreadableIsAbsent: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      find: async (...args) => {
        try {
          return await subscriptions.find(...args);
        } catch {
          return { queue: undefined, subscription: undefined };
        }
      },
    })),
};

/** A retry uses the cached subscription. */
const retriesReadCache: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({ find: (queue, id) => subscriptions.find(queue, id, 'cached') })),
};

/** The first opened secret of a subscription is used from then on. */
const openedSecretsKept = (): Sabotage => {
  const opened = new Map<string, ReturnType<StepPorts['secretOpener']['open']>>();
  return {
    ports: (ports) => ({
      ...ports,
      secretOpener: {
        ...ports.secretOpener,
        open: (owner, sealed) => {
          const secret = opened.get(owner.subscriptionId) ?? ports.secretOpener.open(owner, sealed);
          opened.set(owner.subscriptionId, secret);
          return secret;
        },
      },
    }),
  };
};

/** Guards both calls by which a delivery meets the partition of its message: the read of the message, and the write. */
const withGuard = (ports: StepPorts, guard: <Of>(call: () => Promise<Of>) => Promise<Of>): StepPorts => {
  const { messageRecords } = ports;
  return {
    ...withWrite(ports, (transition) => guard(() => ports.deliveries.write(transition))),
    messageRecords: {
      accept: (...args) => messageRecords.accept(...args),
      addPart: (...args) => messageRecords.addPart(...args),
      find: (key) => guard(() => messageRecords.find(key)),
      keepBody: (...args) => messageRecords.keepBody(...args),
      eraseBody: (...args) => messageRecords.eraseBody(...args),
    },
  };
};

/** One throttled call fails all other work of its invocation. */
const throttlingFailsAll: Sabotage = {
  ports: (ports, { actor }) =>
    withGuard(ports, async (call) => {
      try {
        return await call();
      } catch (error) {
        actor.invocation.hasEnded = true;
        throw error;
      }
    }),
};

/** One throttled call delays all other work of its invocation. */
const throttlingHoldsUpAll = (): Sabotage => {
  const waits = new WeakMap<Actor['invocation'], Promise<void>>();
  return {
    ports: (ports, { actor }) =>
      withGuard(ports, async (call) => {
        await waits.get(actor.invocation);
        try {
          return await call();
        } catch (error) {
          waits.set(actor.invocation, ports.clock.sleep(10 * SECOND));
          throw error;
        }
      }),
  };
};

/** Two messages whose retries coincide in one invocation; the partition of one is throttled for a while. */
const withOneThrottledPartition = (scenario: Scenario): Scenario => {
  const [message] = scenario.messages;
  if (message === undefined) throw new RangeError('the scenario has no message');
  const plain = { ...message, at: 0, ttlSeconds: undefined, delaySeconds: undefined, repeats: [] };
  return {
    ...withoutFaults(scenario),
    settings: { ...scenario.settings, schedulerThresholdSeconds: 90 },
    messages: ['m0', 'm1'].map((id) => ({ ...plain, id })),
    subscriptions: scenario.subscriptions.map((one) => ({
      ...one,
      at: -HOUR,
      interests: {},
      confirmation: undefined,
      maxPerSecond: undefined,
      policy: { retries_with_no_delay: 0, minimum_delay_retries: 5, minimum_delay: 4, maximum_delay: 4 },
      answers: { first: [], then: { takesMs: 100, response: { status: 503 } } },
    })),
    changes: [],
    interventions: [],
    throttles: [{ partition: bucketOf('m0'), from: SECOND, to: 30 * SECOND }],
  };
};

type Planned = (scenario: Scenario) => boolean;

const always: Planned = () => true;
const isMoved: Planned = ({ changes }) => changes.some(({ kind }) => kind === 'subscription_url');
const hasOtherInterests: Planned = ({ changes }) =>
  changes.some(({ kind }) => kind === 'subscription_interests');
const isErased: Planned = ({ interventions }) => interventions.some(({ kind }) => kind === 'erase');

const MUTANTS: readonly [string, Sabotage, string, Planned][] = [
  [
    'whose retries read a cache: they call the previous URL',
    retriesReadCache,
    'only_active_subscriptions',
    isMoved,
  ],
  [
    'whose repeats use the current filters: they reach subscriptions that did not match',
    formerInterestsForgotten,
    'only_matches_get_a_message',
    hasOtherInterests,
  ],
  ['that skips a subscription with an undecided filter', undecidedLeftOut, 'everything_ends', always],
  [
    'that sends messages to an unconfirmed subscription',
    confirmationNotAwaited,
    'only_active_subscriptions',
    always,
  ],
  [
    'whose retries call a subscription that is marked for deletion',
    marksIgnored,
    'only_active_subscriptions',
    always,
  ],
  ['that signs with a secret that was replaced', openedSecretsKept(), 'signed_by_its_secrets', always],
  ['that treats an unreadable subscription as deleted', unreadableIsAbsent, 'cancelled_for_a_reason', always],
  [
    'in which one throttled call fails all work of an invocation',
    throttlingFailsAll,
    'duplicates_are_explained',
    always,
  ],
  [
    'that counts an internal fault before a request as a lost request',
    leaseKeptOnFault,
    'lost_counts_are_true',
    always,
  ],
  [
    'that ignores an erasure when it stores a body: a retry finds no body',
    erasureIgnored,
    'the_body_is_kept',
    isErased,
  ],
];

describe('the simulation catches a pipeline', () => {
  it('in which one throttled partition delays the others', async () => {
    expect(await isCaught(throttlingHoldsUpAll(), 'nothing_late', 300, withOneThrottledPartition)).toBe(true);
  });

  it('and finds nothing in the correct one when one partition is throttled', async () => {
    expect(await findingsIn(50, withOneThrottledPartition)).toEqual([]);
  });

  it.each(MUTANTS)('%s', async (_, sabotage, invariant, isPlanned) => {
    expect(await isCaught(sabotage, invariant, 2_000, onlyWith(isPlanned))).toBe(true);
  });
});
