import type { Command } from 'commander';
import { addDeliveriesList } from './list.ts';
import { addDeliveriesShow } from './show.ts';
import { addDeliveriesWatch } from './watch.ts';

export const addDeliveryCommands = (deliveries: Command): void => {
  addDeliveriesList(deliveries);
  addDeliveriesShow(deliveries);
  addDeliveriesWatch(deliveries);
};
