import type { Command } from 'commander';
import { addQueueCreate } from './create.ts';
import { addQueueDelete } from './delete.ts';
import { addQueueList } from './list.ts';
import { addQueueSet } from './set.ts';
import { addQueueShow } from './show.ts';

export const addQueueCommands = (queue: Command): void => {
  addQueueList(queue);
  addQueueShow(queue);
  addQueueCreate(queue);
  addQueueSet(queue);
  addQueueDelete(queue);
};
