import type { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { addRecoverList } from './list.ts';
import { addRecoverStart } from './start.ts';
import { addRecoverStatus } from './status.ts';
import { addRecoverStop } from './stop.ts';

export function addRecoverCommands(recover: Command, terminal: Terminal): void {
  addRecoverStart(recover, terminal);
  addRecoverStatus(recover, terminal);
  addRecoverList(recover, terminal);
  addRecoverStop(recover, terminal);
}
