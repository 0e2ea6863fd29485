import { join } from 'node:path';
import type { EmulatorOptions } from '../../local/emulator.ts';

/**
 * The launcher of a local AWS that logs what functions do there. `callLog`: file for every call (call-log.ts). `useLog`: file
 * for the permissions that they use, which are in the other log too.
 */
export const loggingLauncher = (logs: {
  callLog?: string | undefined;
  useLog?: string;
}): NonNullable<EmulatorOptions['launcher']> => ({
  file: join(import.meta.dirname, 'ministack_logged.py'),
  environment: { POSTHASTE_CALL_LOG: logs.callLog, POSTHASTE_USE_LOG: logs.useLog },
});
