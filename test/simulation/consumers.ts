import { answerReceived, type PullAnswer } from '../../functions/api/pull/answer.ts';
import { receiveDeliveries, type Received } from '../../functions/api/pull/receive.ts';
import { findAbsence } from '../../shared/domain/subscription/subscription.ts';
import { deliveryName } from './history.ts';
import { MINUTE, QUEUE, SECOND } from './scenario.ts';
import type { SimulatedApi } from './simulated-api.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { parseReceipt, type Receipt } from '../../functions/api/pull/answer.ts';

/** Consumers of a subscription that ask at the same time. */
const CONSUMERS = 2;

const LEASES_MS = [5 * SECOND, MINUTE, 10 * MINUTE];

/**
 * The consumers of all pull subscriptions. They ask every minute, but skip minutes in which nothing can wait. A consumer
 * acknowledges, refuses or forgets what it received, or crashes with all of it; some answers come too late.
 */
export const pullConsumers = (world: SimulatedWorld, api: SimulatedApi): { lookForWaiting: () => void } => {
  const { time, faults, history, scenario } = world;
  const ids = scenario.subscriptions.filter(({ pull }) => pull === true).map(({ id }) => id);
  const ticks = new Set<number>();

  const lookForWaiting = (): void => {
    const earliest = ids.length === 0 ? undefined : world.deliveries.earliest('waiting');
    if (earliest === undefined) return;
    const tick = Math.ceil(Math.max(time.now() + 1, earliest) / MINUTE) * MINUTE;
    if (ticks.has(tick)) return;
    ticks.add(tick);
    time.at(tick, () => {
      ticks.delete(tick);
      for (const id of ids)
        for (let consumer = 0; consumer < CONSUMERS; consumer += 1) ask(id, `${id} ${consumer} ${tick}`);
      lookForWaiting();
    });
  };

  const ask = (id: string, name: string): void => {
    const leaseMs = LEASES_MS[Math.floor(faults.chance(`lease ${name}`) * LEASES_MS.length)] ?? MINUTE;
    api.requestOnce(`receive ${name}`, async (context) => {
      const subscription = await context.registry.findSubscription(QUEUE, id);
      if (subscription === undefined || findAbsence(subscription, context.clock.now()) !== undefined) return;
      const settings = { ...context.settings, userAgent: 'Posthaste/simulation' };
      const received = await receiveDeliveries({ ...context, settings }, subscription, { max: 3, leaseMs });
      if (faults.chance(`crash ${name}`) < 0.15) return;
      for (const one of received) handle(one, leaseMs);
    });
  };

  const handle = ({ receipt: text }: Received, leaseMs: number): void => {
    const receipt = parseReceipt(text);
    if (receipt === undefined) throw new Error(`no receipt: ${text}`);
    const dice = faults.chance(`handle ${text}`);
    if (dice < 0.15) return;
    const afterMs = dice < 0.25 ? leaseMs + faults.chance(`late ${text}`) * 5 * MINUTE : dice * 4 * SECOND;
    const answer: PullAnswer =
      faults.chance(`answer ${text}`) < 0.5
        ? { kind: 'acknowledged' }
        : { kind: 'refused', detail: 'not now' };
    time.at(time.now() + afterMs, () => {
      send(receipt, answer);
    });
  };

  const send = (receipt: Receipt, answer: PullAnswer): void => {
    const { key, owner } = receipt;
    const delivery = deliveryName(key);
    const sent: (typeof history.pullAnswers)[number] = {
      at: time.now(),
      delivery,
      owner,
      answer: answer.kind,
      result: undefined,
    };
    history.pullAnswers.push(sent);
    api.retryUntilAnswered(`${answer.kind} ${delivery}`, async (context) => {
      sent.result = await answerReceived(context, receipt, answer);
    });
  };

  return { lookForWaiting };
};
