import * as z from 'zod';
import { messageViewSchema } from '../../shared/messages/message-view.ts';
import { parsedAnswer, type ApiClient } from './api-client.ts';
import { apiPath } from './api-path.ts';

export type MessageView = z.infer<typeof messageViewSchema>;

/** `text` is the answer as it came: printed anew, its `body` would not be what was published. */
export const showMessage = async (
  api: ApiClient,
  queue: string,
  id: string,
): Promise<{ view: MessageView; text: string }> => {
  const request = { method: 'GET', path: apiPath`/v2/queues/${queue}/messages/${id}` } as const;
  const { text } = await api.send(request);
  return { view: parsedAnswer({ text }, request, messageViewSchema), text };
};

export const eraseBody = async (api: ApiClient, queue: string, id: string): Promise<void> => {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}/messages/${id}/body` });
};

const postedSchema = z.object({ ids: z.array(z.string()) });

/**
 * `body` is the source text of `{"messages": [...]}`. Messages that bring ids can be posted twice: the second is a duplicate.
 * @returns their ids, in order
 */
export const postMessages = async (
  api: ApiClient,
  queue: string,
  { body, signal }: { body: string; signal?: AbortSignal },
): Promise<string[]> => {
  const path = apiPath`/v2/queues/${queue}/messages`;
  const request = { method: 'POST', path, body, repeatable: true, ...(signal && { signal }) } as const;
  return (await api.call(request, postedSchema)).ids;
};
