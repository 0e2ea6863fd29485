import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Actor } from './history.ts';
import type { StepPorts } from './ports.ts';
import { withWrite } from './sabotage.ts';
import { SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

type Reads = Pick<Subscriptions, 'page' | 'find'>;

/** The ports with other answers of what subscriptions there are. */
const withReads = (ports: StepPorts, reads: (subscriptions: Reads) => Partial<Reads>): StepPorts => {
  const { subscriptions } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (...asked) => subscriptions.page(...asked),
      find: (...asked) => subscriptions.find(...asked),
      disable: (...given) => subscriptions.disable(...given),
      changeHealth: (...given) => subscriptions.changeHealth(...given),
      ...reads(subscriptions),
    },
  };
};

type Overlooked = Pick<Subscription, 'formerly' | 'unconfirmed' | 'deletedAt'>;

/** Every subscription is read without something that it says. */
const readWithout = (overlook: (seen: Overlooked) => void): Sabotage => {
  const seenAs = <Of extends Overlooked>(subscription: Of): Of => {
    const seen = { ...subscription };
    overlook(seen);
    return seen;
  };
  return {
    ports: (ports) =>
      withReads(ports, (subscriptions) => ({
        page: async (...asked) => {
          const page = await subscriptions.page(...asked);
          return page && { ...page, subscriptions: page.subscriptions.map(seenAs) };
        },
        find: async (...asked) => {
          const { subscription, ...found } = await subscriptions.find(...asked);
          return { ...found, subscription: subscription && seenAs(subscription) };
        },
      })),
  };
};

/** A repeat judges by what subscriptions ask for now. */
export const formerInterestsForgotten = readWithout((seen) => delete seen.formerly);

/** One that has yet to confirm is as good as any other. */
export const confirmationNotAwaited = readWithout((seen) => delete seen.unconfirmed);

/** One that is marked for deletion is there until it is removed. */
export const marksIgnored = readWithout((seen) => delete seen.deletedAt);

/** A filter that comes to no decision says no. */
export const undecidedLeftOut: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      page: async (...asked) => {
        const page = await subscriptions.page(...asked);
        const isDecided = ({ options }: Pick<Subscription, 'options'>) =>
          !JSON.stringify(options.filter ?? {}).includes('"l":');
        return page && { ...page, subscriptions: page.subscriptions.filter(isDecided) };
      },
    })),
};

/** What cannot be read is taken for absent. */
export const unreadableIsAbsent: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      find: async (...asked) => {
        try {
          return await subscriptions.find(...asked);
        } catch {
          return { queue: undefined, subscription: undefined };
        }
      },
    })),
};

/** A retry goes by what its machine read some seconds ago. */
export const retriesReadCache: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({ find: (queue, id) => subscriptions.find(queue, id, 'cached') })),
};

/** A secret that was opened once is used for its subscription from then on. */
export const openedSecretsKept = (): Sabotage => {
  const opened = new Map<string, ReturnType<StepPorts['secretOpener']['open']>>();
  return {
    ports: (ports) => ({
      ...ports,
      secretOpener: {
        open: (owner, sealed) => {
          const secret = opened.get(owner.subscriptionId) ?? ports.secretOpener.open(owner, sealed);
          opened.set(owner.subscriptionId, secret);
          return secret;
        },
      },
    }),
  };
};

/** One call that is throttled fails all that its function has in hand. */
export const throttlingFailsAll: Sabotage = {
  ports: (ports, { actor }) =>
    withWrite(ports, async (transition) => {
      try {
        return await ports.deliveries.write(transition);
      } catch (error) {
        actor.invocation.dead = true;
        throw error;
      }
    }),
};

/** One call that is throttled holds up all that its function has in hand. */
export const throttlingHoldsUpAll = (): Sabotage => {
  const waits = new WeakMap<Actor['invocation'], Promise<void>>();
  return {
    ports: (ports, { actor }) =>
      withWrite(ports, async (transition) => {
        await waits.get(actor.invocation);
        try {
          return await ports.deliveries.write(transition);
        } catch (error) {
          waits.set(actor.invocation, ports.clock.sleep(10 * SECOND));
          throw error;
        }
      }),
  };
};
