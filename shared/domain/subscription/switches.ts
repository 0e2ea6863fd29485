import { queueMember } from './queue-metadata.ts';
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

/** The nearest switch that is set: the subscription's, then the queue's, then the deployment's. */
export function choosePaceSwitches(
  {
    queue,
    subscription,
  }: { queue: Pick<Queue, 'metadata'> | undefined; subscription: Pick<Subscription, 'options'> },
  deployment: PaceSwitches,
): PaceSwitches {
  const { adapt_to_throttling, hold_while_down } = subscription.options;
  const metadata = queue?.metadata;
  return {
    adaptToThrottling:
      adapt_to_throttling ?? queueMember('_adapt_to_throttling', metadata) ?? deployment.adaptToThrottling,
    holdWhileDown: hold_while_down ?? queueMember('_hold_while_down', metadata) ?? deployment.holdWhileDown,
  };
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
