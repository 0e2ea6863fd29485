import type { HealthChange } from '../../shared/domain/subscription/health.ts';
import { DAY } from './scenario.ts';
import type { StepPorts } from './ports.ts';
import type { Sabotage } from './simulated-world.ts';

/** The ports with a replaced reading or health change. The port's methods as own properties, which a proxy lacks. */
const withSubscriptions = (ports: StepPorts, change: Partial<StepPorts['subscriptions']>): StepPorts => {
  const { subscriptions: port } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (queue, freshness, after) => port.page(queue, freshness, after),
      find: (queue, id, freshness) => port.find(queue, id, freshness),
      disable: (queue, id, disabled, changedAt) => port.disable(queue, id, disabled, changedAt),
      changeHealth: (queue, id, wanted) => port.changeHealth(queue, id, wanted),
      ...change,
    },
  };
};

const withPressureChange = (changed: (change: HealthChange) => HealthChange | undefined): Sabotage => ({
  ports: (ports) =>
    withSubscriptions(ports, {
      changeHealth: (queue, id, wanted) => {
        const change = wanted.kind === 'pressure' ? changed(wanted) : wanted;
        return change === undefined
          ? Promise.resolve({ kind: 'refused', current: undefined })
          : ports.subscriptions.changeHealth(queue, id, change);
      },
    }),
});

/** The pressure is never recorded. */
export const refusalsIgnored = withPressureChange(() => undefined);

/** A probe that is answered does not end the outage. */
export const probesIgnored = withPressureChange((change) =>
  change.kind === 'pressure' && change.pressure.state === 'ramping' ? undefined : change,
);

/** A held subscriber lets all waiting deliveries try at once. */
export const manyProbes: Sabotage = {
  ports: (ports) => ({
    ...ports,
    rateLimits: {
      reserve: (limited, limit, wanted) =>
        ports.rateLimits.reserve(limited, { ...limit, longestMs: DAY, intervalMs: 1 }, wanted),
      returnSlot: (limited, slot) => ports.rateLimits.returnSlot(limited, slot),
    },
  }),
};
