import * as z from 'zod';
import type { PressureState, Queue, Subscription } from './subscription.ts';

/** Which back-pressure is turned on. None by default: each delivery follows its own policy. */
export type PaceSwitches = {
  /** Slow all requests down to what the subscriber takes. A 429 is retried. */
  adaptToThrottling: boolean;
  /** While the subscriber is down, send one probe at a time. */
  holdWhileDown: boolean;
};

/** The switches of a deployment. `backPressure` was the name of both. */
export function switchesOfDeployment({
  backPressure,
  adaptToThrottling = backPressure,
  holdWhileDown = backPressure,
}: {
  backPressure: boolean;
  adaptToThrottling?: boolean | undefined;
  holdWhileDown?: boolean | undefined;
}): PaceSwitches {
  return { adaptToThrottling, holdWhileDown };
}

/** Metadata of a queue that sets a switch for its subscriptions. */
export const queueSwitchFields = {
  _adapt_to_throttling: z
    .boolean()
    .describe('`adapt_to_throttling` of the subscriptions that do not set it.')
    .exactOptional(),
  _hold_while_down: z
    .boolean()
    .describe('`hold_while_down` of the subscriptions that do not set it.')
    .exactOptional(),
};

/** The nearest switch that is set: the subscription's, then the queue's, then the deployment's. */
export function paceSwitchesOf(
  {
    queue,
    subscription,
  }: { queue: Pick<Queue, 'metadata'> | undefined; subscription: Pick<Subscription, 'options'> },
  deployment: PaceSwitches,
): PaceSwitches {
  const { adapt_to_throttling, hold_while_down } = subscription.options;
  return {
    adaptToThrottling:
      adapt_to_throttling ?? ofQueue('_adapt_to_throttling', queue) ?? deployment.adaptToThrottling,
    holdWhileDown: hold_while_down ?? ofQueue('_hold_while_down', queue) ?? deployment.holdWhileDown,
  };
}

/** Ignores an invalid value, which earlier versions stored unchecked. */
function ofQueue(
  name: keyof typeof queueSwitchFields,
  queue: Pick<Queue, 'metadata'> | undefined,
): boolean | undefined {
  const parsed = queueSwitchFields[name].safeParse(queue?.metadata[name]);
  return parsed.success ? parsed.data : undefined;
}

/** Whether a switch asks for a subscription's back-pressure, if it has any. Both can lead to probes. */
export function isSwitchedOn(
  { state }: PressureState,
  { adaptToThrottling, holdWhileDown }: PaceSwitches,
): boolean {
  switch (state) {
    case 'slowed':
      return adaptToThrottling;
    case 'watched':
    case 'held':
    case 'ramping':
      return adaptToThrottling || holdWhileDown;
    case 'ending':
    case 'ended':
      return true;
  }
}
