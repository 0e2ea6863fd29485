import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import { readPage } from '../../shared/adapters/page-files.ts';
import { operate } from '../../functions/operate/operate.ts';
import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { aDelivery, anAttempt, answered } from '../support/delivery-builders.ts';
import { aMessage } from '../support/builders.ts';
import { builtPortal } from './portal-build.ts';
import { servedApi, type ServedApi } from './served-api.ts';

/** What a link grants, as the session answer says it. */
export type Grant = {
  queue: string;
  capabilities: readonly string[];
  title?: string;
  accent?: string;
  event_types?: readonly string[];
  limits?: { endpoints: number; hosts?: readonly string[]; per_second?: number };
  response_bodies?: boolean;
};

export const ALL = ['manage', 'secrets', 'test', 'deliveries', 'retry'];

/** The capability that a request needs, by its method and path below the queue; undefined: none. */
const NEEDS: readonly (readonly [RegExp, string])[] = [
  [/^POST subscriptions\/[^/]+\/secret\/rotate$/, 'secrets'],
  [/^POST subscriptions\/[^/]+\/test$/, 'test'],
  [/^GET (deliveries$|messages\/|subscriptions\/[^/]+\/deliveries$)/, 'deliveries'],
  [/^POST messages\/|^\w+ recoveries/, 'retry'],
  [/^(POST|PATCH|DELETE) subscriptions/, 'manage'],
];

const unauthorized = { error: { code: 'unauthorized', message: 'the link or the session is not valid' } };
const forbidden = { error: { code: 'forbidden', message: 'the link does not include this' } };

type Answer = { status: number; body: string; type?: string; headers?: Record<string, string> };

const json = (status: number, body: unknown): Answer => ({
  ...{ status, body: JSON.stringify(body), type: 'application/json' },
  headers: { 'cache-control': 'no-store' },
});

/** The page and its interface in front of the API with in-memory ports. The gate of the API is tested without the page. */
export const servedPortal = async (catalogue: readonly object[] = []) => {
  let isDown = false;
  const api: ServedApi = await servedApi({
    deliveryQueue: {
      send: async (jobs: readonly DeliveryJob[]) => {
        for (const { key, acceptedAt } of jobs) await deliverFirst(api, key, acceptedAt, isDown);
      },
    },
  });
  const page = await readPage(await builtPortal());
  const links = new Map<string, Grant>();
  const sessions = new Map<string, Grant>();
  /** Everything that a server gets, apart from the bodies of exchanges. */
  const seen: string[] = [];
  const embedders: string[] = [];

  const answerSession = (grant: Grant, session?: string): Answer =>
    json(200, {
      ...{ title: 'Acme webhooks', response_bodies: true, frame_ancestors: embedders },
      ...{ limits: { endpoints: 10 }, expires_at: new Date(Date.now() + 8 * 3_600_000).toISOString() },
      ...grant,
      ...(session !== undefined && { session }),
    });

  const exchange = (body: string): Answer => {
    const { token } = z.object({ token: z.string() }).parse(JSON.parse(body));
    const grant = links.get(token);
    links.delete(token);
    if (grant === undefined) return json(401, unauthorized);
    const session = `session-${randomUUID()}`;
    sessions.set(session, grant);
    return answerSession(grant, session);
  };

  const proxy = async (grant: Grant, method: string, rest: string, body: string): Promise<Answer> => {
    const [path = '', search = ''] = rest.split(/(?=\?)/);
    const needed = NEEDS.find(([route]) => route.test(`${method} ${path}`))?.[1];
    if (needed !== undefined && !grant.capabilities.includes(needed)) return json(403, forbidden);
    if (path === 'event-types') return json(200, { event_types: catalogue, links: [] });
    const url = `${api.url}/v2/queues/${grant.queue}/${path}${search}`;
    const answer = await fetch(url, { method, ...(body !== '' && { body }) });
    return json(answer.status, await answer.json().catch(() => undefined));
  };

  const serveFile = (path: string): Answer => {
    if (path === '') return { status: 308, body: '', headers: { location: '/portal/' } };
    const file = page.get(path);
    if (file === undefined)
      return json(404, { error: { code: 'not_found', message: 'there is no such page' } });
    return { status: 200, body: file.bytes.toString(), headers: file.headers };
  };

  const answerInSession = async (request: IncomingMessage, rest: string, body: string): Promise<Answer> => {
    const { method = 'GET', headers } = request;
    const grant = sessions.get(String(headers['posthaste-portal-session']));
    if (grant === undefined) return json(401, unauthorized);
    return rest === '' ? answerSession(grant) : proxy(grant, method, rest, body);
  };

  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    const { method, url = '/' } = request;
    const body = (await buffer(request)).toString();
    const [, rest = ''] = /^\/portal\/api\/(.*)/.exec(url) ?? [];
    if (rest === '' && url !== '/portal/session') return serveFile(url.slice('/portal'.length));
    return rest === '' && method === 'POST' ? exchange(body) : answerInSession(request, rest, body);
  };

  const server = await listen((request, response) => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    void answerTo(request).then(({ status, body, type, headers }) => {
      response.writeHead(status, {
        ...(type !== undefined && { 'content-type': type }),
        ...headers,
        'content-security-policy': [...POLICY, `frame-ancestors ${embedders.join(' ') || "'none'"}`].join(
          '; ',
        ),
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      response.end(body);
    });
  });

  return {
    api,
    seen,
    url: `${server.url}/portal/`,
    /** A new link. */
    link: (grant: Grant): { url: string; token: string } => {
      const token = `token-${randomUUID()}`;
      links.set(token, grant);
      return { url: `${server.url}/portal/#${token}`, token };
    },
    endSessions: (): void => {
      sessions.clear();
    },
    /** Whether the endpoints of customers fail. */
    setDown: (down: boolean): void => {
      isDown = down;
    },
    /** Does what the API has ordered, as the function operate does, and delivers what it reopened. */
    operateAndDeliver: async (): Promise<void> => {
      for (const { operation } of api.queued.splice(0))
        await operate(operateContext(api), operation, () => 40_000);
      for (const wakeUp of api.wakeUps.splice(0)) await deliverAgain(api, wakeUp.key);
    },
    /** Serves a page of another origin that shows the portal in a frame, and allows its origin if it is `listed`. */
    embed: async (src: string, { listed }: { listed: boolean }) => {
      const host = await listen((request, response) => {
        seen.push(`embedder ${request.url} ${JSON.stringify(request.headers)}`);
        response.setHeader('content-type', 'text/html').end(embeddingPage(src));
      });
      const origin = host.url.replace('127.0.0.1', 'localhost');
      if (listed) embedders.push(origin);
      return { origin, close: host.close };
    },
    close: async (): Promise<void> => {
      await Promise.all([server.close(), api.close()]);
    },
  };
};

export type ServedPortal = Awaited<ReturnType<typeof servedPortal>>;

/** As the console has it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** As docs/portal.md shows it. */
const embeddingPage = (src: string): string => `<!doctype html><html lang="en"><title>Shop</title>
<main><h1>Shop</h1><iframe id="portal" title="Webhooks" width="900" height="300" src="${src}"></iframe></main>
<script>
  window.heights = [];
  addEventListener('message', ({ data, source, origin }) => {
    const frame = document.getElementById('portal');
    if (source !== frame.contentWindow || origin !== new URL(frame.src).origin) return;
    if (data.type !== 'posthaste-portal-height') return;
    window.heights.push(data.height);
    frame.style.height = data.height + 'px';
  });
</script></html>`;

const listen = async (listener: RequestListener) => {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
};

const operateContext = ({ dependencies, registry }: ServedApi) => ({
  ports: { ...dependencies, subscriptions: registry },
  settings: { retentionMs: 30 * 86_400_000, retryAfterCapMs: 3_600_000 },
});

/** The first attempt, and the end of the delivery. */
const deliverFirst = async (
  { deliveries, messageRecords }: ServedApi,
  key: DeliveryKey,
  acceptedAt: number,
  isDown: boolean,
): Promise<void> => {
  const message = aMessage({ queue: key.queue, id: key.messageId });
  const expiresAt = acceptedAt + 30 * 86_400_000;
  await messageRecords.keepBody({ key, acceptedAt }, { kind: 'inline', message }, expiresAt);
  const attempt = { startedAt: acceptedAt + 40, durationMs: 60 };
  const end = isDown
    ? {
        ...({ status: 'exhausted', reason: 'retries_exhausted' } as const),
        attempts: [
          anAttempt({ ...attempt, outcome: 'failed', result: answered(503, 'down for maintenance') }),
        ],
      }
    : {
        status: 'delivered' as const,
        attempts: [anAttempt({ ...attempt, outcome: 'delivered', result: answered(204) })],
      };
  const create = aDelivery({ key, acceptedAt, updatedAt: acceptedAt, expiresAt, ...end });
  await deliveries.write({ name: 'open', key, expect: { kind: 'absent' }, create });
};

/** Another round succeeds. */
const deliverAgain = async ({ deliveries }: ServedApi, key: DeliveryKey): Promise<void> => {
  const { attempts = [], round = 1, expiresAt = 0 } = (await deliveries.find(key)) ?? {};
  const now = Date.now();
  const appendAttempt = anAttempt({
    ...{ number: attempts.length + 1, round, startedAt: now, durationMs: 55 },
    ...{ phase: 'manual', outcome: 'delivered', result: answered(204) },
  });
  await deliveries.write({
    ...{ name: 'record', key, expect: { kind: 'present' } },
    change: { status: 'delivered', appendAttempt, updatedAt: now, expiresAt },
  });
};
