import type { Check } from './check.ts';
import { requestChecks } from './checks/requests.ts';
import { retryChecks } from './checks/retries.ts';

/** All checks, in the order of the report's help. */
export const allChecks: readonly Check[] = [...requestChecks, ...retryChecks];
