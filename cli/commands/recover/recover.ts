import type { Command } from 'commander';
import { addRecoverList } from './list.ts';
import { addRecoverStart } from './start.ts';
import { addRecoverStatus } from './status.ts';
import { addRecoverStop } from './stop.ts';

export const addRecoverCommands = (recover: Command): void => {
  addRecoverStart(recover);
  addRecoverStatus(recover);
  addRecoverList(recover);
  addRecoverStop(recover);
};
