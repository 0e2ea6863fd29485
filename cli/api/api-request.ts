import type * as z from 'zod';

export type ApiRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Those that are undefined are left out. */
  query?: Readonly<Record<string, string | number | undefined>>;
  /** Source text, sent as it is. */
  body?: string;
  /** @default application/json */
  contentType?: string;
  /** Whether a second one does no harm. @default all but POST and PATCH */
  repeatable?: boolean;
  /** A status over 299 that is an answer, too, unless its body is an error. */
  accept?: number;
  signal?: AbortSignal;
};

export type ApiAnswer = { status: number; text: string; headers: Headers };

/** The administration API as the command calls it, and the console's page by way of the command. */
export type ApiClient = {
  /** For people. */
  name: string;
  /** @throws ApiRefusal, or an error that says so when there is no answer. */
  send: (request: ApiRequest) => Promise<ApiAnswer>;
  /** The answer's JSON as the schema reads it. @throws as `send` does, and UnknownAnswer */
  call: <Answer>(request: ApiRequest, schema: z.ZodType<Answer>) => Promise<Answer>;
};

/** A query with its question mark; empty where there is none. */
export function searchOf(query: NonNullable<ApiRequest['query']>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** A path of the API. Each value is one segment of it, whatever it holds. */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, index) => path + encodeURIComponent(values[index - 1] ?? '') + text);
}
