import { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiRefusal, PortalLinks, type PortalLinksOptions, UnknownAnswer } from '../../../client/portal.ts';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const CREATED: StubAnswer = {
  status: 201,
  body: JSON.stringify({
    url: 'https://hooks.example/portal/#phlink_x',
    session_id: 'customer-42',
    expires_at: '2026-08-01T12:00:00.000Z',
  }),
};

/** Links of an API that gives every request this answer. */
const linksOf = async (answer: StubAnswer, options: Partial<PortalLinksOptions> = {}) => {
  const { config, requests, close } = await awsStub(() => answer);
  onTestFinished(close);
  const client = new SQSClient({ region: config.region, credentials: config.credentials });
  return { links: new PortalLinks({ apiUrl: config.endpoint, client, ...options }), requests };
};

describe('links to the portal', () => {
  it('are made with what the customer may do', async () => {
    const { links, requests } = await linksOf(CREATED);
    const link = await links.create('acme', {
      capabilities: ['manage', 'test'],
      eventTypes: ['order.paid'],
      expiresIn: 600,
      sessionId: 'customer-42',
    });
    expect(link).toEqual({
      url: 'https://hooks.example/portal/#phlink_x',
      sessionId: 'customer-42',
      expiresAt: new Date('2026-08-01T12:00:00Z'),
    });
    expect(requests).toMatchObject([{ method: 'POST', path: '/v2/queues/acme/portal-links' }]);
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      capabilities: ['manage', 'test'],
      event_types: ['order.paid'],
      expires_in: 600,
      session_id: 'customer-42',
    });
  });

  it('leave to the API what the backend does not choose', async () => {
    const { links, requests } = await linksOf(CREATED);
    await links.create('acme', { capabilities: [] });
    expect(requests.map(({ body }) => body)).toEqual(['{"capabilities":[]}']);
  });

  it('end with their sessions, also if the names need encoding', async () => {
    const { links, requests } = await linksOf({ status: 204, body: '' });
    await links.end('acme', 'customer/42');
    expect(requests).toMatchObject([
      { method: 'DELETE', path: '/v2/queues/acme/portal-links/customer%2F42', body: '' },
    ]);
  });

  it('are refused with the code and the fields of the API', async () => {
    const error = {
      code: 'invalid_request',
      message: 'session_id must be shorter',
      fields: [{ field: 'session_id', message: 'must be shorter' }],
    };
    const { links } = await linksOf({ status: 400, body: JSON.stringify({ error }) });
    const refusal = links.create('acme', { capabilities: [] });
    await expect(refusal).rejects.toBeInstanceOf(ApiRefusal);
    await expect(refusal).rejects.toMatchObject({ status: 400, ...error });
  });

  it('are refused by API Gateway without a code', async () => {
    const { links } = await linksOf({ status: 403, body: '{"message":"Forbidden"}' });
    await expect(links.end('acme', 'x')).rejects.toMatchObject({ status: 403, message: 'Forbidden' });
  });

  it.each(['', 'no JSON', '{"url":"https://hooks.example"}'])(
    'are not guessed from an answer of another form: %s',
    async (body) => {
      const { links } = await linksOf({ status: 201, body });
      await expect(links.create('acme', { capabilities: [] })).rejects.toBeInstanceOf(UnknownAnswer);
    },
  );

  it('follow no redirect, which would get the signature', async () => {
    const { links, requests } = await linksOf({ status: 307, headers: { location: '/elsewhere' } });
    await expect(links.create('acme', { capabilities: [] })).rejects.toThrow('fetch failed');
    expect(requests).toHaveLength(1);
  });
});

describe('a request for a link', () => {
  it('is signed with region and credentials of the environment', async () => {
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    const { links, requests } = await linksOf(CREATED, { client: undefined });
    await links.create('acme', { capabilities: [] });
    expect(requests[0]?.headers['x-amz-security-token']).toBe('session');
    expect(requests[0]?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/execute-api\/aws4_request, /,
    );
  });

  it('has a new bearer token each time, where the API takes tokens', async () => {
    let count = 0;
    const { links, requests } = await linksOf(CREATED, { token: () => `token-${(count += 1)}` });
    for (let calls = 0; calls < 2; calls += 1) await links.create('acme', { capabilities: [] });
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  it('goes below the path of the API, with or without a slash at its end', async () => {
    const { config, requests, close } = await awsStub(() => CREATED);
    onTestFinished(close);
    for (const end of ['', '/'])
      await new PortalLinks({ apiUrl: `${config.endpoint}/hooks${end}`, token: () => 't' }).create('acme', {
        capabilities: [],
      });
    expect(requests.map(({ path }) => path)).toEqual(Array(2).fill('/hooks/v2/queues/acme/portal-links'));
  });

  it.each(['', 'api.example.com'])('needs the URL of the API, which "%s" is not', (apiUrl) => {
    expect(() => new PortalLinks({ apiUrl })).toThrow(TypeError);
  });
});
