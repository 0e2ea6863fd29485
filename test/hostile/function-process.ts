import { setTimeout as pause } from 'node:timers/promises';

import { powertoolsJournal, type LambdaJournal } from '../../shared/adapters/log/journal.ts';
import { encodeFirstJob, encodeWakeUp } from '../../shared/wire/jobs/delivery-job.ts';
import type { Fact } from '../../shared/ports/journal.ts';
import { aBarePolicy, aQueue, aSubscription } from '../support/builders.ts';
import { deliverOnLoopback } from '../support/deliver-on-loopback.ts';
import { toFunction, type FromFunction, type ToFunction } from './messages.ts';
import { modelledQueue } from './modelled-queue.ts';

type Start = Extract<ToFunction, { kind: 'start' }>;
type QueueName = Extract<FromFunction, { kind: 'invocation' }>['queue'];

/** The deliver function, in a process of its own so that its memory is its own. Its log goes to standard output. */

const tell = (message: FromFunction): void => {
  process.send?.(message);
};

/** The function's own journal; what it is told of attempts is told on. */
const tellingJournal = (): LambdaJournal => {
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
      if (fact.fact === 'attempt_made') tell(seen(fact));
    },
  };
};

const seen = ({ key, attempt, dueAt }: Extract<Fact, { fact: 'attempt_made' }>): FromFunction => ({
  kind: 'attempt',
  subscriptionId: key.subscriptionId,
  number: attempt.number,
  outcome: attempt.outcome,
  statusCode: attempt.statusCode,
  error: attempt.error,
  durationMs: attempt.durationMs,
  waitedMs: attempt.startedAt - dueAt,
  doneMs: Date.now() - dueAt,
});

const start = async (settings: Start) => {
  const { attemptTimeoutMs, trustedCertificates, environments, retries } = settings;
  const ended = (queue: QueueName) => (invocation: { milliseconds: number; failed: number }) => {
    tell({ kind: 'invocation', queue, ...invocation });
  };
  const { environment, subscriptions } = deliverOnLoopback({
    journal: tellingJournal(),
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
      // Minutes away: nobody waits for it here.
      schedule: () => Promise.resolve('scheduled'),
    },
  });
  const several = (count: number) => Array.from({ length: count }, environment);
  const first = modelledQueue(several(environments.first), ended('first'));
  const retry = modelledQueue(several(environments.retry), ended('retry'));

  await subscriptions.putQueue(aQueue());
  for (const { id, url } of settings.subscriptions) {
    const options = retries ? {} : { _retry_policy: aBarePolicy() };
    await subscriptions.addSubscription(aSubscription({ id, subscriber: url, options }));
  }
  return first;
};

let first: Awaited<ReturnType<typeof start>> | undefined;
let idle = 0;

const measure = async (isIdle: boolean): Promise<void> => {
  if (isIdle) {
    globalThis.gc?.();
    await pause(50);
    idle = process.memoryUsage.rss();
  }
  const peak = process.resourceUsage().maxRSS * 1024;
  tell({ kind: 'memory', idle, peak, mostBusy: first?.mostBusy() ?? 0 });
};

const follow = async (message: ToFunction): Promise<void> => {
  switch (message.kind) {
    case 'start':
      first = await start(message);
      tell({ kind: 'ready' });
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
// Whoever started it has gone.
process.on('disconnect', () => process.exit());
