import * as z from 'zod';
import { parseJson, propertySource } from '../../shared/wire/json-slice.ts';
import { messageSummarySchema, messageViewSchema } from '../../shared/wire/views/message.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { parsedAnswer } from './parsed-answer.ts';
import { linksSchema, listing, type Limits } from './listing.ts';

export type MessageView = z.infer<typeof messageViewSchema>;

/** `text` is the response unchanged: serialising it again would alter the published `body`. */
export type ShownMessage = { view: MessageView; text: string };

export async function showMessage(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<ShownMessage> {
  const path = apiPath`/v2/queues/${queue}/messages/${id}`;
  const request = { method: 'GET', path, signal } as const;
  const { text } = await api.send(request);
  return { view: parsedAnswer({ text }, request, messageViewSchema), text };
}

/** The source text of the message's data; undefined if it is not kept. */
export function dataIn({ text }: Pick<ShownMessage, 'text'>): string | undefined {
  const json = parseJson(text);
  return json && propertySource(json, 'body');
}

export type ListedMessage = z.infer<typeof messageSummarySchema>;

const pageSchema = z
  .object({ messages: z.array(messageSummarySchema), links: linksSchema })
  .transform(({ messages, links }) => ({ items: messages, links }));

/** Messages accepted in a window (RFC 3339; by default the last 24 hours), newest first. */
export function listMessages(
  api: ApiClient,
  queue: string,
  { most, signal, ...window }: Limits & { since?: string | undefined; until?: string | undefined } = {},
): AsyncGenerator<ListedMessage, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages`,
    query: window,
    schema: pageSchema,
    most,
    signal,
  });
}

export async function eraseBody(api: ApiClient, queue: string, id: string): Promise<void> {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}/messages/${id}/body` });
}

const postedSchema = z.object({ ids: z.array(z.string()) });

/**
 * Publishes messages and returns their ids in order. `body` is the source text of `{"messages": [...]}`. Give every
 * message an id: the request may be repeated, and only messages with ids are then recognised as duplicates.
 */
export async function postMessages(api: ApiClient, queue: string, body: string): Promise<string[]> {
  const path = apiPath`/v2/queues/${queue}/messages`;
  const request = { method: 'POST', path, body, repeatable: true } as const;
  return (await api.call(request, postedSchema)).ids;
}
