import type * as z from 'zod';

export type ApiRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Undefined values are omitted. */
  query?: Readonly<Record<string, string | number | undefined>>;
  /** Source text, sent unchanged. */
  body?: string;
  /** @default application/json */
  contentType?: string;
  /** Whether the request is safe to repeat. @default true except for POST and PATCH */
  repeatable?: boolean;
  /** A further status that counts as an answer, unless the body is an error. */
  accept?: number;
  signal?: AbortSignal | undefined;
};

export type ApiAnswer = { status: number; text: string; headers: Headers };

/** Client of the administration API, for the command and for the console page. */
export type ApiClient = {
  /** Display name. */
  name: string;
  /** @throws ApiRefusal when refused; Problem when there is no response */
  send: (request: ApiRequest) => Promise<ApiAnswer>;
  /** The response's JSON, parsed by the schema. @throws as `send`, and UnknownAnswer */
  call: <Answer>(request: ApiRequest, schema: z.ZodType<Answer>) => Promise<Answer>;
};

/** The query string with its question mark; empty without parameters. */
export function searchOf(query: NonNullable<ApiRequest['query']>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** A path of the API. Each value becomes one encoded path segment. */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, index) => path + encodeURIComponent(values[index - 1] ?? '') + text);
}
