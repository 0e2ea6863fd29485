import type { Command } from 'commander';
import { addMessageErase } from './erase.ts';
import { addMessageShow } from './show.ts';

export const addMessageCommands = (message: Command): void => {
  addMessageShow(message);
  addMessageErase(message);
};
