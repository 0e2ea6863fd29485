import type { Command } from 'commander';
import { addSubscriptionCreate } from './create.ts';
import { addSubscriptionDelete } from './delete.ts';
import { addSubscriptionExport } from './export.ts';
import { addSubscriptionImport } from './import.ts';
import { addSubscriptionList } from './list.ts';
import { addRotateSecret } from './rotate-secret.ts';
import { addSubscriptionShow } from './show.ts';
import { addSubscriptionSwitches } from './switch.ts';
import { addSubscriptionTest } from './test.ts';
import { addSubscriptionUpdate } from './update.ts';

export const addSubscriptionCommands = (subscription: Command): void => {
  addSubscriptionList(subscription);
  addSubscriptionShow(subscription);
  addSubscriptionCreate(subscription);
  addSubscriptionUpdate(subscription);
  addSubscriptionSwitches(subscription);
  addSubscriptionDelete(subscription);
  addRotateSecret(subscription);
  addSubscriptionTest(subscription);
  addSubscriptionExport(subscription);
  addSubscriptionImport(subscription);
};
