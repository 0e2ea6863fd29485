import { setTimeout as pause } from 'node:timers/promises';

import { powertoolsJournal, type LambdaJournal } from '../../shared/adapters/log/journal.ts';
import { encodeFirstJob, encodeWakeUp } from '../../shared/wire/jobs/delivery-job.ts';
import { type Auth, redactedAuth, type StoredAuth } from '../../shared/domain/subscription/auth.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { SecretSealer } from '../../shared/ports/subscriptions.ts';
import { type Attempt, shownResult } from '../../shared/domain/delivery/attempt.ts';
import type { Fact } from '../../shared/ports/journal.ts';
import { addSubscription } from '../support/add-subscription.ts';
import { aBarePolicy, aQueue, aSubscription } from '../support/builders.ts';
import { deliverOnLoopback } from '../support/deliver-on-loopback.ts';
import { peakMemoryBytes } from '../support/peak-memory.ts';
import { toFunction, type FromFunction, type ToFunction } from './messages.ts';
import { modelledQueue } from './modelled-queue.ts';

type Start = Extract<ToFunction, { kind: 'start' }>;
type QueueName = Extract<FromFunction, { kind: 'invocation' }>['queue'];

/** The deliver function in a separate process, so that its memory can be measured. It logs to standard output. */

const report = (message: FromFunction): void => {
  process.send?.(message);
};

/** The journal of the function, which also reports every attempt to the parent process. */
const reportingJournal = (): LambdaJournal => {
  const journal = powertoolsJournal('deliver', {
    deployment: 'Hostile',
    version: '0.0.0',
    logLevel: 'info',
    logSuccessSampling: 1,
  });
  return {
    ...journal,
    note: (fact) => {
      journal.note(fact);
      if (fact.fact === 'attempt_made') report(seen(fact));
    },
  };
};

const seen = ({ key, attempt, dueAt }: Extract<Fact, { fact: 'attempt_made' }>): FromFunction => ({
  kind: 'attempt',
  subscriptionId: key.subscriptionId,
  number: attempt.number,
  outcome: attempt.outcome,
  ...statusAndError(attempt),
  durationMs: attempt.durationMs,
  waitedMs: attempt.startedAt - dueAt,
  doneMs: Date.now() - dueAt,
});

const statusAndError = ({ result }: Attempt) => {
  const { statusCode, error } = shownResult(result);
  return { statusCode, error };
};

const start = async (settings: Start) => {
  const { attemptTimeoutMs, trustedCertificates, environments, retries } = settings;
  const ended = (queue: QueueName) => (invocation: { milliseconds: number; failed: number }) => {
    report({ kind: 'invocation', queue, ...invocation });
  };
  const { environment, subscriptions, secretSealer } = deliverOnLoopback({
    journal: reportingJournal(),
    attemptTimeoutMs,
    trustedCertificates,
    deliveryQueue: {
      send: (jobs, delaySeconds) => {
        for (const job of jobs) first.send(encodeFirstJob(job), delaySeconds);
        return Promise.resolve();
      },
    },
    wakeUps: {
      sendDelayed: (wakeUp, delaySeconds) => {
        retry.send(encodeWakeUp(wakeUp), delaySeconds);
        return Promise.resolve();
      },
      // A scheduled wake-up is minutes away, longer than a run.
      schedule: () => Promise.resolve('scheduled'),
    },
  });
  const several = (count: number) => Array.from({ length: count }, environment);
  const first = modelledQueue(several(environments.first), ended('first'));
  const retry = modelledQueue(several(environments.retry), ended('retry'));

  await subscriptions.putQueue(aQueue());
  for (const { id, url, auth } of settings.subscriptions) {
    const options = retries ? {} : { _retry_policy: aBarePolicy() };
    const subscription = aSubscription({ id, subscriber: url, options });
    const credentials = auth && (await stored(subscription, auth, secretSealer));
    await addSubscription(
      subscriptions,
      aSubscription({ id, subscriber: url, options, ...(credentials && { auth: credentials }) }),
    );
  }
  return first;
};

const stored = async (
  { queue, id }: Subscription,
  auth: Auth,
  secretSealer: SecretSealer,
): Promise<StoredAuth> => ({
  shown: redactedAuth(auth),
  sealed: await secretSealer.sealAuth({ queue, subscriptionId: id }, auth),
  at: 0,
});

let first: Awaited<ReturnType<typeof start>> | undefined;
let idle = 0;

const measure = async (isIdle: boolean): Promise<void> => {
  if (isIdle) {
    globalThis.gc?.();
    await pause(50);
    idle = process.memoryUsage.rss();
  }
  const peak = peakMemoryBytes();
  report({ kind: 'memory', idle, peak, mostBusy: first?.mostBusy() ?? 0 });
};

const follow = async (message: ToFunction): Promise<void> => {
  switch (message.kind) {
    case 'start':
      first = await start(message);
      report({ kind: 'ready' });
      return;
    case 'jobs':
      for (const body of message.bodies) first?.send(body);
      return;
    case 'measure':
      await measure(message.isIdle);
      return;
  }
};

process.on('message', (message) => void follow(toFunction.parse(message)));
// The parent process has exited.
process.on('disconnect', () => process.exit());
