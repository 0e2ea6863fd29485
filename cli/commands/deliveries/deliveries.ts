import type { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { addDeliveriesList } from './list.ts';
import { addDeliveriesShow } from './show.ts';
import { addDeliveriesWatch } from './watch.ts';

export function addDeliveryCommands(deliveries: Command, terminal: Terminal): void {
  addDeliveriesList(deliveries, terminal);
  addDeliveriesShow(deliveries, terminal);
  addDeliveriesWatch(deliveries, terminal);
}
