import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { ID_ATTRIBUTE, isIngressAttribute } from '../messages/ingress-message.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import { sqsMessage } from './sqs-message.ts';

/** Most attributes of one message (Amazon SQS message quotas). */
const MAX_ATTRIBUTES = 10;

/**
 * A dead-letter queue that we send to ourselves. The body goes as it came; `reason` says why, and the id that a redrive
 * has to send along is that of the first life, which one already redriven carries itself.
 */
export const sqsDeadLetters = (sqs: SQSClient, queueUrl: string): DeadLetters => ({
  bury: async ({ body, id, attributes = {} }, reason) => {
    const ours = { reason, [ID_ATTRIBUTE]: attributes[ID_ATTRIBUTE] ?? id };
    const theirs = Object.entries(attributes).filter(([name]) => !Object.hasOwn(ours, name));
    const kept = mostNeeded(theirs).slice(0, MAX_ATTRIBUTES - Object.keys(ours).length);
    const message = sqsMessage({ body, attributes: { ...Object.fromEntries(kept), ...ours } });
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, ...message }));
  },
});

/** Those that dispatch reads first, since ours take two places of the ten. */
const mostNeeded = (attributes: readonly [string, string][]): [string, string][] =>
  attributes.toSorted(
    ([one], [other]) => Number(isIngressAttribute(other)) - Number(isIngressAttribute(one)),
  );
