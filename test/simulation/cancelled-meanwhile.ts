import { SECOND, type Intervention, type PlannedSubscription, type Scenario } from './scenario.ts';

/** How long after its publication a message is due. */
const DUE_AFTER_MS = 60 * SECOND;

/** Of three subscribers one is not to be asked at all, one is being asked, and of one nothing is said. */
const CANCELLED_AFTER_MS = [DUE_AFTER_MS / 2, DUE_AFTER_MS + 3 * SECOND, undefined];

/** Deliveries that are cancelled by hand before their first attempt, or in the middle of one that is to succeed. */
export const cancelledMeanwhile = (scenario: Scenario): Scenario => {
  const subscriptions = scenario.subscriptions.slice(0, 2).flatMap((one) =>
    CANCELLED_AFTER_MS.map((_, index): PlannedSubscription => ({
      ...one,
      id: `${one.id}-${index}`,
      answers: {
        first: [{ takesMs: (index + 1) * 3 * SECOND, says: { status: 200 } }],
        then: { takesMs: 3 * SECOND, says: { status: 500 } },
      },
    })),
  );
  const messages = scenario.messages.map((message) => ({
    ...message,
    ttlSeconds: undefined,
    delaySeconds: DUE_AFTER_MS / SECOND,
  }));
  const interventions = messages.flatMap(({ id: messageId, at }) =>
    subscriptions.flatMap(({ id: subscriptionId }, index): Intervention[] => {
      const afterMs = CANCELLED_AFTER_MS[index % CANCELLED_AFTER_MS.length];
      return afterMs === undefined ? [] : [{ at: at + afterMs, kind: 'cancel', messageId, subscriptionId }];
    }),
  );
  return {
    ...scenario,
    settings: { ...scenario.settings, attemptTimeoutMs: 15 * SECOND, firstAttemptsPerJob: 10 },
    subscriptions,
    messages,
    changes: [],
    interventions,
  };
};
