import * as z from 'zod';
import { deliveryViewSchema } from '../../shared/messages/delivery-view.ts';
import { propertySource, type Json } from '../../shared/messages/json-slice.ts';
import { invalidFields } from './error-answers.ts';
import { bodyFault } from './message-request.ts';
import { messageType } from './printable.ts';
import { parsed } from './request-json.ts';

/** The body of a test; none is an empty one. */
export const testRequestSchema = z.strictObject({
  type: messageType.exactOptional(),
  // Only its source text matters, so only that is looked at.
  data: z.unknown().exactOptional(),
});

export const testedSchema = z.object({ delivery: deliveryViewSchema });

/** `data` as its source text. @throws RefusedRequest */
export const testFields = (json: Json): { type?: string; data?: string } => {
  const { type } = parsed(testRequestSchema, json.value);
  const data = propertySource(json, 'data');
  const faults = data === undefined ? [] : bodyFault(data, 'data');
  if (faults.length > 0) throw invalidFields(faults);
  return { ...(type !== undefined && { type }), ...(data !== undefined && { data }) };
};
