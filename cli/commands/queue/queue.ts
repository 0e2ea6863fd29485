import type { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { addQueueCreate } from './create.ts';
import { addQueueDelete } from './delete.ts';
import { addQueueList } from './list.ts';
import { addQueueSet } from './set.ts';
import { addQueueShow } from './show.ts';

export function addQueueCommands(queue: Command, terminal: Terminal): void {
  addQueueList(queue, terminal);
  addQueueShow(queue, terminal);
  addQueueCreate(queue, terminal);
  addQueueSet(queue, terminal);
  addQueueDelete(queue, terminal);
}
