import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Sabotage } from './simulated-world.ts';
import type { StepPorts } from './ports.ts';

/** The port's methods as own properties, which a proxy does not have. */
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

/** Successes do not change the health. */
export const successesIgnored: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) =>
      change.kind === 'recover'
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : ports.subscriptions.changeHealth(queue, id, change),
    ),
};

/** Health changes apply to the current subscription, even if the attempt read an older one. */
export const staleHealthAccepted: Sabotage = {
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

/** All failures count, even within one minute. */
export const burstsCounted: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) => {
      if (change.kind !== 'count') return ports.subscriptions.changeHealth(queue, id, change);
      const { since, failures } = change.failing;
      return ports.subscriptions.changeHealth(queue, id, { ...change, failing: { since, failures } });
    }),
};

/** A pending event is removed before it is sent. */
export const eventRemovedBeforeSending: Sabotage = {
  ports: (ports) =>
    withHealth(ports, async (queue, id, change) => {
      const result = await ports.subscriptions.changeHealth(queue, id, change);
      if (result.kind === 'refused' || change.kind === 'sent') return result;
      const { unsent } = result.subscription;
      if (unsent !== undefined) await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
      return result;
    }),
};
