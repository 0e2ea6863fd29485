import assert from 'node:assert/strict';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as fc from 'fast-check';
import { parseReceipt, receiptText } from '../../functions/api/pull/answer.ts';
import { parseHttpApiEvent } from '../../functions/api/http-api-event.ts';
import {
  authOption,
  parseCertificates,
  parsePrivateKey,
} from '../../functions/api/subscriptions/auth-option.ts';
import { postHeaders } from '../../functions/api/subscriptions/post-headers.ts';
import { nameListing, pageUpTo, parseMarker, parseStartPlace } from '../../shared/adapters/dynamodb/pages.ts';
import { parseAuth } from '../../shared/domain/subscription/auth.ts';
import { parseContentFilter } from '../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../shared/domain/subscription/content-filter.ts';
import { makeSecret, parseSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { hasPullTokenForm, makePullToken } from '../../shared/domain/subscription/pull-token.ts';
import { parseSubscriberUrl } from '../../shared/domain/subscription/subscriber-url.ts';
import { parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import { retryAfterMs } from '../../shared/domain/retry/outcome.ts';
import { readReply } from '../../shared/adapters/http/exchange.ts';
import { subscriberUrlFault } from '../../shared/adapters/http/address-guard.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { parseIngress } from '../../shared/wire/ingress/message.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
  readUndeliverableNotice,
} from '../../shared/wire/jobs/redrive.ts';
import { decodeMessage, encodeMessage } from '../../shared/wire/jobs/message-body.ts';
import { encodeFirstJob, encodeWakeUp, parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation, parseOperation } from '../../shared/wire/jobs/operation.ts';
import { certificateAuthority } from '../support/certificates.ts';
import { cloudEvent, eventBridgeEvent, notification, received } from '../unit/wire/ingress-samples.ts';
import { jsonText } from '../unit/wire/json-text.ts';
import { anything, nasty, nearly, nearlyJson, nearlyRecord } from './input.ts';
import { target, type Target } from './target.ts';

const NOW = Date.UTC(2026, 0, 1);

/** What was accepted is read back the same. JSON has no negative zero, so none counts. */
const assertSame = (again: unknown, first: unknown): void => {
  assert.deepEqual(plain(again), plain(first));
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const ingressSamples = [
  { queue: 'orders', id: 'o-1', type: 'order.paid', data: { n: 1 }, ttl: 60, delay: 9 },
  { ...cloudEvent, queue: 'orders' },
  { ...eventBridgeEvent, queue: 'orders' },
  notification({ queue: 'orders', data: [1, 'ü', null] }),
];

export const ingressBody = fc.oneof(
  { weight: 3, arbitrary: nearlyJson(ingressSamples) },
  { weight: 1, arbitrary: jsonText.map((data) => `{"queue":"orders","data":${data}}`) },
);

const place = { queue: 'orders.eu-1', messageId: 'message-1', bucket: 0 };

/** As they are stored, and not as this version would write them. */
export const jobs = [
  {
    ...{ v: 1, kind: 'job', ...place, subscriptionId: 'subscription-1', attempt: 1, lost: 1 },
    ...{ acceptedAt: 1, sentAt: 2, dueAt: 3, retentionDays: 30 },
    message: {
      v: 1,
      queue: 'orders',
      id: 'message-1',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: { n: 1 },
    },
  },
  {
    ...{ v: 1, kind: 'chunk', ...place, chunk: 0, subscriptionIds: ['subscription-1', 'subscription-2'] },
    ...{ acceptedAt: 1, payloadKey: 'orders/message-1' },
  },
  {
    ...{ v: 1, kind: 'wake_up', ...place, subscriptionId: 'subscription-1', attempt: 2, dueAt: 3 },
    ...{ by: 'scheduler', isUrgent: true },
  },
];

export const operations = [
  { v: 1, kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 0 },
  {
    v: 1,
    kind: 'cancellation',
    queue: 'orders',
    subscriptionId: 's-1',
    deletedAt: 1,
    settled: true,
    looks: 1,
  },
  { v: 1, kind: 'moving_up', queue: 'orders', subscriptionId: 's-1', settled: true },
];

const notice = {
  queue: 'orders',
  messageId: 'message-1',
  subscriptionId: 's-1',
  attempts: [{}],
  status: 'rejected',
};

const { cert, key } = certificateAuthority('fuzz').issue({ names: ['fuzz.example'] });

export const policy = nearlyRecord({
  retries_with_no_delay: fc.nat(5),
  minimum_delay_retries: fc.nat(5),
  minimum_delay: fc.nat(100),
  maximum_delay: fc.integer({ min: 100, max: 1_000 }),
  maximum_delay_retries: fc.nat(5),
  retry_backoff_function: fc.constantFrom('linear', 'geometric', 'exponential', 'arithmetic'),
  backoff_retries: fc.nat(10),
  retry_on_status: fc.uniqueArray(fc.integer({ min: 400, max: 499 }), { minLength: 1, maxLength: 5 }),
  jitter: fc.constantFrom('none', 'full', 'equal'),
});

const wildcard = fc
  .array(fc.constantFrom('*', 'a', 'b', '\\*'), { minLength: 1, maxLength: 40 })
  .map((parts) => parts.join('').replaceAll(/\*{2,}/g, '*'));

const rule = fc.oneof(
  { weight: 1, arbitrary: anything },
  { weight: 1, arbitrary: nasty },
  {
    weight: 8,
    arbitrary: fc.oneof(
      fc.constantFrom('a', 1, true, null),
      fc.record({ prefix: fc.string({ minLength: 1 }) }),
      fc.record({ wildcard }),
      fc.record({ exists: fc.boolean() }),
      fc.record({ 'anything-but': fc.array(fc.string(), { minLength: 1, maxLength: 3 }) }),
      fc.record({ numeric: fc.tuple(fc.constantFrom('>', '<=', '='), fc.integer()) }),
    ),
  },
);

const rules = fc.array(rule, { minLength: 1, maxLength: 4 });

const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c'), rules, { minKeys: 1 });

export const filter = fc.oneof(
  fields,
  fc.record({ a: fields, b: rules }),
  fc.record({ $or: fc.array(fields, { minLength: 2, maxLength: 4 }) }),
);

/** What filters select from: values that they name, long runs among them. */
const filtered = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.oneof(anything, fc.constantFrom('a'.repeat(20_000), 'ab'.repeat(5_000), 1, 'a', { a: [1, 'a'] })),
);

const LISTING = nameListing('deliveries', { queue: 'orders' });

const markers = ['1767225600000#a#b', '1767225600000', 'orders'].flatMap((place) => {
  const { marker } = pageUpTo(LISTING, [], place);
  return marker === undefined ? [] : [marker];
});

const header = fc.oneof(
  { weight: 1, arbitrary: nasty },
  { weight: 4, arbitrary: fc.stringMatching(/^[\x20-\x7e\t]{0,40}$/) },
);

const headers = fc.dictionary(
  fc.oneof({ weight: 6, arbitrary: fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}$/) }, nasty),
  header,
  { maxKeys: 4 },
);

export const auth = fc.oneof(
  fc.record({ type: fc.constant('header'), name: fc.constantFrom('x-key', 'host'), value: header }),
  fc.record({ type: fc.constant('basic'), username: header, password: nasty }),
  fc.record({ type: fc.constant('mtls'), certificate: nearly([cert]), private_key: nearly([key]) }),
  nearlyRecord({
    type: fc.constant('oauth2_client_credentials'),
    token_url: fc.constant('https://login.example/token'),
    client_id: header,
    client_secret: header,
    scope: header,
  }),
);

/** Names and values of an answer, in turn. */
const answerHeaders = fc.array(
  fc.tuple(
    fc.oneof(nasty, fc.constantFrom('retry-after', 'Retry-After', 'webhook-delivery')),
    fc.oneof(nasty, fc.constantFrom('120', 'disable', 'Fri, 31 Dec 1999 23:59:59 GMT')),
  ),
  { maxLength: 6 },
);

/** Everything that another party wrote and that we parse without a network. */
export const parsers: readonly Target[] = [
  target(
    'ingress messages',
    fc.tuple(ingressBody, fc.dictionary(fc.oneof(nasty, fc.constantFrom('queue', 'id', 'type')), nasty)),
    ([body, more]) => {
      const parsed = parseIngress(received(body, more), {});
      if (parsed.ok && 'data' in parsed.message)
        assertSame(decodeMessage(encodeMessage(parsed.message)), parsed.message);
      return parsed.ok;
    },
    { weight: 2 },
  ),
  target('jobs and wake-ups', nearlyJson(jobs), (text) => {
    const read = parseWork(text);
    if (!read.ok) return false;
    const again = read.value.kind === 'wake_up' ? encodeWakeUp(read.value) : encodeFirstJob(read.value);
    assertSame(parseWork(again), read);
    return true;
  }),
  target('operations', nearlyJson(operations), (text) => {
    const read = parseOperation(text);
    if (!read.ok) return false;
    assertSame(parseOperation(encodeOperation(read.value)), read);
    return true;
  }),
  target('dead letters', nearlyJson([...jobs, ...operations, ...ingressSamples, notice]), (body) => {
    const letter = { id: 'letter', sentAt: NOW, receipt: 'r', body, attributes: {} };
    const readings = [
      readDeliveryDeadLetter(letter),
      readOperationDeadLetter(letter),
      readUndeliverableNotice(letter),
    ];
    assert(readings.filter(({ kind }) => kind === 'redrive').length <= 2);
    const ingress = readIngressDeadLetter(letter, 'other');
    if (ingress.kind === 'redrive') assert.equal(ingress.message.body, body);
    return readings.some(({ kind }) => kind === 'redrive');
  }),
  target(
    'receipts',
    fc.oneof(
      nearlyJson([[1, 'orders', 'message-1', 'subscription-1', 0, 1, 'pull/x']]).map((text) =>
        Buffer.from(text).toString('base64url'),
      ),
      nearly([receiptText({ key: { ...place, subscriptionId: 's-1' }, attempt: 1, owner: 'pull/x' })]),
    ),
    (text) => {
      const receipt = parseReceipt(text);
      if (receipt !== undefined) assertSame(parseReceipt(receiptText(receipt)), receipt);
      return receipt !== undefined;
    },
  ),
  target('markers', nearly(markers), (marker) => {
    try {
      const last = parseMarker(LISTING, { limit: 10, marker }) ?? '';
      assert.equal(pageUpTo(LISTING, [], last).marker, marker);
      const place = parseStartPlace(LISTING, { limit: 10, marker });
      return place !== undefined;
    } catch (error) {
      assert(error instanceof InvalidMarkerError);
      return false;
    }
  }),
  target('pull tokens', nearly([makePullToken((length) => Buffer.alloc(length, 7)).token]), (text) => {
    const isToken = hasPullTokenForm(text);
    if (isToken) assert.equal(Buffer.byteLength(text), 50);
    return isToken;
  }),
  target(
    'signing secrets',
    nearly(
      (['v1', 'v1a'] as const).map((scheme) =>
        secretText(makeSecret(scheme, (length) => Buffer.alloc(length, 7))),
      ),
    ),
    (text) => {
      const secret = parseSecret(text);
      if (secret === undefined) return false;
      const again = parseSecret(secretText(secret));
      assert(again !== undefined && secretText(again) === secretText(secret));
      return true;
    },
  ),
  target(
    'retry policies',
    fc.oneof({ weight: 1, arbitrary: anything }, { weight: 4, arbitrary: policy }),
    (given) => {
      const parsed = parseRetryPolicy(given);
      if (parsed.ok) assertSame(parseRetryPolicy(parsed.policy), parsed);
      return parsed.ok;
    },
  ),
  target(
    'filters',
    fc.tuple(fc.oneof({ weight: 1, arbitrary: anything }, { weight: 4, arbitrary: filter }), filtered),
    ([given, data]) => {
      const parsed = parseContentFilter(given);
      if (parsed.ok) evaluateFilter(parsed.filter, data, { steps: 100_000, listsRead: new WeakMap() });
      return parsed.ok;
    },
    { weight: 2 },
  ),
  target(
    'Retry-After',
    nearly([
      '120',
      'Fri, 31 Dec 1999 23:59:59 GMT',
      'Friday, 31-Dec-99 23:59:59 GMT',
      'Fri Dec 31 23:59:59 1999',
    ]),
    (text) => {
      const reading = readReply();
      reading.start(503, ['retry-after', text]);
      const reply = reading.reply();
      if (reply?.kind !== 'answered' || reply.retryAfter === undefined) return false;
      const ms = retryAfterMs(reply.retryAfter, NOW);
      assert(ms === undefined || (Number.isFinite(ms) && ms >= 0));
      return ms !== undefined;
    },
  ),
  target('header values', headers, (given) => {
    const parsed = postHeaders.safeParse(given);
    if (!parsed.success) return false;
    assertSame(parsed.data, given);
    for (const [name, value] of Object.entries(parsed.data)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return true;
  }),
  target(
    'subscriber URLs',
    nearly(['https://a.example:8443/x?y=1', 'https://b.example/', 'http://[::1]/', 'http://10.0.0.1/']),
    (text) => {
      const parsed = parseSubscriberUrl(text);
      const fault = subscriberUrlFault(text, { allowedAddresses: [] });
      if (parsed.kind === 'valid') assert.equal(parseSubscriberUrl(parsed.url.href).kind, 'valid');
      assert(parsed.kind === 'valid' || fault !== undefined);
      return fault === undefined;
    },
  ),
  target('certificates and keys', nearly([cert, key, `${cert}\n${cert}`]), (text) =>
    [parseCertificates(text), parsePrivateKey(text)].some((parsed) => {
      if (parsed.kind === 'invalid') return false;
      const [again] = [parseCertificates(parsed.pem), parsePrivateKey(parsed.pem)].filter(
        ({ kind }) => kind === 'valid',
      );
      assert(again?.kind === 'valid' && again.pem === parsed.pem);
      return true;
    }),
  ),
  target('credentials', auth, (given) => {
    const parsed = authOption.safeParse(given);
    if (!parsed.success) return false;
    assertSame(parseAuth(JSON.stringify(parsed.data)), parsed.data);
    return true;
  }),
  target(
    'answers of subscribers',
    fc.tuple(answerHeaders, fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 3 })),
    ([names, pieces]) => {
      const reading = readReply();
      reading.start(200, names.flat());
      for (const piece of pieces) reading.add(Buffer.from(piece));
      const reply = reading.reply();
      assert(reply?.kind === 'answered' && Buffer.byteLength(reply.snippet ?? '') <= 256);
      return 'retryAfter' in reply || 'asks' in reply;
    },
  ),
  target(
    'paths of requests',
    fc.tuple(
      fc.array(fc.oneof(nasty, fc.constantFrom('orders', 'id-1')), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('GET', 'POST', 'TRACE', 'PATCH'),
      nasty,
    ),
    ([segments, method, rawQueryString]) => {
      const rawPath = `/v2/x${segments.join('/')}`;
      const requestContext = { requestId: 'r', http: { method } };
      const { path } = parseHttpApiEvent({ rawPath, rawQueryString, requestContext });
      if (path === '/unrouted') return false;
      // It stays the path that API Gateway authorised.
      assert.equal(path, rawPath.toWellFormed());
      return true;
    },
  ),
];
