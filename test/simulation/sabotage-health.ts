import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Sabotage } from './simulated-world.ts';
import type { StepPorts } from './ports.ts';

/** A port's methods, which a proxy keeps to itself. */
const portOf = (port: Subscriptions): Subscriptions => ({
  page: (...given) => port.page(...given),
  find: (queue, id, freshness) => port.find(queue, id, freshness),
  disable: (queue, id, disabled, changedAt) => port.disable(queue, id, disabled, changedAt),
  changeHealth: (queue, id, change) => port.changeHealth(queue, id, change),
});

const withHealth = (ports: StepPorts, changeHealth: Subscriptions['changeHealth']): StepPorts => ({
  ...ports,
  subscriptions: { ...portOf(ports.subscriptions), changeHealth },
});

/** Nobody takes note of a success. */
export const successUnnoted: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) =>
      change.kind === 'recover'
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : ports.subscriptions.changeHealth(queue, id, change),
    ),
};

/** Whatever an attempt went by, what it says is noted of the subscription as it is now. */
export const wentByUnminded: Sabotage = {
  ports: (ports) => {
    const port = ports.subscriptions;
    const changedAtNow = async (queue: string, id: string) => {
      const { subscription } = await port.find(queue, id, 'fresh');
      return subscription?.changedAt === undefined ? {} : { changedAt: subscription.changedAt };
    };
    return {
      ...ports,
      subscriptions: {
        ...portOf(port),
        disable: async (queue, id, disabled) =>
          port.disable(queue, id, disabled, (await changedAtNow(queue, id)).changedAt),
        changeHealth: async (queue, id, change) =>
          port.changeHealth(
            queue,
            id,
            change.kind === 'sent' ? change : { ...change, ...(await changedAtNow(queue, id)) },
          ),
      },
    };
  },
};

/** All failures count, however close together. */
export const burstsCounted: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) => {
      if (change.kind !== 'count') return ports.subscriptions.changeHealth(queue, id, change);
      const { since, failures } = change.failing;
      return ports.subscriptions.changeHealth(queue, id, { ...change, failing: { since, failures } });
    }),
};

/** What is to be told is taken off before it is sent. */
export const sentBeforeTold: Sabotage = {
  ports: (ports) =>
    withHealth(ports, async (queue, id, change) => {
      const result = await ports.subscriptions.changeHealth(queue, id, change);
      if (result.kind === 'refused' || change.kind === 'sent') return result;
      const { unsent } = result.subscription;
      if (unsent !== undefined) await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
      return result;
    }),
};
