import type { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { addMessageErase } from './erase.ts';
import { addMessageShow } from './show.ts';

export function addMessageCommands(message: Command, terminal: Terminal): void {
  addMessageShow(message, terminal);
  addMessageErase(message, terminal);
}
