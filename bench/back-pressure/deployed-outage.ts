import { setTimeout } from 'node:timers/promises';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startOneSubscriber } from './deployed.ts';

/** An outage on the local AWS, as the subscriber saw it. */
export type DeployedOutage = {
  messages: number;
  minutes: number;
  requestsDuring: number;
  /** Seconds after the outage. */
  firstSuccess: number;
  drained: number;
  exhausted: number;
  /** Messages that are neither delivered nor exhausted. */
  lost: number;
  /** Requests with a message that had been delivered. */
  duplicates: number;
  /** Requests in each step of ten seconds since the first publish, during the outage and after it. */
  steps: readonly number[];
};

const SECOND = 1_000;
const STEP_MS = 10_000;
const MINUTE = 60 * SECOND;

const MESSAGES = { full: 5_000, short: 500 };
const OUTAGE_MS = { full: 10 * MINUTE, short: MINUTE };

/** Before the outage: then the functions are warm. */
const UP_MS = 10 * SECOND;

/** After the outage. Ends a measurement in which deliveries are lost. */
const LONGEST_MS = 30 * MINUTE;

export function faultsOfOutage({ exhausted, lost }: DeployedOutage): string[] {
  return [
    ...(exhausted > 0 ? [`${exhausted} deliveries are exhausted.`] : []),
    ...(lost > 0 ? [`${lost} deliveries are lost.`] : []),
  ];
}

/** Publishes evenly to a receiver that answers 503 during an outage of the same length, as `measureOutage` does. */
export async function measureDeployedOutage(length: Length, means: BenchMeans): Promise<DeployedOutage> {
  const { signal, say } = means;
  const messages = MESSAGES[length];
  const { receiver, publishEvenly, untilEnded } = await startOneSubscriber(means, {});
  const startedAt = Date.now();
  const [downAt, upAt] = [startedAt + UP_MS, startedAt + UP_MS + OUTAGE_MS[length]];
  const delivered = new Map<string, number>();
  let duplicates = 0;
  receiver.script('/', ({ headers, arrivedAt }) => {
    if (arrivedAt >= downAt && arrivedAt < upAt) return { status: 503 };
    const id = String(headers['webhook-id']);
    if (delivered.has(id)) duplicates += 1;
    else delivered.set(id, arrivedAt);
    return { status: 200 };
  });
  const perSecond = messages / (OUTAGE_MS[length] / SECOND);
  const untilUp = async (): Promise<void> => {
    for (let at = downAt; at <= upAt; at += MINUTE) {
      await setTimeout(Math.max(0, at - Date.now()), undefined, { signal });
      say(`${receiver.received().length} requests`);
    }
  };
  await Promise.all([publishEvenly(messages, perSecond), untilUp()]);
  say('The subscriber is up again.');
  const exhausted = await untilEnded(messages, () => delivered.size, LONGEST_MS);
  const times = receiver.received().map(({ arrivedAt }) => arrivedAt);
  const byStep = Map.groupBy(times, (at) => Math.floor((at - startedAt) / STEP_MS));
  return {
    messages,
    minutes: OUTAGE_MS[length] / MINUTE,
    requestsDuring: times.filter((at) => at >= downAt && at < upAt).length,
    firstSuccess: (Math.min(...times.filter((at) => at >= upAt)) - upAt) / SECOND,
    drained: (Math.max(...delivered.values()) - upAt) / SECOND,
    exhausted,
    lost: messages - delivered.size - exhausted,
    duplicates,
    steps: Array.from({ length: Math.max(...byStep.keys()) + 1 }, (_, step) => byStep.get(step)?.length ?? 0),
  };
}
