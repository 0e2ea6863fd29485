import type * as z from 'zod';
import { parseJson, propertySource } from '../shared/wire/json-slice.ts';
import { ApiRefusal, isNotFound } from './refusal.ts';
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
  const request = buildRequest(getMessage, { path: { queue, message: id }, signal });
  const { text } = await api.send(request);
  return { view: parsedAnswer({ text }, request, getMessage.schema), text };
}

/** Undefined: the queue has no such message. */
export async function findMessage(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<ShownMessage | undefined> {
  try {
    return await showMessage(api, queue, id, signal);
  } catch (error) {
    // 400: the text cannot be the id of a message.
    if (isNotFound(error) || (error instanceof ApiRefusal && error.status === 400)) return undefined;
    throw error;
  }
}

/** The source text of the message's data; undefined if it is not kept. */
export function dataIn({ text }: Pick<ShownMessage, 'text'>): string | undefined {
  const json = parseJson(text);
  return json && propertySource(json, 'body');
}
