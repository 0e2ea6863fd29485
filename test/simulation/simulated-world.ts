import { groupOf, type FirstJob, type WakeUp } from '../../shared/domain/delivery/job.ts';
import { invocationMs } from '../../shared/domain/retry/attempt-duration.ts';
import { visibilityTimeout } from '../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS, type Operation } from '../../shared/domain/recovery/operation.ts';
import type { Recovery } from '../../shared/domain/recovery/recovery.ts';
import type { RecoveryPage } from '../../shared/ports/deliveries.ts';
import { deliveryStore, type DeliveryStore, messageStore, type MessageStore } from './delivery-store.ts';
import { injectFaults, type Faults, type MessageFault, queueFaults, scheduleLateness } from './faults.ts';
import { emptyHistory, type Actor, type History } from './history.ts';
import { type Published, START, type QueueName, type Scenario, type SimulatedSettings } from './scenario.ts';
import type { StepPorts } from './ports.ts';
import { simulatedReceivers, type Receivers } from './receivers.ts';
import { subscriptionStore, type SubscriptionStore } from './subscription-store.ts';
import { virtualClock, type VirtualClock } from '../support/in-memory/virtual-clock.ts';
import { modelledScheduler, type ModelledScheduler } from '../support/modelled-scheduler.ts';
import { modelledSqs, type ModelledSqs, type Receipt, type SqsOptions } from '../support/modelled-sqs.ts';
import type { CountingWindow } from '../../shared/domain/subscription/back-pressure.ts';
import type { Line } from '../../shared/domain/subscription/rate-limit.ts';

export type Work = FirstJob | WakeUp;

export type SabotageContext = {
  actor: Actor;
  acknowledge: () => void;
  deliveries: DeliveryStore;
  countMatch: MessageStore['countMatch'];
};

/** A fault built into the pipeline, to prove that the invariants find it. */
export type Sabotage = {
  /** Replaces the ports of a step. */
  ports?: (ports: StepPorts, context: SabotageContext) => StepPorts;
  /** Replaces the content of a received wake-up. */
  work?: (work: Work, deliveries: DeliveryStore) => Work;
  /** Replaces the message group of a job or wake-up. */
  groupOf?: (work: Work) => string | undefined;
};

export type RunOptions = { excluded?: ReadonlySet<string>; traced?: boolean; sabotage?: Sabotage };

/** Everything outside the functions: time, services and receivers. */
export type SimulatedWorld = {
  scenario: Scenario;
  time: VirtualClock;
  faults: Faults;
  history: History;
  sabotage: Sabotage;
  deliveries: DeliveryStore;
  messages: MessageStore;
  subscriptions: SubscriptionStore;
  /** The rate-limit lines: until when slots are reserved. */
  lines: Map<string, Line>;
  /** What function instances have counted of watched subscriptions. */
  countingWindows: Map<string, CountingWindow>;
  /** What requests to each subscription lately found. */
  receivers: Receivers;
  /** The current recovery records. */
  recoveries: Map<string, Recovery>;
  /** The pages that recoveries stored, by queue and id. */
  recoveryPages: Map<string, Map<number, RecoveryPage>>;
  queues: {
    ingress: ModelledSqs<Published>;
    delivery: ModelledSqs<Work>;
    retry: ModelledSqs<Work>;
    operation: ModelledSqs<Operation>;
  };
  scheduler: ModelledScheduler<WakeUp>;
  /** The current settings. */
  settings: SimulatedSettings;
};

/** The functions. Each call is over when its invocation has returned, or timed out after a crash. */
export type Consumers = {
  dispatch: (batch: readonly Receipt<Published>[]) => Promise<void>;
  deliver: (batch: readonly Receipt<Work>[]) => Promise<void>;
  operate: (batch: readonly Receipt<Operation>[]) => Promise<void>;
};

/** The timeout of operate, in milliseconds. */
export const OPERATE_MS = 1000 * OPERATE_TIMEOUT_SECONDS;

/** The timeout of dispatch and deliver, in milliseconds (shared/domain/retry/attempt-duration.ts). */
export const timeoutMs = (settings: SimulatedSettings): number => invocationMs(settings.attemptTimeoutMs);

type QueueOptions<T> = Pick<SqsOptions<T>, 'groupOf' | 'scaling'> & {
  /** @default the timeout of dispatch and deliver */
  functionMs?: () => number;
};

export const simulatedWorld = (
  scenario: Scenario,
  options: RunOptions,
  consumersOf: (world: SimulatedWorld) => Consumers,
): SimulatedWorld => {
  const time = virtualClock(START);
  const faults = injectFaults(scenario, time, options.excluded ?? new Set());
  const history = emptyHistory(options.traced ?? false);
  const messages = messageStore(time, history);
  const deliveries = deliveryStore({ time, faults, history, messages });
  const subscriptions = subscriptionStore(time, scenario.pageSize);
  const queue = <T>(
    name: QueueName,
    sending: readonly MessageFault[],
    consume: (batch: readonly Receipt<T>[]) => Promise<void>,
    { functionMs = () => timeoutMs(world.settings), ...fairness }: QueueOptions<T> = {},
  ): ModelledSqs<T> =>
    modelledSqs<T>({
      name,
      timeline: time,
      visibilityMs: () => 1000 * visibilityTimeout(functionMs() / 1000),
      consume,
      faults: queueFaults(name, scenario, { faults, sending }),
      ...fairness,
    });
  const { concurrency } = scenario;
  const fair = {
    groupOf: options.sabotage?.groupOf ?? groupOf,
    ...(concurrency !== undefined && { scaling: { first: concurrency, most: concurrency } }),
  };
  const world: SimulatedWorld = {
    scenario,
    time,
    faults,
    history,
    deliveries,
    sabotage: options.sabotage ?? {},
    messages,
    subscriptions,
    recoveries: new Map(),
    recoveryPages: new Map(),
    lines: new Map(),
    countingWindows: new Map(),
    receivers: simulatedReceivers(
      { time, history, deliveries },
      new Map(scenario.subscriptions.map(({ id, answers }) => [id, answers])),
    ),
    queues: {
      ingress: queue<Published>('ingress', ['duplicated', 'delayed'], (batch) => consumers.dispatch(batch)),
      delivery: queue<Work>('delivery', ['duplicated', 'delayed'], (batch) => consumers.deliver(batch), fair),
      retry: queue<Work>(
        'retry',
        ['duplicated', 'delayed', 'delayed', 'lost'],
        (batch) => consumers.deliver(batch),
        fair,
      ),
      operation: queue<Operation>(
        'operation',
        ['duplicated', 'delayed'],
        (batch) => consumers.operate(batch),
        { functionMs: () => OPERATE_MS },
      ),
    },
    scheduler: modelledScheduler<WakeUp>({
      timeline: time,
      lateMs: (wakeUp) => scheduleLateness(faults, wakeUp),
      fire: (wakeUp) => {
        world.queues.retry.send(wakeUp, 0, workName(wakeUp));
      },
    }),
    settings: scenario.settings,
  };
  const consumers = consumersOf(world);
  return world;
};

export const workName = (work: Work): string => {
  const { messageId } = work.key;
  if (work.kind === 'chunk') return `chunk ${messageId}/${work.key.bucket}/${work.key.chunk}`;
  return `${work.kind === 'job' ? 'job' : 'wake'} ${messageId}/${work.key.subscriptionId}/${work.attempt}`;
};

export const operationName = (operation: Operation): string => {
  switch (operation.kind) {
    case 'recovery':
      return `recovery ${operation.recoveryId}`;
    case 'cancellation':
      return `cancellation ${operation.subscriptionId ?? 'of the queue'}`;
    case 'moving_up':
      return `moving up ${operation.subscriptionId}`;
    case 'restoration':
      return 'restoration of the queue';
    case 'pause':
      return `pause ${operation.subscriptionId ?? 'of the queue'} ${operation.version}`;
  }
};
