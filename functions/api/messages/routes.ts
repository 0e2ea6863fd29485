import { parseTraceContext } from '../../../shared/domain/message/trace-context.ts';
import * as z from 'zod';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import { MAX_DELAY_SECONDS } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { elementSources, type Json, propertySource } from '../../../shared/wire/json-slice.ts';
import {
  encodeMessageView,
  messageSummary,
  messageSummarySchema,
  messageViewSchema,
} from '../../../shared/wire/views/message.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody, withLinks } from '../route.ts';
import { invalidFields, noSuchMessage } from '../errors.ts';
import {
  bodyFault,
  TEN_YEARS_SECONDS,
  windowed,
  printable,
  publishedType,
  seconds,
  windowFields,
  completeWindow,
} from '../fields.ts';
import { listing, pageFields } from '../paging.ts';
import { messageKey, queuePath } from '../paths.ts';
import { deletedField, existingQueue } from '../existing.ts';
import { parseWith, readJson } from '../request-json.ts';
import { eraseBody, listMessages, messageDetail, type PostedMessage, publish } from './messages.ts';

const MESSAGE = '/v2/queues/{queue}/messages/{message}';

export function addMessageRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  addRoute({
    key: 'POST /v2/queues/{queue}/messages',
    id: 'postMessages',
    summary: 'Publishes messages',
    description:
      'Publishes all messages or none. Creates the queue if it does not exist. The headers `traceparent` and `tracestate` (W3C Trace Context) go with the messages.',
    permission: 'publish',
    body: jsonBody(postedMessagesSchema),
    answers: {
      201: withLinks(
        ['getMessage', 'explainMessage', 'eraseBody', 'listDeliveriesOfMessage'],
        { message: '$response.body#/ids/0' },
        json('The messages are in the ingress queue.', publishedSchema),
      ),
    },
    handle: async ({ params: { queue }, raw, headers, caller }) => {
      const posted = readJson(raw.body);
      const { ids, hasNoSubscription } = await publish(dependencies, queue, {
        messages: parseMessages(posted),
        bytes: Buffer.byteLength(posted.source),
        trace: parseTraceContext(headers),
      });
      audit(caller, { change: 'messages_posted', queue, messageIds: ids });
      const answer: z.input<typeof publishedSchema> = {
        resources: ids.map((id) => `${queuePath(queue)}/messages/${id}`),
        ids,
        ...(hasNoSubscription && { noSubscription: true }),
      };
      return jsonAnswer(answer, 201);
    },
  });

  addRoute({
    key: 'GET /v2/queues/{queue}/messages',
    id: 'listMessages',
    summary: 'Lists the messages that a queue accepted, newest first, with the states of their deliveries',
    query: messageListQuery,
    answers: {
      200: withLinks(
        ['getMessage', 'explainMessage', 'eraseBody', 'listDeliveriesOfMessage'],
        { message: '$response.body#/messages/0/id' },
        json('A page of messages.', messageList.schema),
      ),
    },
    handle: async ({ path, params, query: { limit, marker, deleted, ...asked } }) => {
      const queue = await existingQueue(dependencies, params.queue, { deleted });
      const window = { queue, ...completeWindow(asked, dependencies.clock.now()) };
      const page = await listMessages(dependencies, window, { limit, marker });
      const [since, until] = [timeText(window.since), timeText(window.until)];
      const items = page.items.map(messageSummary);
      return messageList.answer(path, { ...page, items }, { limit, since, until, deleted });
    },
  });

  addRoute({
    key: `GET ${MESSAGE}`,
    id: 'getMessage',
    summary: 'Shows a message with the states of its deliveries, and its data while that is stored',
    answers: { 200: json('The message.', messageViewSchema) },
    handle: async ({ params }) => ({
      headers: { 'content-type': 'application/json' },
      body: encodeMessageView(await messageDetail(dependencies, messageKey(params))),
    }),
  });

  addRoute({
    key: `DELETE ${MESSAGE}/body`,
    id: 'eraseBody',
    summary: 'Erases the data of a message',
    description: 'Permanent. Pending retries of the message are cancelled.',
    answers: { 204: noBody('The data is erased.') },
    refuses: [400, 404],
    handle: async ({ params, caller }) => {
      const message = messageKey(params);
      if ((await eraseBody(dependencies, message)) === 'no_such_message')
        throw noSuchMessage(dependencies.settings);
      audit(caller, { change: 'body_erased', ...message });
      return { status: 204 };
    },
  });
}

const messageList = listing('messages', messageSummarySchema);

/** The query of the list of messages; the default window is the last 24 hours. */
const messageListQuery = windowed(z.strictObject({ ...pageFields, ...windowFields, ...deletedField }));

/** The response to a post: the path and id of each message, in the order of the request. */
const publishedSchema = z.object({
  resources: z.array(z.string()),
  ids: z.array(z.string()),
  noSubscription: z
    .literal(true)
    .describe('The queue, perhaps made by this request, has no active subscription: the messages match none.')
    .exactOptional(),
});

/** Ten SQS batches. Zaqar accepts 20 messages. */
const MAX_MESSAGES = 100;

/** The body of a post. */
const postedMessagesSchema = z.strictObject({
  messages: z
    .array(
      z.strictObject({
        id: printable(1024)
          .refine((id) => !isConfirmationId(id), 'must not begin with the prefix of confirmation requests')
          .describe("The producer's id. A message with the same id is a duplicate. By default a new id.")
          .exactOptional(),
        type: publishedType
          .describe('The event type, by which subscriptions can select messages.')
          .exactOptional(),
        // `bodyFault` checks the source text instead, which is passed on unchanged.
        body: z.unknown().describe('The data of the message: any JSON value.').exactOptional(),
        ttl: seconds(1, TEN_YEARS_SECONDS)
          .describe('Seconds after which the message is no longer delivered.')
          .exactOptional(),
        delay: seconds(0, MAX_DELAY_SECONDS).describe('Seconds before the first attempt.').exactOptional(),
      }),
      'must be a list of messages',
    )
    .min(1, 'must hold at least one message')
    .max(MAX_MESSAGES, `must hold at most ${MAX_MESSAGES} messages`),
});

/**
 * Parses Zaqar's `{"messages": [{"body", …}]}`. Each `body` keeps its source text.
 * @throws RefusedRequest
 */
function parseMessages(json: Json): PostedMessage[] {
  const { messages } = parseWith(postedMessagesSchema, json.value);
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
