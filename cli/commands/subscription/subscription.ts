import type { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { addSubscriptionCreate } from './create.ts';
import { addSubscriptionDelete } from './delete.ts';
import { addSubscriptionExport } from './export.ts';
import { addSubscriptionImport } from './import.ts';
import { addSubscriptionList } from './list.ts';
import { addRotateSecret } from './rotate-secret.ts';
import { addPullToken } from './pull-token.ts';
import { addSubscriptionShow } from './show.ts';
import { addSubscriptionSwitches } from './switch.ts';
import { addSubscriptionTest } from './test.ts';
import { addSubscriptionUpdate } from './update.ts';

export function addSubscriptionCommands(subscription: Command, terminal: Terminal): void {
  addSubscriptionList(subscription, terminal);
  addSubscriptionShow(subscription, terminal);
  addSubscriptionCreate(subscription, terminal);
  addSubscriptionUpdate(subscription, terminal);
  addSubscriptionSwitches(subscription, terminal);
  addSubscriptionDelete(subscription, terminal);
  addRotateSecret(subscription, terminal);
  addPullToken(subscription, terminal);
  addSubscriptionTest(subscription, terminal);
  addSubscriptionExport(subscription, terminal);
  addSubscriptionImport(subscription, terminal);
}
