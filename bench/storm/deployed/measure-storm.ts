import { setTimeout as pause } from 'node:timers/promises';
import type { CallLogEntry } from '../../../local/call-log.ts';
import { pollUntil } from '../../../local/poll-until.ts';
import { brokenIn, drainOf, mostWithin, retriedOf, type Broken, type Drain, type Waits } from '../figures.ts';
import { othersWait } from './others.ts';
import { ANSWER_MS, requestsOf, strike } from './outage.ts';
import { RETRY_CONCURRENCY, type StormySystem } from './stormy-system.ts';

export type DeployedPlan = {
  retries: number;
  /** Messages of others while there is no storm; in it as many as its length takes. */
  othersBefore: number;
  /** From when messages begin to be published until their retries are due, in seconds. */
  awaySeconds: number;
};

/** What a storm came to on the local AWS. */
export type DeployedStorm = DeployedPlan & {
  answerMs: number;
  retryConcurrency: number;
  schedules: { asked: number; refused: number; fired: number; mostAsked: number };
  drain: Drain;
  broken: Broken;
  /** First attempts of others, in the storm and before it. */
  waits: { storm: Waits; calm: Waits };
};

/** Messages in a batch (infra/constructs/functions/node-function.ts). */
const BATCH = 10;

const PER_SECOND = (RETRY_CONCURRENCY * BATCH * 1000) / ANSWER_MS;

const REHEARSAL = { retries: 2 * RETRY_CONCURRENCY * BATCH, awaySeconds: 20 };

/** As long as reconcile needs to make up for wake-ups that were lost, beyond what the drain should take. Milliseconds. */
const PATIENCE_MS = 120_000;

/** @throws Problem where this machine is too slow for the storm to be one */
export const measureDeployedStorm = async (
  system: StormySystem,
  plan: DeployedPlan,
  say: (line: string) => void,
): Promise<DeployedStorm> => {
  say('A small storm, so that all functions have begun');
  await storm(system, 'rehearsal', REHEARSAL);
  say('First attempts while there is no storm');
  const calm = await othersWait(system, 'calm', (sent) => sent < plan.othersBefore);
  const [since, from] = [new Date(), system.log().length];
  say(`${plan.retries} messages while their subscriber is away, and their retries`);
  const { ids, backAt, waits } = await storm(system, 'stricken', plan);

  const left = await undelivered(system, plan, since);
  const retried = retriedOf(ids, requestsOf(system, 'stricken'), () => backAt);
  const { lost, early } = brokenIn(retried);
  return {
    ...plan,
    answerMs: ANSWER_MS,
    retryConcurrency: RETRY_CONCURRENCY,
    schedules: scheduleFigures(system.log().slice(from)),
    drain: drainOf(retried, PER_SECOND),
    broken: { lost: Math.max(lost, left), early },
    waits: { storm: waits, calm },
  };
};

type Stormed = { ids: readonly string[]; backAt: number; waits: Waits };

/** An outage, and its retries until they are made or will not be, with first attempts of others meanwhile. */
const storm = async (
  system: StormySystem,
  queue: 'stricken' | 'rehearsal',
  { retries, awaySeconds }: Pick<DeployedPlan, 'retries' | 'awaySeconds'>,
): Promise<Stormed> => {
  const ids = Array.from({ length: retries }, (_, index) => `${queue}-${index}`);
  const backAt = 1000 * Math.ceil(Date.now() / 1000 + awaySeconds);
  await strike(system, queue, { ids, backAt });
  await pause(Math.max(0, backAt - Date.now()), undefined, { signal: system.signal });
  const givenUpAt = backAt + (1000 * retries) / PER_SECOND + PATIENCE_MS;
  const isOver = (): boolean => requestsOf(system, queue).length >= 2 * retries || Date.now() > givenUpAt;
  return { ids, backAt, waits: await othersWait(system, queue, () => !isOver()) };
};

/** By the books, once they are closed or will not be. */
const undelivered = async (system: StormySystem, { retries }: DeployedPlan, since: Date): Promise<number> => {
  const look = async () => {
    const { delivered } = await system.books('stricken', since);
    return delivered === retries ? delivered : undefined;
  };
  const patience = { withinMs: 30_000, interval: { floor: 1, ceiling: 4 }, signal: system.signal };
  const delivered = (await pollUntil(look, patience)) ?? (await system.books('stricken', since)).delivered;
  return retries - delivered;
};

const scheduleFigures = (entries: readonly CallLogEntry[]): DeployedStorm['schedules'] => {
  const asked = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ service, operation }) => service === 'scheduler' && operation === 'CreateSchedule');
  return {
    asked: asked.length,
    refused: asked.filter(({ status }) => status >= 400).length,
    fired: entries.filter(({ kind }) => kind === 'fired').length,
    mostAsked: mostWithin(
      asked.map(({ at }) => at),
      1_000,
    ),
  };
};
