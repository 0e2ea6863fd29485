import { findingsIn, onlyWith, isCaught, withoutFaults } from './is-caught.ts';
import { leaseKeptOnFault } from './sabotage.ts';
import {
  erasureIgnored,
  confirmationNotAwaited,
  formerInterestsForgotten,
  marksIgnored,
  openedSecretsKept,
  retriesReadCache,
  throttlingFailsAll,
  throttlingHoldsUpAll,
  undecidedLeftOut,
  unreadableIsAbsent,
} from './sabotages.ts';
import { bucketOf } from './partition.ts';
import { HOUR, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

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
