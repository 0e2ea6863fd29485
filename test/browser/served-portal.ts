import { STSClient } from '@aws-sdk/client-sts';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import type { PortalSettings } from '../../functions/api/dependencies.ts';
import { operate } from '../../functions/operate/operate.ts';
import { answerPortal, type PortalContext, readSession } from '../../functions/portal/portal.ts';
import { createSessionCredentials } from '../../shared/adapters/sts/session-credentials.ts';
import { readPage } from '../../shared/adapters/page-files.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { CAPABILITIES, type Capability } from '../../shared/domain/portal/vocabulary.ts';
import { awsStub } from '../support/aws-stub.ts';
import { aMessage } from '../support/builders.ts';
import { aDelivery, anAttempt, answered } from '../support/delivery-builders.ts';
import { closeServer, listen } from '../support/listening.ts';
import { toHttpApiEvent } from '../support/whole-api.ts';
import { apiUnderTest } from '../unit/api/api-under-test.ts';
import { builtPortal } from './portal-build.ts';
import { CALLER_ARN, servedApi, type ServedApi } from './served-api.ts';

/** What a link grants, and how long it can be opened. */
export type Grant = {
  queue: string;
  /** @default all */
  capabilities?: readonly Capability[];
  event_types?: readonly string[];
  expires_in?: number;
};

const ROLE = 'arn:aws:iam::123456789012:role/Portal';
const ASSUMED = 'arn:aws:sts::123456789012:assumed-role/Portal';

/** As deployed without further settings. */
const SETTINGS: PortalSettings = {
  roleArn: ROLE,
  title: 'Acme webhooks',
  accent: undefined,
  limits: { endpoints: 10 },
  responseBodies: true,
};

const linkSchema = z.object({ url: z.string(), session_id: z.string() });

/**
 * The page by the function of the portal, in front of the API with its gate and with in-memory ports. `catalogue`: event types
 * by name.
 */
export const servedPortal = async (catalogue: Readonly<Record<string, object>> = {}) => {
  let isDown = false;
  let aheadMs = 0;
  const settings = { ...SETTINGS };
  const api: ServedApi = await servedApi({
    settings: { ...apiUnderTest().dependencies.settings, portal: settings },
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    deliveryQueue: {
      send: async (jobs: readonly DeliveryJob[]) => {
        for (const { key, acceptedAt } of jobs) await deliverFirst(api, key, acceptedAt, isDown);
      },
    },
  });
  for (const [name, type] of Object.entries(catalogue)) await put(api, `/v2/event-types/${name}`, type);
  const iam = await iamStub();
  const embedders: string[] = [];
  const faults: unknown[] = [];
  const context: PortalContext = {
    page: await readPage(await builtPortal()),
    frameAncestors: embedders,
    apiUrl: api.url,
    sign: ({ headers }, { sessionToken }) => {
      const signed = new Headers(headers);
      signed.set(CALLER_ARN, `${ASSUMED}/${sessionToken}`);
      return Promise.resolve(signed);
    },
    sessions: createSessionCredentials(
      { sts: iam.sts, roleArn: ROLE, apiArn: 'arn:aws:execute-api:eu-central-1:123456789012:api/$default' },
      (secret) => readSession({ apiUrl: api.url, fetch }, secret),
    ),
    fetch,
    reportFault: (fault) => faults.push(fault),
  };
  /** Everything that a server gets, apart from the bodies of exchanges. */
  const seen: string[] = [];
  /** All that browsers were answered, apart from files. */
  const answers: string[] = [];

  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await answerPortal(context, await toEvent(request));
    const { statusCode, headers, body, isBase64Encoded = false } = answer;
    if (!isBase64Encoded) answers.push(body);
    response.writeHead(statusCode, headers).end(Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'));
  };
  const server = await serve((request, response) => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    answerTo(request, response).catch((fault: unknown) => {
      faults.push(fault);
      response.destroy();
    });
  });

  return {
    api,
    seen,
    answers,
    /** Internal errors of the function. */
    faults,
    url: `${server.url}/portal/`,
    /** A new link to a queue, which is created if it does not exist. */
    link: async ({ queue, ...grant }: Grant) => {
      await put(api, `/v2/queues/${queue}`, {});
      const body = { capabilities: CAPABILITIES, ...grant };
      const answer = await api.call('POST', `/v2/queues/${queue}/portal-links`, body);
      const { url, session_id: sessionId } = linkSchema.parse(answer.body);
      const { pathname, hash } = new URL(url);
      return { url: `${server.url}${pathname}${hash}`, token: hash.slice(1), sessionId };
    },
    /** Other settings of the deployment, until the end of the test. */
    deployWith: (changed: Partial<PortalSettings>): void => {
      Object.assign(settings, changed);
      onTestFinished(() => void Object.assign(settings, SETTINGS));
    },
    /** Whether the endpoints of customers fail. */
    setDown: (down: boolean): void => {
      isDown = down;
    },
    /** The clock of the API is ahead, until the end of the test. */
    setAhead: (milliseconds: number): void => {
      aheadMs = milliseconds;
      onTestFinished(() => {
        aheadMs = 0;
      });
    },
    /** Does what the API has ordered, as the function operate does, and delivers what it reopened. */
    operateAndDeliver: async (): Promise<void> => {
      for (const { operation } of api.queued.splice(0))
        await operate(operateContext(api), operation, () => 40_000);
      for (const wakeUp of api.wakeUps.splice(0)) await deliverAgain(api, wakeUp.key);
    },
    /** Serves a page of another origin that shows the portal in a frame, and allows its origin if it is `listed`. */
    embed: async (src: string, { listed }: { listed: boolean }) => {
      const host = await serve((request, response) => {
        seen.push(`embedder ${request.url} ${JSON.stringify(request.headers)}`);
        response.setHeader('content-type', 'text/html').end(embeddingPage(src));
      });
      const origin = host.url.replace('127.0.0.1', 'localhost');
      if (listed) embedders.push(origin);
      return { origin, close: host.close };
    },
    close: async (): Promise<void> => {
      await Promise.all([server.close(), api.close(), iam.close()]);
    },
  };
};

export type ServedPortal = Awaited<ReturnType<typeof servedPortal>>;

const put = async (api: ServedApi, path: string, body: object): Promise<void> => {
  const answer = await api.call('PUT', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
};

/** STS, where the name of a session is its token. */
const iamStub = async () => {
  const stub = await awsStub(({ body }) => {
    const name = new URLSearchParams(body).get('RoleSessionName') ?? '';
    const keys = `<AccessKeyId>id</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>${name}</SessionToken>`;
    return {
      headers: { 'content-type': 'text/xml' },
      body: `<AssumeRoleResponse><AssumeRoleResult><Credentials>${keys}</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
    };
  });
  const sts = new STSClient(stub.config);
  return {
    sts,
    close: async (): Promise<void> => {
      sts.destroy();
      await stub.close();
    },
  };
};

/** What API Gateway gives the function for a request. */
const toEvent = async (request: IncomingMessage): Promise<object> => {
  const { method = 'GET', url = '/', headers } = request;
  const body = await buffer(request);
  const asked = new Request(new URL(url, 'https://api.invalid'), {
    method,
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  });
  return { ...(await toHttpApiEvent(asked, { requestId: 'request-1' })), headers };
};

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

const serve = async (listener: RequestListener) => {
  const server = createServer(listener);
  const port = await listen(server, '127.0.0.1');
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server) };
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
