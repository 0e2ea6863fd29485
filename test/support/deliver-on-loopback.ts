import type { SQSBatchResponse, SQSRecord } from 'aws-lambda';
import { invocationMs } from '../../shared/domain/retry/attempt-duration.ts';
import { deliverRecord } from '../../functions/deliver/deliver.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { httpSubscriber } from '../../shared/adapters/http/subscriber.ts';
import { oauthAccessTokens } from '../../shared/adapters/oauth/access-tokens.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { LambdaJournal } from '../../shared/adapters/log/journal.ts';
import type { DeliverContext, DeliverPorts } from '../../functions/deliver/context.ts';
import { healthWrites } from '../../functions/deliver/health.ts';
import { memoryBudget } from '../../functions/deliver/memory-budget.ts';
import { pendingCounts } from '../../functions/deliver/pressure.ts';
import { inMemorySubscriptions } from './in-memory/in-memory-subscriptions.ts';
import { pipelineWorld } from './in-memory/pipeline-world.ts';
import { anInvocation } from './sqs-event.ts';

export type Environment = (records: readonly SQSRecord[]) => Promise<SQSBatchResponse>;

export type OnLoopback = {
  journal: Omit<LambdaJournal, 'auditLogger'>;
  attemptTimeoutMs: number;
  /** @default as deployed */
  invocationLastsMs?: number;
  /** PEM certificates of authorities that are trusted besides the public ones. */
  trustedCertificates?: readonly string[];
  /** @default in memory */
  payloads?: DeliverPorts['payloads'];
  deliveryQueue: DeliverPorts['deliveryQueue'];
  wakeUps: DeliverPorts['wakeUps'];
};

/**
 * The deliver function in real time, with the real HTTP sender and in-memory ports in place of AWS. Each call of
 * `environment` creates another execution environment: they share only the tables.
 */
export const deliverOnLoopback = (options: OnLoopback) => {
  const { journal, attemptTimeoutMs, trustedCertificates = [], deliveryQueue, wakeUps } = options;
  const { invocationLastsMs = invocationMs(attemptTimeoutMs) } = options;
  const world = pipelineWorld();
  const subscriptions = inMemorySubscriptions(systemClock);

  const environment = (): Environment => {
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], trustedCertificates });
    const context: DeliverContext = {
      ports: {
        ...world.deliverContext.ports,
        ...(options.payloads === undefined ? {} : { payloads: options.payloads }),
        clock: systemClock,
        journal,
        subscriptions,
        subscriber,
        accessTokens: oauthAccessTokens({
          fetch: subscriber.fetch,
          clock: systemClock,
          userAgent: world.settings.userAgent,
        }),
        deliveryQueue,
        wakeUps,
      },
      settings: { ...world.settings, attemptTimeoutMs },
      healthWrites: healthWrites(systemClock),
      pendingCounts: pendingCounts(),
      memory: memoryBudget(systemClock),
    };
    const handler = sqsHandler(journal, {
      handleRecord: (record, invocation) => deliverRecord(context, record, invocation),
      returnSooner: () => Promise.resolve(),
    });
    return (records) => handler({ Records: [...records] }, anInvocation(invocationLastsMs));
  };
  return { environment, subscriptions, secretSealer: world.secretOpener, deliveries: world.deliveries };
};
