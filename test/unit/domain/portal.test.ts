import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hostFaults, optionFaults, withDefaults } from '../../../shared/domain/portal/limits.ts';
import {
  findPortalRoute,
  parsePortalPath,
  permittedPaths,
  portalPath,
  portalRoutes,
} from '../../../shared/config/portal-routes.ts';
import {
  findIncarnation,
  findSessionName,
  isSessionId,
  makePortalToken,
  makeSessionId,
  makeSessionName,
  MAX_PORTAL_TOKEN,
  parsePortalToken,
  pickSessionId,
} from '../../../shared/domain/portal/session.ts';
import { CAPABILITIES } from '../../../shared/domain/portal/vocabulary.ts';
import { isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import { aQueue } from '../../support/builders.ts';

const ROLE = 'arn:aws:iam::123456789012:role/Pipeline-PortalSession-1A2B';

const fieldsOf = (faults: readonly { field: string }[]) => faults.map(({ field }) => field);

describe('a token of the portal', () => {
  const key = { queue: 'acme.orders_1-eu', name: makeSessionName('customer-42', randomBytes) };

  it('names the queue and the session, and is stored as a hash', () => {
    const { token, tokenHash } = makePortalToken('link', key, randomBytes);
    expect(parsePortalToken('link', token)).toEqual(key);
    expect(isTokenOf({ tokenHash }, token)).toBe(true);
    expect(makePortalToken('link', key, randomBytes).token).not.toBe(token);
  });

  it('is not one of the other kind, and no other text is one', () => {
    const { token } = makePortalToken('link', key, randomBytes);
    expect(parsePortalToken('session', token)).toBeUndefined();
    for (const text of ['', 'phlink_', `${token}/`, `${token}\n`, ` ${token}`, token.replace('.', '..')])
      expect(parsePortalToken('link', text), text).toBeUndefined();
  });

  it('fits into what is read of one, and its session into the session name of a role', () => {
    const name = makeSessionName('a'.repeat(40), randomBytes);
    const { token } = makePortalToken('session', { queue: 'q'.repeat(64), name }, randomBytes);
    expect(token.length).toBeLessThanOrEqual(MAX_PORTAL_TOKEN);
    expect(name).toMatch(/^[\w+=,.@-]{2,64}$/);
    expect(pickSessionId(name)).toBe('a'.repeat(40));
    expect(isSessionId(makeSessionId(randomBytes))).toBe(true);
    expect(isSessionId('a.b')).toBe(false);
  });
});

describe('the session of a caller', () => {
  const caller = ROLE.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/');

  it('is the session name of the role', () => {
    expect(findSessionName(`${caller}/customer.one`, ROLE)).toBe('customer.one');
  });

  it.each([
    undefined,
    'arn:aws:iam::123456789012:user/ada',
    ROLE,
    `${caller}2/customer.one`,
    `${caller.replace('123456789012', '999999999999')}/customer.one`,
    `x${caller}/customer.one`,
  ])('is none for %s', (arn) => {
    expect(findSessionName(arn, ROLE)).toBeUndefined();
  });

  it('is of one life of its queue: it differs once the queue is made again or restored', () => {
    const queue = aQueue({ createdAt: 5 });
    expect(findIncarnation(queue)).not.toBe(findIncarnation({ ...queue, createdAt: 6 }));
    expect(findIncarnation(queue)).not.toBe(findIncarnation({ ...queue, restoredAt: 7 }));
  });
});

describe('the table of portal routes', () => {
  it('finds the route of a request, and nothing beside the table', () => {
    expect(findPortalRoute('POST', '/messages/m-1/deliveries/s-1/retry')).toMatchObject({
      route: { right: 'retry' },
      params: { message: 'm-1', subscription: 's-1' },
    });
    for (const rest of [
      '',
      '/',
      '/import',
      '/subscriptions/',
      '/subscriptions/a/b',
      '/subscriptions/a/pause/b',
    ])
      expect(findPortalRoute('POST', rest), rest).toBeUndefined();
    expect(findPortalRoute('PUT', '/subscriptions')).toBeUndefined();
  });

  it('has paths that are read as they are written', () => {
    expect(parsePortalPath(`${portalPath('a.b', 'manage')}/subscriptions/x/pause`)).toEqual({
      queue: 'a.b',
      right: 'manage',
      rest: '/subscriptions/x/pause',
    });
    for (const path of ['/v2/queues/a/manage/x', '/v2/portal/queues/a/manage', '/x/v2/portal/queues/a/b/c'])
      expect(parsePortalPath(path), path).toBeUndefined();
  });

  it('permits the methods of the granted rights, on one queue', () => {
    expect(permittedPaths('acme', ['see', 'test'])).toEqual([
      { method: 'GET', path: '/v2/portal/queues/acme/see/*' },
      { method: 'POST', path: '/v2/portal/queues/acme/test/*' },
    ]);
  });

  it('has a policy for all rights that fits into a session policy of 2,048 characters', () => {
    const base = 'arn:aws-us-gov:execute-api:us-gov-west-1:123456789012:abcdefghij/$default';
    const paths = permittedPaths('q'.repeat(64), ['see', ...CAPABILITIES]);
    const Resource = paths.map(({ method, path }) => `${base}/${method}${path}`);
    const Statement = [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource }];
    expect(JSON.stringify({ Version: '2012-10-17', Statement }).length).toBeLessThan(2048);
    expect(new Set(paths.map(({ path }) => path)).size).toBe(1 + CAPABILITIES.length);
  });

  it('has a right for each route, and a use for each capability', () => {
    expect(new Set(portalRoutes.map(({ right }) => right))).toEqual(new Set(['see', ...CAPABILITIES]));
  });
});

describe('the limits of the portal', () => {
  const limits = { endpoints: 3, hosts: ['hooks.example.com', '*.acme.test'], perSecond: 5 };

  it.each(['https://hooks.example.com/a', 'http://HOOKS.example.com:8080/', 'https://eu.acme.test/'])(
    'accept %s',
    (url) => {
      expect(hostFaults(url, limits)).toEqual([]);
    },
  );

  it.each([
    'https://example.com/',
    'https://acme.test/',
    'https://evilacme.test/',
    'https://hooks.example.com.evil.test/',
    'https://hooks.example.com@evil.test/',
    'https://evil.test/?hooks.example.com',
    'pull:acme',
    'pull:https://hooks.example.com/',
    'not a url',
  ])('refuse %s', (url) => {
    expect(fieldsOf(hostFaults(url, limits))).toEqual(['subscriber']);
  });

  it('accept any host where none is named, but no pull', () => {
    expect(hostFaults('https://any.test/', { endpoints: 1 })).toEqual([]);
    expect(fieldsOf(hostFaults('pull:', { endpoints: 1 }))).toEqual(['subscriber']);
  });

  it('bound the rate, which is also that of an endpoint without one', () => {
    expect(fieldsOf(optionFaults({ max_per_second: 6 }, limits, undefined))).toEqual([
      'options.max_per_second',
    ]);
    expect(optionFaults({ max_per_second: 5 }, limits, undefined)).toEqual([]);
    expect(withDefaults({}, limits, undefined)).toEqual({ max_per_second: 5 });
    expect(withDefaults({ max_per_second: 1 }, limits, undefined)).toEqual({ max_per_second: 1 });
    expect(withDefaults({}, { endpoints: 1 }, ['a'])).toEqual({ event_types: ['a'] });
  });

  it.each([undefined, [], ['order.paid', 'order.lost'], 'order.paid', ['*'], [['order.paid']]])(
    'refuse the event types %j where the link names others',
    (event_types) => {
      const given = event_types === undefined ? {} : { event_types };
      expect(fieldsOf(optionFaults(given, limits, ['order.paid']))).toEqual(['options.event_types']);
    },
  );

  it('accept event types of the link, and any where it names none', () => {
    expect(optionFaults({ event_types: ['order.paid'] }, limits, ['order.paid', 'x'])).toEqual([]);
    expect(optionFaults({}, limits, undefined)).toEqual([]);
  });
});
