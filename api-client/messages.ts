import type * as z from 'zod';
import { parseJson, propertySource } from '../shared/wire/json-slice.ts';
import { isNotFound, isRefusal, orElse } from './refusal.ts';
import { type ApiClient, buildRequest, parsedAnswer } from './api-client.ts';
import { getMessage } from './operations.ts';

export type MessageView = z.output<typeof getMessage.schema>;

/** `text` is the response unchanged: serialising it again would alter the published `body`. */
export type ShownMessage = { view: MessageView; text: string };

export async function showMessage(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<ShownMessage> {
  const request = await buildRequest(getMessage, { path: { queue, message: id }, signal });
  const { text } = await api.send(request);
  return { view: parsedAnswer({ text }, request, getMessage.schema), text };
}

/** Undefined: the queue has no such message. */
export function findMessage(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<ShownMessage | undefined> {
  // 400: the text cannot be the id of a message.
  const isMissing = (failure: unknown): boolean =>
    isNotFound(failure) || (isRefusal(failure) && failure.status === 400);
  return showMessage(api, queue, id, signal).catch(orElse(isMissing, undefined));
}

/** The source text of the message's data; undefined if it is not kept. */
export function dataIn({ text }: Pick<ShownMessage, 'text'>): string | undefined {
  const json = parseJson(text);
  return json && propertySource(json, 'body');
}
