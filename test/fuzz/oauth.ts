import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { guardedFetch } from '../../shared/adapters/http/guarded-fetch.ts';
import type { Send } from '../../shared/adapters/http/sender.ts';
import { oauthAccessTokens } from '../../shared/adapters/oauth/access-tokens.ts';
import { anOAuth2Auth } from '../support/builders.ts';
import { nasty, nearly, nearlyJson } from './input.ts';
import { target, type Target } from './target.ts';

/** What the server gets from us, and may put into any part of its answer. */
const SECRET = 'planted-s3cret';

const token = { access_token: 'abc.def-123', token_type: 'Bearer', expires_in: 3600, scope: 'a b' };

const answer = fc.record({
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant(200) },
    { weight: 1, arbitrary: fc.constantFrom(400, 401) },
    fc.constantFrom(204, 302, 400, 401, 500, 600, 101),
  ),
  type: fc.oneof(
    { weight: 8, arbitrary: fc.constant('application/json') },
    nearly(['application/json;charset=utf-8']),
  ),
  headers: fc.array(fc.tuple(nasty, nasty), { maxLength: 3 }),
  body: fc.oneof(
    { weight: 4, arbitrary: nearlyJson([token, { ...token, expires_in: '3600', id_token: 'x' }]) },
    {
      weight: 1,
      arbitrary: nearlyJson([
        { error: 'invalid_client', error_description: SECRET, error_uri: `https://login.example/${SECRET}` },
        { error: SECRET },
        { ...token, token_type: SECRET },
      ]),
    },
  ),
  isWhole: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
});

/** From the headers and bytes of the answer to what an attempt uses of it. */
export const oauthAnswers: Target = target(
  'OAuth answers',
  answer,
  async ({ status, type, headers, body, isWhole }) => {
    const send: Send = (_, { reading }) => {
      reading.start(status, ['content-type', type, ...headers.flat()]);
      reading.add(Buffer.from(body));
      return Promise.resolve({
        reply: reading.reply() ?? { kind: 'unanswered', error: 'connection_reset' },
        isWhole,
      });
    };
    const tokens = oauthAccessTokens({
      fetch: guardedFetch(send),
      clock: { now: () => 0 },
      userAgent: 'fuzz',
    });
    const asked = () =>
      tokens.tokenFor({ queue: 'orders', subscriptionId: 's-1' }, anOAuth2Auth({ client_secret: SECRET }), {
        timeoutMs: 1_000,
      });
    const result = await asked();
    assert.deepEqual(await asked(), result);
    if (result.kind === 'failed') {
      assert(!result.detail.includes(SECRET), 'the secret is in the detail');
      assert(/^[\x20-\x7e]{1,200}$/.test(result.detail), 'the detail is not printable');
      return false;
    }
    assert(/^[\x21-\x7e]{1,8192}$/.test(result.token), 'no header can carry the token');
    assert(
      JSON.stringify(JSON.parse(body)).includes(JSON.stringify(result.token)),
      'it is not the token of the answer',
    );
    return true;
  },
);
