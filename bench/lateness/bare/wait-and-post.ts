import { setTimeout as pause } from 'node:timers/promises';

/** What of an SQS event is read. */
type Batch = { Records: readonly { body: string }[] };

/** Sent by bare-retries.ts alone. */
const messageIn: (text: string) => { id: string; url: string; dueAt: number } = JSON.parse;

/** The request that a message asks for, when it is due, and nothing else. What is early is waited for, as ours is. */
export const handler = async ({ Records }: Batch): Promise<void> => {
  await Promise.all(
    Records.map(async ({ body }) => {
      const { id, url, dueAt } = messageIn(body);
      while (Date.now() < dueAt) await pause(dueAt - Date.now());
      const answer = await fetch(url, { method: 'POST', headers: { 'webhook-id': id }, body });
      await answer.arrayBuffer();
    }),
  );
  // The local AWS waits 50 ms for a line where there is none.
  console.log(Records.length);
};
