import * as z from 'zod';
import { RECOVERABLE, type RecoverySelection } from '../../shared/domain/recovery.ts';
import { invalidFields } from './error-answers.ts';
import { isSubscriptionId } from './paths.ts';
import { parsed } from './request-json.ts';
import { isWindow, NO_WINDOW, timeField } from './window.ts';

export const recoveryRequestSchema = z.strictObject({
  since: timeField,
  until: timeField,
  subscription: z.string().refine(isSubscriptionId, 'is no id of a subscription').exactOptional(),
  status: z.enum(RECOVERABLE, `must be one of ${RECOVERABLE.join(', ')}`).exactOptional(),
});

/** @throws RefusedRequest */
export const recoverySelection = (queue: string, value: unknown): RecoverySelection => {
  const { subscription, ...selection } = parsed(recoveryRequestSchema, value);
  if (!isWindow(selection)) throw invalidFields([{ field: 'until', message: NO_WINDOW.error }]);
  return { queue, ...selection, ...(subscription !== undefined && { subscriptionId: subscription }) };
};
