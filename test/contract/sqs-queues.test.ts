import { afterAll } from 'vitest';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { sqsDeliveryQueue, sqsIngress } from '../../shared/adapters/sqs/queues.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { REASON_ATTRIBUTE } from '../../shared/wire/jobs/dead-letter.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { ID_ATTRIBUTE } from '../../shared/wire/ingress/attributes.ts';
import { deployment } from '../support/deployment.ts';
import { privateQueues, type Arrival } from '../support/private-queues.ts';
import {
  describeDeadLettersContract,
  describeDeliveryQueueContract,
  describeIngressContract,
} from './queues.contract.ts';

const queues = privateQueues(deployment.sqs);
afterAll(queues.deleteAll);

const now = () => Date.now();

const aTarget = async () => ({
  sqs: deployment.queues,
  queueUrl: await queues.create(),
  sleep: (milliseconds: number) => systemClock.sleep(milliseconds),
  random: Math.random,
});

const jobOf = ({ body, at }: Arrival): { value: DeliveryJob; at: number } => {
  const parsed = parseWork(body);
  if (!parsed.ok || parsed.value.kind !== 'job') throw new Error(`not a job: ${body.slice(0, 100)}`);
  return { value: parsed.value, at };
};

describeDeliveryQueueContract('in SQS', async () => {
  const target = await aTarget();
  return {
    queue: sqsDeliveryQueue(target),
    now,
    arrivals: async (count) => (await queues.arrivals(target.queueUrl, count)).map(jobOf),
  };
});

describeIngressContract('in SQS', async () => {
  const target = await aTarget();
  return {
    ingress: sqsIngress(target),
    now,
    arrivals: (count) => queues.arrivals(target.queueUrl, count),
  };
});

describeDeadLettersContract('in SQS', async () => {
  const queueUrl = await queues.create();
  return {
    deadLetters: sqsDeadLetters(deployment.queues, queueUrl),
    sent: async (count) =>
      (await queues.arrivals(queueUrl, count)).map(({ body, attributes }) => {
        const { [REASON_ATTRIBUTE]: reason = '', [ID_ATTRIBUTE]: id = '', ...others } = attributes;
        return { body, id, reason, attributes: others };
      }),
  };
});
