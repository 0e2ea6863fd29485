import * as z from 'zod';
import { firstField } from '../shared/wire/fields.ts';
import type { paths } from './openapi.d.ts';
import { UnknownAnswer } from './refusal.ts';

/** A request as a client sends it. `path`: with encoded segments. `search`: empty, or a query with its question mark. */
export type ApiRequest = Sending & {
  method: string;
  path: string;
  search: string;
  body?: string;
  signal?: AbortSignal | undefined;
};

/** How requests of an operation are sent. */
type Sending = {
  /** @default application/json */
  contentType?: string;
  /** Whether a request is safe to repeat. @default true except for POST and PATCH */
  repeatable?: boolean;
  /** A further status that counts as an answer, unless the body is an error. */
  accept?: number;
};

export type ApiAnswer = { status: number; text: string; headers: Headers };

/** @throws ApiRefusal when refused */
export type Send = (request: ApiRequest) => Promise<ApiAnswer>;

/** The administration API, for the command and for the console page. All methods throw as `Send`, and UnknownAnswer. */
export type ApiClient = {
  /** Display name. */
  name: string;
  send: Send;
  call: <Name extends Route, Answer>(asked: Operation<Name, Answer>, given: Given<Name>) => Promise<Answer>;
  /** All pages, fetched as they are read. */
  pages: <Name extends Route, Page extends { links: Links }>(
    asked: Operation<Name, Page>,
    given: Given<Name>,
  ) => AsyncGenerator<Page, void>;
  /** All items of a listing, or `most`; returns whether there are more. */
  list: <Name extends Route, Item>(
    asked: Operation<Name, ListedPage<Item>>,
    given: GivenList<Name>,
  ) => AsyncGenerator<Item, boolean>;
  /** The same items at once. */
  items: <Name extends Route, Item>(
    asked: Operation<Name, ListedPage<Item>>,
    given: GivenList<Name>,
  ) => Promise<Listed<Item>>;
};

export function clientBy(name: string, send: Send): ApiClient {
  return {
    name,
    send,
    call: async (asked, given) => callBy(send, await buildRequest(asked, given), asked.schema),
    pages: (asked, given) => pages(send, asked, given),
    list: (asked, given) => list(send, asked, given),
    items: (asked, given) => readItems(list(send, asked, given)),
  };
}

type Verb = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** The route of an operation of the OpenAPI document, such as `GET /v2/queues/{queue}`. */
export type Route = { [Path in keyof paths]: `${Uppercase<Verb & keyof paths[Path]>} ${Path}` }[keyof paths];

type Described<Name> = Name extends `${infer Method} ${infer Path extends keyof paths}`
  ? paths[Path][Lowercase<Method> & keyof paths[Path]]
  : never;

type PathOf<Operation> = Operation extends { parameters: { path: infer Path } } ? { path: Path } : unknown;

type QueryOf<Operation> = Operation extends { parameters: { query: infer Query } }
  ? { query: Loose<Query> }
  : Operation extends { parameters: { query?: infer Query extends object } }
    ? { query?: Loose<Query> }
    : unknown;

/** Undefined values are omitted. Users type texts, which the API checks. */
type Loose<Query> = { [Name in keyof Query]: TextOr<Query[Name]> | undefined };

type TextOr<Value> = Value extends string ? string : Value;

/** Text is the source of a body, and is sent unchanged. */
type BodyOf<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? { body: string | MayBeUndefined<Content[keyof Content]> }
  : Operation extends { requestBody?: { content: infer Content } }
    ? { body?: string | MayBeUndefined<Content[keyof Content]> }
    : unknown;

/** Undefined values are omitted. */
type MayBeUndefined<Body> = { [Name in keyof Body]: Body[Name] | undefined };

/** The parameters and the body of a request, as the document describes them. */
export type Given<Name extends Route> = AnyGiven &
  PathOf<Described<Name>> &
  QueryOf<Described<Name>> &
  BodyOf<Described<Name>>;

/** `most`: by default all. */
export type GivenList<Name extends Route> = Given<Name> & { most?: number | undefined };

type AnyGiven = { path?: object; query?: object; body?: unknown; signal?: AbortSignal | undefined };

type AnswersOf<Operation> = Operation extends { responses: infer Responses }
  ? Responses[keyof Responses & (200 | 201 | 202)]
  : never;

/** The JSON of the successful answers, as the document describes it. */
type Documented<Name> =
  AnswersOf<Described<Name>> extends { content: { 'application/json': infer Answer } } ? Answer : undefined;

/** A route, and how its answers are read, because the deployment can have another version. */
export type Operation<Name extends Route, Answer> = {
  route: Name;
  schema: z.ZodType<Answer>;
  sending: Sending;
};

/** The type check fails for a schema that does not read the answers of the document. */
export function operation<Name extends Route, Answer, Input>(
  route: Name,
  schema: z.ZodType<Answer, Input> & (Documented<Name> extends Input ? unknown : never),
  sending: Sending = {},
): Operation<Name, Answer> {
  return { route, schema, sending };
}

/** The response's JSON, parsed by the schema; undefined for an empty response. @throws as `send`, and UnknownAnswer */
export async function callBy<Answer>(
  send: Send,
  request: ApiRequest,
  schema: z.ZodType<Answer>,
): Promise<Answer> {
  return parsedAnswer(await send(request), request, schema);
}

/** @throws UnknownAnswer if the schema does not match */
export function parsedAnswer<Answer>(
  { text }: Pick<ApiAnswer, 'text'>,
  request: Pick<ApiRequest, 'method' | 'path'>,
  schema: z.ZodType<Answer>,
): Answer {
  const json = z.string().transform((source, context): unknown => {
    try {
      return source === '' ? undefined : JSON.parse(source);
    } catch {
      context.addIssue('is not JSON');
      return z.NEVER;
    }
  });
  const parsed = json.pipe(schema).safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UnknownAnswer(request, firstField(parsed.error));
}

export async function buildRequest<Name extends Route>(
  { route, sending }: Operation<Name, unknown>,
  { path = {}, query = {}, body, signal }: Given<Name>,
  more: Readonly<Record<string, string | number | undefined>> = {},
): Promise<ApiRequest> {
  const [method = '', template = ''] = route.split(' ');
  return {
    ...sending,
    method,
    path: await fillPath(template, path),
    search: formatSearch({ ...query, ...more }),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal,
  };
}

async function fillPath(template: string, path: object): Promise<string> {
  const segments = new Map<string, unknown>(Object.entries(path));
  const message = segments.get('message');
  if (typeof message === 'string') segments.set('message', await routableId(message));
  return template.replaceAll(/\{(\w+)\}/g, (_text, name: string) =>
    encodeURIComponent(String(segments.get(name))),
  );
}

/** A producer's id that no path can carry, as the hash by which the API knows it: `toMessageId`, which needs Node.js. */
async function routableId(id: string): Promise<string> {
  if (!/[/?\p{Cc}]/u.test(id)) return id;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(['', id])));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return `x_${base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}`;
}

/** The query string with its question mark; empty without parameters. Undefined values are omitted. */
export function formatSearch(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** Links of a page; the one with rel `next` leads to the next page. */
export type Links = readonly { rel: string; href: string }[];

async function* pages<Name extends Route, Page extends { links: Links }>(
  send: Send,
  asked: Operation<Name, Page>,
  given: Given<Name>,
  limit: () => number | undefined = () => undefined,
): AsyncGenerator<Page, void> {
  // All parameters of the link: the API adds those that it chose, such as the end of a window.
  let next: Record<string, string> | undefined = {};
  do {
    const request = await buildRequest(asked, given, { limit: limit(), ...next });
    const page: Page = await callBy(send, request, asked.schema);
    yield page;
    const params = paramsOfNext(page.links);
    // Fewer may be wanted by then.
    params?.delete('limit');
    next = params && Object.fromEntries(params);
  } while (next !== undefined);
}

export type ListedPage<Item> = { items: Item[]; links: Links };

/** The API's maximum page size. */
const MAX_ON_A_PAGE = 100;

async function* list<Name extends Route, Item>(
  send: Send,
  asked: Operation<Name, ListedPage<Item>>,
  given: GivenList<Name>,
): AsyncGenerator<Item, boolean> {
  let { most: room = Infinity } = given;
  for await (const { items, links } of pages(send, asked, given, () => Math.min(MAX_ON_A_PAGE, room))) {
    yield* items.slice(0, room);
    room -= items.length;
    if (room <= 0) return markerIn(links) !== undefined;
  }
  return false;
}

/** `more`: there are further items. */
export type Listed<Item> = { items: Item[]; more: boolean };

async function readItems<Item>(listed: AsyncGenerator<Item, boolean>): Promise<Listed<Item>> {
  const items: Item[] = [];
  for (;;) {
    const next = await listed.next();
    if (next.done === true) return { items, more: next.value };
    items.push(next.value);
  }
}

/** The marker in the link to the next page; undefined on the last page. */
export function markerIn(links: Links): string | undefined {
  return paramsOfNext(links)?.get('marker') ?? undefined;
}

function paramsOfNext(links: Links): URLSearchParams | undefined {
  const next = links.find(({ rel }) => rel === 'next');
  return next && URL.parse(next.href, 'https://api.invalid')?.searchParams;
}
