import { hash } from 'node:crypto';
import * as z from 'zod';
import { awsStub } from './aws-stub.ts';

const batch = z.object({
  Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string(), MessageGroupId: z.string() })),
});

/** A message of a SendMessageBatch request. */
export type SentEntry = z.infer<typeof batch>['Entries'][number];

/** Says why SQS refuses an entry of the n-th request, from 0; undefined: it stores the entry. */
export type Judge = (
  entry: SentEntry,
  batchNumber: number,
) => { Code: string; SenderFault: boolean } | undefined;

/** An SQS queue that keeps the batches sent to it, and stores all that `judge` does not refuse. */
export const ingressStub = async (judge: Judge = () => undefined) => {
  const batches: SentEntry[][] = [];
  const { config, close } = await awsStub(({ body }) => {
    const { Entries } = batch.parse(JSON.parse(body));
    const number = batches.push(Entries) - 1;
    const judged = Entries.map((entry) => ({
      Id: entry.Id,
      MD5OfMessageBody: hash('md5', entry.MessageBody),
      refusal: judge(entry, number),
    }));
    const Failed = judged.flatMap(({ Id, refusal }) => (refusal ? [{ Id, ...refusal }] : []));
    const Successful = judged.flatMap(({ refusal, ...stored }) =>
      refusal ? [] : [{ ...stored, MessageId: stored.Id }],
    );
    return { body: JSON.stringify({ Failed, Successful }) };
  });
  return { batches, config, queueUrl: `${config.endpoint}/000000000000/ingress`, close };
};
