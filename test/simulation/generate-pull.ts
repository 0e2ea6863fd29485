import type { PlannedChange, Scenario } from './scenario.ts';

/** Changes after which what waits is still received, or cancelled by operate. */
const KEPT: ReadonlySet<PlannedChange['kind']> = new Set([
  'queue_policy',
  'subscription_policy',
  'subscription_interests',
  'subscription_secret',
  'subscription_deleted',
  'settings',
]);

/** The scenario, in which every second subscription is received by pull. */
export const withPull = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((subscription, index) =>
    index % 2 === 0
      ? {
          ...subscription,
          pull: true,
          maxPerSecond: undefined,
          confirmation: undefined,
          ttlSeconds: undefined,
          failures: 0,
        }
      : subscription,
  ),
  changes: scenario.changes.filter(({ kind }) => KEPT.has(kind)),
  confirmsSubscriptions: false,
});
