import type { Check, ReadOnlyCheck } from './check.ts';
import { accessChecks } from './checks/access.ts';
import { alarmChecks } from './checks/alarms.ts';
import { crashChecks } from './checks/crash.ts';
import { endChecks } from './checks/ends.ts';
import { guardChecks } from './checks/guard.ts';
import { loadChecks } from './checks/load.ts';
import { producerChecks } from './checks/producer.ts';
import { pullChecks } from './checks/pull.ts';
import { requestChecks } from './checks/requests.ts';
import { resourceChecks } from './checks/resources.ts';
import { retryChecks } from './checks/retries.ts';

export const readOnlyChecks: readonly ReadOnlyCheck[] = [...resourceChecks, ...accessChecks];

/** All checks, in the order of the help. */
export const allChecks: readonly Check[] = [
  ...readOnlyChecks,
  ...producerChecks,
  ...requestChecks,
  ...retryChecks,
  ...pullChecks,
  ...endChecks,
  ...guardChecks,
  ...crashChecks,
  ...alarmChecks,
  ...loadChecks,
];
