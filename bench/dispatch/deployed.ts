import { inParallel } from '../../shared/adapters/in-parallel.ts';
import type { CallLogEntry } from '../../local/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { median } from '../measured/figures.ts';
import { ingressMessages } from '../measured/messages.ts';
import { observed } from '../operations/observe.ts';
import { noRetries } from '../operations/paths.ts';
import type { System } from '../operations/system.ts';
import { callsOf, cpuMsOf, invocationsOf } from '../operations/tally.ts';

/** What a message to so many subscriptions came to on the local AWS; the median of several. */
export type DeployedFanOut = {
  fanOut: number;
  messages: number;
  /** Of the invocation of dispatch: from its start to its end, and what its threads ran. */
  dispatchMs: number;
  dispatchCpuMs: number;
  /** Requests to AWS by a subscriber. */
  dispatchCalls: number;
  deliverCalls: number;
  /** From before the message was sent until its last request was there. */
  seconds: number;
};

const SUBSCRIBING_AT_ONCE = 8;

/** A queue with so many subscriptions, and some messages to it, one after another. @throws Problem when one is not delivered to each, once */
export const deployedFanOut = async (
  system: System,
  fanOut: number,
  messages: number,
): Promise<DeployedFanOut> => {
  const queue = `deployed-${fanOut}`;
  const paths = Array.from({ length: fanOut }, (_, index) => `/${queue}/${index}`);
  await system.makeQueue(queue, noRetries);
  await inParallel(paths, SUBSCRIBING_AT_ONCE, (path) => system.subscribe(queue, path));
  const sent: Sent[] = [];
  // The first is for those functions that have to begin.
  for (let number = 0; number <= messages; number += 1) sent.push(await send(system, queue, fanOut));
  demandOneEach(system, paths, messages + 1);
  const of = (figure: (one: Sent) => number): number => median(sent.slice(1).map(figure));
  const { dispatch, deliver } = system.endpoints.functions;
  return {
    fanOut,
    messages,
    dispatchMs: of(({ entries }) => total(entries, dispatch, ({ ms }) => ms)),
    dispatchCpuMs: of(({ entries }) => total(entries, dispatch, cpuMsOf)),
    dispatchCalls: of(({ entries }) => callsOf(entries, dispatch).length / fanOut),
    deliverCalls: of(({ entries }) => callsOf(entries, deliver).length / fanOut),
    seconds: of(({ seconds }) => seconds),
  };
};

type Sent = { entries: readonly CallLogEntry[]; seconds: number };

const send = async (system: System, queue: string, fanOut: number): Promise<Sent> => {
  const sentAt = Date.now();
  const entries = await observed(system, fanOut, () => system.publish(ingressMessages(queue, 1)));
  const lastAt = Math.max(
    ...system.receiver
      .received()
      .slice(-fanOut)
      .map(({ arrivedAt }) => arrivedAt),
  );
  return { entries, seconds: (lastAt - sentAt) / 1000 };
};

const total = (
  entries: readonly CallLogEntry[],
  functionName: string,
  value: (invocation: ReturnType<typeof invocationsOf>[number]) => number,
): number => invocationsOf(entries, functionName).reduce((sum, invocation) => sum + value(invocation), 0);

const demandOneEach = ({ receiver }: System, paths: readonly string[], messages: number): void => {
  const byPath = Map.groupBy(receiver.received(), ({ path }) => path);
  const wrong = paths.filter((path) => {
    const ids = (byPath.get(path) ?? []).map(({ headers }) => headers['webhook-id']);
    return ids.length !== messages || new Set(ids).size !== messages;
  });
  if (wrong.length > 0)
    throw new Problem(`${wrong.length} of ${paths.length} subscribers did not get each message once.`);
};
