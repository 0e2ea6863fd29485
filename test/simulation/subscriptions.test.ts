import { findingsIn, having, isCaught, withoutFaults } from './is-caught.ts';
import { leaseKeptOnFault } from './sabotage.ts';
import { erasureUnheard } from './sabotage-messages.ts';
import {
  confirmationNotAwaited,
  formerInterestsForgotten,
  marksIgnored,
  openedSecretsKept,
  retriesReadCache,
  throttlingFailsAll,
  throttlingHoldsUpAll,
  undecidedLeftOut,
  unreadableIsAbsent,
} from './sabotage-subscriptions.ts';
import { bucketOf } from './partition.ts';
import { HOUR, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

/** Two messages whose retries fall together, and whose functions share them; of one the partition is throttled for a while. */
const besideOneThrottled = (scenario: Scenario): Scenario => {
  const [message] = scenario.messages;
  if (message === undefined) throw new RangeError('There is no message.');
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
      answers: { first: [], then: { takesMs: 100, says: { status: 503 } } },
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
    'whose retries read a cache: they go to where the subscriber was',
    retriesReadCache,
    'only_who_is_there',
    isMoved,
  ],
  [
    'whose repeats judge by the filters of today: they go to whom the message was not for',
    formerInterestsForgotten,
    'only_members_get_a_message',
    hasOtherInterests,
  ],
  [
    'that leaves out a subscription whose filter comes to no decision',
    undecidedLeftOut,
    'everything_ends',
    always,
  ],
  [
    'that sends messages to a subscription before it has confirmed',
    confirmationNotAwaited,
    'only_who_is_there',
    always,
  ],
  [
    'whose retries go to a subscription that is marked for deletion',
    marksIgnored,
    'only_who_is_there',
    always,
  ],
  ['that signs with a secret that was replaced', openedSecretsKept(), 'signed_by_its_secrets', always],
  ['that takes what it could not read for absent', unreadableIsAbsent, 'cancelled_for_a_reason', always],
  [
    'where one throttled call fails all that a function has in hand',
    throttlingFailsAll,
    'duplicates_are_explained',
    always,
  ],
  [
    'that counts a fault of ours before a request as a request that may have been made',
    leaseKeptOnFault,
    'lost_is_true',
    always,
  ],
  [
    'that does not hear of an erasure where it would keep a body: it looks for one that is gone',
    erasureUnheard,
    'the_body_is_kept',
    isErased,
  ],
];

describe('the simulation catches a pipeline', () => {
  it('where one throttled partition holds up the others', async () => {
    expect(await isCaught(throttlingHoldsUpAll(), 'nothing_late', 100, besideOneThrottled)).toBe(true);
  });

  it('and not one that is right, where one partition is throttled', async () => {
    expect(await findingsIn(50, besideOneThrottled)).toEqual([]);
  });

  it.each(MUTANTS)('%s', async (_, sabotage, invariant, isPlanned) => {
    expect(await isCaught(sabotage, invariant, 2_000, having(isPlanned))).toBe(true);
  });
});
