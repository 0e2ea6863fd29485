import { inMemoryDeadLetterQueue } from '../support/in-memory/in-memory-queues.ts';
import { describeDeadLetterQueueContract } from './dead-letter-queue.contract.ts';

describeDeadLetterQueueContract('in memory', () => {
  const queue = inMemoryDeadLetterQueue({ now: () => Date.now() });
  let count = 0;
  return Promise.resolve({
    queue,
    put: (body, attributes = {}) => {
      count += 1;
      const id = `letter-${count}`;
      queue.put({ id, body, attributes, sentAt: Date.now() });
      return Promise.resolve(id);
    },
  });
});
