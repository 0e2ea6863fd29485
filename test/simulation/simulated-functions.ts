import { lazyValidation } from '../../shared/adapters/pattern/lazy-validation.ts';
import { inMemoryEventTypes } from '../support/in-memory/in-memory-event-types.ts';
import { ownerFor, type DeliverContext } from '../../functions/deliver/context.ts';
import { jobOfMember } from '../../shared/domain/delivery/job.ts';
import { deliver } from '../../functions/deliver/deliver.ts';
import { dispatch } from '../../functions/dispatch/dispatch.ts';
import { operate } from '../../functions/operate/operate.ts';
import type { Operation } from '../../shared/domain/recovery/operation.ts';
import { healthWrites } from '../../functions/deliver/health.ts';
import { memoryBudget } from '../../functions/deliver/memory-budget.ts';
import { reconcile } from '../../functions/reconcile/reconcile.ts';
import type { Receipt } from '../support/modelled-sqs.ts';
import { deliveryName, type Actor, type Invocation } from './history.ts';
import { actorOf, machinesOf, portsOf, type Machine, type RunningInvocation } from './machines.ts';
import { type Published, MINUTE, SECOND } from './scenario.ts';
import { OPERATE_MS, timeoutMs, type Consumers, type SimulatedWorld, type Work } from './simulated-world.ts';

const USER_AGENT = 'Posthaste/simulation';
/**
 * The functions as Lambda runs them: records of a batch run concurrently, end at the timeout and are acknowledged
 * together.
 */
export const simulatedFunctions = (world: SimulatedWorld): Consumers => {
  const machineFor = machinesOf(world);

  const invoke = <T>(
    batch: readonly Receipt<T>[],
    run: (receipt: Receipt<T>, running: RunningInvocation) => Promise<void>,
    functionMs = timeoutMs(world.settings),
  ): Promise<void> => {
    const invocation: Invocation = { hasEnded: false, faults: [] };
    const endsAt = world.time.now() + functionMs;
    const timeout = new Promise<void>((resolve) => {
      world.time.at(endsAt, () => {
        invocation.hasEnded = true;
        resolve();
      });
    });
    const running = { world, machine: machineFor(batch[0]?.label ?? ''), invocation, endsAt };
    const results = batch.map(async (receipt): Promise<Receipt<T>[]> => {
      try {
        await run(receipt, running);
        return [receipt];
      } catch (error) {
        world.history.trace?.push(`${world.time.now()} ${receipt.label} failed: ${String(error)}`);
        if (!invocation.hasEnded) receipt.returnSooner();
        return [];
      }
    });
    const returned = Promise.all(results).then((done) => {
      if (!invocation.hasEnded) for (const receipt of done.flat()) receipt.acknowledge();
    });
    return Promise.race([returned, timeout]);
  };

  return {
    dispatch: (batch) => invoke(batch, runDispatch),
    deliver: (batch) => {
      // Each invocation gets a new instance; earlier health notes would concern no attempt of this one.
      const machine = machineFor(batch[0]?.label ?? '');
      const { clock } = machine;
      const instance = {
        healthWrites: healthWrites(clock),
        pendingCounts: machine.pendingCounts,
        memory: memoryBudget(world.time),
      };
      return invoke(batch, (receipt, running) => runDeliver(receipt, running, instance));
    },
    operate: async (batch) => {
      await Promise.all(batch.map((receipt) => invoke([receipt], runOperate, OPERATE_MS)));
    },
  };
};

/** Messages are checked before anything is written, so that faults of the check add no sequences. */
const NO_EVENT_TYPES = { eventTypes: inMemoryEventTypes(), validateEvent: lazyValidation() };

const runDispatch = async (receipt: Receipt<Published>, running: RunningInvocation): Promise<void> => {
  const { world, machine } = running;
  const { message, version, delaySeconds, sentAt } = receipt.value;
  const actor = { ...actorOf(running, receipt.label, receipt.label), copy: receipt.value };
  const ports = portsOf(world, machine, actor, receipt.acknowledge);
  const hasTime = (): boolean => running.endsAt - world.time.now() >= timeoutMs(actor.settings) / 2;
  await dispatch(
    {
      ports: { ...ports, ...NO_EVENT_TYPES },
      settings: { ...actor.settings, eventValidation: 'off' },
      hasTime,
    },
    { ok: true, message, version, ...(delaySeconds === undefined ? {} : { delaySeconds }) },
    { sqsMessageId: message.id, body: message.data, attributes: {}, sentAt },
  );
};

/** State shared by the messages of a function instance. */
type Instance = Pick<DeliverContext, 'healthWrites' | 'pendingCounts' | 'memory'>;

/** Too short for any attempt. */
const SHORT_MS = 3 * SECOND;

const runDeliver = async (
  receipt: Receipt<Work>,
  running: RunningInvocation,
  instance: Instance,
): Promise<void> => {
  const { world, machine } = running;
  const work = world.sabotage.work?.(receipt.value, world.deliveries) ?? receipt.value;
  const { receiveCount } = receipt;
  const owner = ownerFor(String(receiveCount), receipt.id);
  const actor: Actor = {
    ...actorOf(running, receipt.label, owner),
    work: {
      ...subjectOf(receipt.value),
      isRepeated: receiveCount > 1 || followsLostAttempt(receipt.value),
      carriesMessage: receipt.value.kind !== 'wake_up',
      isAtOnce: receipt.value.kind === 'wake_up' && receipt.value.isUrgent === true,
    },
  };
  const short = world.faults.strikeMessage(`${receipt.label} short`, ['short_of_time']);
  const endsAt = short === undefined ? running.endsAt : world.time.now() + SHORT_MS;
  const context: DeliverContext = {
    ports: portsOf(world, machine, actor, receipt.acknowledge),
    settings: {
      ...actor.settings,
      subscriptionCacheMs: actor.settings.cacheSeconds * SECOND,
      userAgent: USER_AGENT,
      leavesArchives: true,
    },
    ...instance,
  };
  const remainingMs = () => endsAt - world.time.now();
  const received = { id: receipt.id, text: '{}', receiveCount, owner, remainingMs };
  await deliver(context, work, received);
};

const runOperate = async (receipt: Receipt<Operation>, running: RunningInvocation): Promise<void> => {
  const { world, machine, endsAt } = running;
  const actor = actorOf(running, receipt.label, receipt.label);
  const ports = portsOf(world, machine, actor, receipt.acknowledge);
  await operate({ ports, settings: actor.settings }, receipt.value, () => endsAt - world.time.now());
};

const followsLostAttempt = (work: Work): boolean => work.kind === 'job' && work.lost !== undefined;

const subjectOf = (work: Work): { deliveries: readonly string[]; attempt: number } =>
  work.kind === 'chunk'
    ? { deliveries: work.subscriptionIds.map((id) => deliveryName(jobOfMember(work, id).key)), attempt: 1 }
    : { deliveries: [deliveryName(work.key)], attempt: work.attempt };

const RECONCILE_MS = MINUTE;

/** Runs reconcile every minute, but skips minutes in which nothing can be overdue, so that long waits are cheap. */
export const reconcileEveryMinute = (world: SimulatedWorld): { look: () => void } => {
  const machineFor = machinesOf(world);
  const ticks = new Set<number>();

  const look = (): void => {
    const earliest = world.deliveries.earliest('overdue');
    if (earliest === undefined) return;
    const from = Math.max(
      world.time.now() + 1,
      earliest + world.settings.overdueAfterMs - world.scenario.skewMs,
    );
    const tick = Math.ceil(from / MINUTE) * MINUTE;
    if (ticks.has(tick)) return;
    ticks.add(tick);
    world.time.at(tick, () => {
      ticks.delete(tick);
      runReconcile(world, machineFor(`reconcile ${tick}`), tick);
      look();
    });
  };
  return { look };
};

const runReconcile = (world: SimulatedWorld, machine: Machine, tick: number): void => {
  const invocation: Invocation = { hasEnded: false, faults: [] };
  const endsAt = tick + RECONCILE_MS;
  world.time.at(endsAt, () => {
    invocation.hasEnded = true;
  });
  const name = `reconcile ${tick}`;
  const actor = actorOf({ world, machine, invocation, endsAt }, name, name);
  const ports = portsOf(world, machine, actor, () => undefined);
  reconcile({ ports, settings: actor.settings }, () => endsAt - world.time.now()).catch((error: unknown) => {
    world.history.trace?.push(`${world.time.now()} ${name} failed: ${String(error)}`);
  });
};
