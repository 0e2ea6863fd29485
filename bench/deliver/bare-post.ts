import { readFileSync } from 'node:fs';
import { request } from 'undici';
import * as z from 'zod';

/** What is taken from requests of ours, so that a bare program makes the same. */
const templateSchema = z.object({
  claim: z.record(z.string(), z.unknown()),
  record: z.record(z.string(), z.unknown()),
  chunkClaim: z.record(z.string(), z.unknown()),
  chunkRecord: z.record(z.string(), z.unknown()),
  headers: z.record(z.string(), z.string()),
  /** Of the subscribers, by subscription. */
  urls: z.record(z.string(), z.string()),
});

export const template = templateSchema.parse(
  JSON.parse(readFileSync(process.env['BENCH_TEMPLATE'] ?? '', 'utf8')),
);

export type Job = {
  queue: string;
  messageId: string;
  bucket: number;
  message: { id: string; queue: string; type: string; timestamp: string; data: unknown };
} & ({ kind: 'job'; subscriptionId: string } | { kind: 'chunk'; chunk: number; subscriptionIds: string[] });

type Event = { Records: readonly { body: string }[] };

/** The request of a delivery by bare undici. */
export async function post(url: string, { message }: Job): Promise<number> {
  const { id, queue, type, timestamp, data } = message;
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { ...template.headers, 'webhook-id': id },
    body: JSON.stringify({ id, queue, type, timestamp, data }),
  });
  await body.dump();
  return statusCode;
}

/** A handler that does with each job only this. */
export function forEachJob(work: (job: Job) => Promise<void>) {
  return async ({ Records }: Event) => {
    await Promise.all(Records.map(({ body }) => work(JSON.parse(body) as Job)));
    return { batchItemFailures: [] };
  };
}

/** Posts, and nothing else. */
export const handler = forEachJob(async (job) => {
  const ids = job.kind === 'chunk' ? job.subscriptionIds : [job.subscriptionId];
  await Promise.all(ids.map((id) => post(template.urls[id] ?? '', job)));
});
