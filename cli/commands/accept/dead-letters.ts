import type { DeadLetter } from '../../../shared/domain/delivery/dead-letter.ts';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import { processDeadLetters } from '../../dead-letters/process-dead-letters.ts';
import { systemSleep } from '../../terminal.ts';
import type { World } from './world.ts';

/** Seconds for which messages of others are hidden, if the run is killed meanwhile. */
const HIDDEN_SECONDS = 30;

/**
 * Removes the messages of this run from a dead-letter queue, and returns them. Others are left, and visible again. Ctrl-C
 * does not end it: what a run made is removed after that.
 */
export async function takeDeadLetters(
  { sqs, prefix }: Pick<World, 'sqs' | 'prefix'>,
  queueUrl: string,
): Promise<readonly DeadLetter[]> {
  const taken: DeadLetter[] = [];
  const deadLetters = sqsDeadLetterQueue({ sqs, queueUrl, sleep: systemSleep });
  await processDeadLetters(
    { deadLetters, clock: { sleep: systemSleep } },
    {
      startedAt: Infinity,
      hiddenSeconds: HIDDEN_SECONDS,
      signal: new AbortController().signal,
      wants: ({ body }) => body.includes(prefix),
      read: (deadLetter) => ({ kind: 'redrive', message: deadLetter, identity: deadLetter.id }),
      handle: (ours) => {
        taken.push(...ours);
        return Promise.resolve(ours.map(() => ({ kind: 'redriven' })));
      },
    },
  );
  return taken;
}
