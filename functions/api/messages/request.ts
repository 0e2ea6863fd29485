import * as z from 'zod';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { MAX_DELAY_SECONDS } from '../../../shared/domain/retry/wake-up-plan.ts';
import { elementSources, type Json, propertySource } from '../../../shared/wire/json-slice.ts';
import type { PostedMessage } from './messages.ts';
import { invalidFields } from '../errors.ts';
import { MAX_TTL_SECONDS, messageType, printable, seconds } from '../fields.ts';
import { parsed } from '../request-json.ts';

/** Ten SQS batches. Zaqar takes 20. */
const MAX_MESSAGES = 100;

/** The body of a post. */
export const postedMessagesSchema = z.strictObject({
  messages: z
    .array(
      z.strictObject({
        id: printable(1024).exactOptional(),
        type: messageType.exactOptional(),
        // Only its source text matters, so only that is looked at.
        body: z.unknown().exactOptional(),
        ttl: seconds(1, MAX_TTL_SECONDS).exactOptional(),
        delay: seconds(0, MAX_DELAY_SECONDS).exactOptional(),
      }),
      'must be a list of messages',
    )
    .min(1, 'must hold at least one message')
    .max(MAX_MESSAGES, `must hold at most ${MAX_MESSAGES} messages`),
});

/**
 * Zaqar's `{"messages": [{"body", …}]}`. Each `body` is kept as its source text.
 * @throws RefusedRequest
 */
export function messagesOf(json: Json): PostedMessage[] {
  const { messages } = parsed(postedMessagesSchema, json.value);
  const list = { source: propertySource(json, 'messages') ?? '', value: messages };
  const sources = elementSources(list) ?? [];
  const read = messages.map(({ body, ...message }, index) => {
    const data = propertySource({ source: sources[index] ?? '', value: body }, 'body');
    return { ...message, data };
  });
  const faults = read.flatMap(({ data }, index) => bodyFault(data, `messages[${index}].body`));
  if (faults.length > 0) throw invalidFields(faults);
  return read.flatMap(({ data, ...message }) => (data === undefined ? [] : [{ ...message, data }]));
}

/** What SQS would not take of a message's data, which is JSON source text. */
export function bodyFault(data: string | undefined, field: string): FieldError[] {
  if (data === undefined) return [{ field, message: 'is required' }];
  // SQS takes no text with these two in it; written as an escape they pass.
  if (/[\uFFFE\uFFFF]/.test(data))
    return [{ field, message: 'must hold U+FFFE and U+FFFF as \\ufffe and \\uffff only' }];
  return [];
}
