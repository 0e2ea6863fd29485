import { SQSClient } from '@aws-sdk/client-sqs';
import { ApiRefusal, UnknownAnswer } from '../api-client/refusal.ts';
import { type ApiCall, signedHeaders } from '../shared/adapters/aws/signed-headers.ts';
import { jsonOrUndefined } from '../shared/domain/json.ts';
import type { Capability } from '../shared/domain/portal/vocabulary.ts';
import { firstField } from '../shared/wire/fields.ts';
import { portalLinkSchema } from '../shared/wire/views/portal.ts';

export { ApiRefusal, UnknownAnswer };

export type PortalLinksOptions = {
  /** The API: the output `ApiUrl`, or its own domain name. */
  apiUrl: string;
  /** Its region and credentials sign the requests. @default a client with those of the environment */
  client?: SQSClient | undefined;
  /** For `apiAuthorization=jwt`: gives the bearer token of each request, in place of a signature. */
  token?: (() => string | Promise<string>) | undefined;
};

export type NewPortalLink = {
  /** What the customer may do besides seeing endpoints, event types and charts. */
  capabilities: readonly Capability[];
  /** The event types that endpoints may choose, 1 to 100. @default all */
  eventTypes?: readonly string[] | undefined;
  /** Seconds until which the link must be opened, 60 to 604800. @default 3600 */
  expiresIn?: number | undefined;
  /** Names the sessions of the link: 1 to 40 of `A-Z a-z 0-9 _ -`. @default a random one */
  sessionId?: string | undefined;
};

/** `url`: send the customer there at once, and store it nowhere. `expiresAt`: until when it can be opened. */
export type PortalLink = { url: string; sessionId: string; expiresAt: Date };

/**
 * Links to the page on which a customer manages the endpoints of one queue (docs/portal.md). Each call is one request of
 * at most 30 seconds, and throws ApiRefusal, also for a queue that does not exist; the error of the SDK without
 * credentials or region; the error of `fetch` if the API cannot be reached.
 *
 * @example
 * const links = new PortalLinks({ apiUrl });
 * const { url } = await links.create('acme', { capabilities: ['manage'], sessionId: 'customer-42' });
 */
export class PortalLinks {
  readonly #apiUrl: string;
  readonly #client: SQSClient;
  readonly #token: PortalLinksOptions['token'];

  constructor({ apiUrl, client = new SQSClient(), token }: PortalLinksOptions) {
    if (!/^https?:\/\/./.test(apiUrl)) throw new TypeError('apiUrl must be the URL of the API');
    this.#apiUrl = apiUrl.replace(/\/+$/, '');
    this.#client = client;
    this.#token = token;
  }

  /** Makes a link that can be opened once. @throws UnknownAnswer from a deployment of another version */
  async create(queue: string, link: NewPortalLink): Promise<PortalLink> {
    const { capabilities, eventTypes: event_types, expiresIn: expires_in, sessionId: session_id } = link;
    const body = JSON.stringify({ capabilities, event_types, expires_in, session_id });
    const request = { method: 'POST', path: pathOfLinks(queue), body };
    const parsed = portalLinkSchema.safeParse(jsonOrUndefined(await this.#send(request)));
    if (!parsed.success) throw new UnknownAnswer(request, firstField(parsed.error));
    const { url, session_id: sessionId, expires_at } = parsed.data;
    return { url, sessionId, expiresAt: new Date(expires_at) };
  }

  /** Ends all links and sessions of a session id at once. A no-op if there are none. */
  async end(queue: string, sessionId: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `${pathOfLinks(queue)}/${encodeURIComponent(sessionId)}` });
  }

  async #send({ method, path, body }: { method: string; path: string; body?: string }): Promise<string> {
    const url = this.#apiUrl + path;
    const call = { method, url, headers: new Headers(), ...(body !== undefined && { body }) };
    const headers = await this.#authorize(call);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // The API never redirects, and a signature must not be sent to another host.
    const response = await fetch(url, { ...call, headers, redirect: 'error', signal });
    const text = await response.text();
    if (!response.ok) throw new ApiRefusal(`${method} ${path}`, response.status, text);
    return text;
  }

  async #authorize(call: ApiCall): Promise<Headers> {
    if (this.#token !== undefined) return new Headers({ authorization: `Bearer ${await this.#token()}` });
    const { region, credentials } = this.#client.config;
    return signedHeaders({ region: await region(), credentials: () => credentials() })(call);
  }
}

/** As long as API Gateway waits for the function. */
const TIMEOUT_MS = 30_000;

function pathOfLinks(queue: string): string {
  return `/v2/queues/${encodeURIComponent(queue)}/portal-links`;
}
