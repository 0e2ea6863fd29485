import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseReceipt, receiptText } from '../../functions/api/pull/receipt.ts';
import { parseHttpApiEvent } from '../../functions/api/http-api-event.ts';
import { parseCertificates, parsePrivateKey } from '../../functions/api/subscriptions/pem.ts';
import { parseAuth } from '../../shared/domain/subscription/auth.ts';
import { parseContentFilter } from '../../shared/domain/subscription/content-filter-schema.ts';
import { evaluateFilter } from '../../shared/domain/subscription/content-filter.ts';
import { parseSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { hasPullTokenForm } from '../../shared/domain/subscription/pull-token.ts';
import { parseSubscriberUrl } from '../../shared/domain/subscription/subscriber-url.ts';
import { parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import { retryAfterMs } from '../../shared/domain/retry/retry-after.ts';
import { readReply } from '../../shared/adapters/http/reply-reading.ts';
import { subscriberUrlFault } from '../../shared/adapters/http/address-guard.ts';
import { parseIngress } from '../../shared/wire/ingress/message.ts';
import { decodeMessage, encodeMessage } from '../../shared/wire/jobs/message-body.ts';
import { encodeFirstJob, encodeWakeUp, parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation, parseOperation } from '../../shared/wire/jobs/operation.ts';
import { certificateAuthority } from '../support/certificates.ts';
import { cloudEvent, eventBridgeEvent, notification, received } from '../unit/wire/ingress-samples.ts';
import { jsonText } from '../unit/wire/json-text.ts';
import { aMessage } from '../support/builders.ts';
import { aDeliveryKey } from '../support/delivery-builders.ts';
import { anything, nasty, nearly, nearlyRecord } from './input.ts';
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
].map((sample) => JSON.stringify(sample));

const jobs = [
  encodeFirstJob({
    kind: 'job',
    key: aDeliveryKey(),
    attempt: 1,
    acceptedAt: 1,
    body: { kind: 'inline', message: aMessage() },
  }),
  encodeWakeUp({ kind: 'wake_up', key: aDeliveryKey(), attempt: 2, dueAt: 3, by: 'scheduler' }),
];

const operations = [encodeOperation({ kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 0 })];

const { cert, key } = certificateAuthority('fuzz').issue({ names: ['fuzz.example'] });

const policy = nearlyRecord({
  retries_with_no_delay: fc.nat(5),
  minimum_delay_retries: fc.nat(5),
  minimum_delay: fc.nat(100),
  maximum_delay: fc.nat(1_000),
  maximum_delay_retries: fc.nat(5),
  retry_backoff_function: fc.constantFrom('linear', 'geometric', 'exponential', 'arithmetic'),
  backoff_retries: fc.nat(10),
  retry_on_status: fc.array(fc.integer({ min: 300, max: 599 }), { maxLength: 5 }),
  jitter: fc.constantFrom('none', 'full', 'equal'),
});

const rule = fc.oneof(
  anything,
  nasty,
  fc.record({ prefix: nasty }),
  fc.record({ wildcard: fc.string({ unit: fc.constantFrom('*', 'a', 'b', '\\'), maxLength: 40 }) }),
  fc.record({ numeric: fc.tuple(fc.constantFrom('>', '<=', '='), fc.double()) }),
);

const filter = fc.dictionary(fc.constantFrom('a', 'b', '$or'), fc.array(rule, { maxLength: 5 }));

/** Everything that another party wrote and that we parse without a network. */
export const parsers: readonly Target[] = [
  target(
    'ingress messages',
    fc.tuple(nearly(ingressSamples), fc.dictionary(nasty, nasty)),
    ([body, more]) => {
      const parsed = parseIngress(received(body, more), {});
      if (parsed.ok && 'data' in parsed.message)
        assertSame(decodeMessage(encodeMessage(parsed.message)), parsed.message);
    },
  ),
  target('data of messages', jsonText, (data) => {
    const parsed = parseIngress(received(`{"queue":"orders","data":${data}}`), {});
    assert(parsed.ok && 'data' in parsed.message);
    assert.equal(decodeMessage(encodeMessage(parsed.message)).data, parsed.message.data);
  }),
  target('jobs and wake-ups', nearly(jobs), (text) => {
    const read = parseWork(text);
    if (!read.ok) return;
    const again = read.value.kind === 'wake_up' ? encodeWakeUp(read.value) : encodeFirstJob(read.value);
    assertSame(parseWork(again), read);
  }),
  target('operations', nearly(operations), (text) => {
    const read = parseOperation(text);
    if (read.ok) assertSame(parseOperation(encodeOperation(read.value)), read);
  }),
  target(
    'receipts',
    fc.oneof(nasty, nearly([receiptText({ key: aDeliveryKey(), attempt: 1, owner: 'pull/x' })])),
    (text) => {
      const receipt = parseReceipt(text);
      if (receipt !== undefined) assertSame(parseReceipt(receiptText(receipt)), receipt);
    },
  ),
  target('pull tokens', nasty, (text) => {
    hasPullTokenForm(`phpull_${text}`);
  }),
  target('signing secrets', nearly(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']), (text) => {
    const secret = parseSecret(text);
    if (secret !== undefined) assert.equal(secretText(secret).length > 0, true);
  }),
  target('retry policies', fc.oneof(anything, policy), (given) => {
    const parsed = parseRetryPolicy(given);
    if (parsed.ok) assertSame(parseRetryPolicy(parsed.policy), parsed);
  }),
  target('filters', fc.tuple(fc.oneof(anything, filter), anything), ([given, data]) => {
    const parsed = parseContentFilter(given);
    if (parsed.ok) evaluateFilter(parsed.filter, data, { steps: 100_000, listsRead: new WeakMap() });
  }),
  target('Retry-After', fc.oneof(nasty, nearly(['120', 'Fri, 31 Dec 1999 23:59:59 GMT'])), (text) => {
    const ms = retryAfterMs(text, NOW);
    assert(ms === undefined || (Number.isFinite(ms) && ms >= 0));
  }),
  target(
    'subscriber URLs',
    fc.oneof(nasty, nearly(['https://a.example:8443/x?y=1', 'http://[::1]/'])),
    (text) => {
      subscriberUrlFault(text, { allowedAddresses: [] });
      parseSubscriberUrl(text);
    },
  ),
  target('certificates and keys', nearly([cert, key, `${cert}\n${cert}`]), (text) => {
    parseCertificates(text);
    parsePrivateKey(text);
  }),
  target('stored credentials', nearly(['{"type":"basic","username":"a","password":"b"}']), (text) => {
    parseAuth(text);
  }),
  target(
    'answers of subscribers',
    fc.tuple(
      fc.array(fc.oneof(nasty, fc.constantFrom('retry-after', 'webhook-delivery', '120'))),
      fc.uint8Array(),
    ),
    ([headers, body]) => {
      const reading = readReply();
      reading.start(200, headers.length % 2 === 0 ? headers : [...headers, '']);
      reading.add(Buffer.from(body));
      assert.equal(reading.reply()?.kind, 'answered');
    },
  ),
  target(
    'paths of requests',
    fc.tuple(
      fc.array(nasty, { minLength: 1, maxLength: 5 }),
      fc.constantFrom('GET', 'POST', 'TRACE', 'x'),
      nasty,
    ),
    ([segments, method, rawQueryString]) => {
      const rawPath = `/v2/x${segments.join('/')}`;
      const requestContext = { requestId: 'r', http: { method: method === 'x' ? 'PATCH' : method } };
      const { request } = parseHttpApiEvent({ rawPath, rawQueryString, requestContext });
      const { pathname } = new URL(request.url);
      // It stays the path that API Gateway authorised, or is none.
      if (pathname !== '/unrouted') assert.equal(decodeURIComponent(pathname), rawPath.toWellFormed());
    },
  ),
];
