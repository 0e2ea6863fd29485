import * as z from 'zod';
import { anInvocation, anSqsRecord } from '../../test/support/sqs-event.ts';

/** One function in a process of its own: each question is a batch of messages for one invocation, as long as dispatch's. */

const TIMEOUT_MS = 30_000;

type Handler = (event: object, context: object) => Promise<unknown>;

const loaded = z.object({ handler: z.custom<Handler>((value) => typeof value === 'function') });
const partial = z.object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string() })) });
const question = z.object({ bodies: z.array(z.string()) });

const { handler } = loaded.parse(await import(z.string().parse(process.argv[2])));

/** What an invocation came to: the messages that it did not acknowledge, by their place in the batch. */
async function invoke(bodies: readonly string[]) {
  const records = bodies.map((body) => anSqsRecord(body));
  const answer = partial.parse(await handler({ Records: records }, anInvocation(TIMEOUT_MS)));
  const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  return {
    failed: records.flatMap(({ messageId }, index) => (failed.has(messageId) ? [index] : [])),
    peakBytes: process.resourceUsage().maxRSS * 1024,
  };
}

process.on('message', (message) => {
  void invoke(question.parse(message).bodies).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
