import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  confirmationIdOf,
  isTokenOf,
  tokenHashOf,
} from '../../../shared/domain/subscription/confirmation.ts';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { absenceOf } from '../../../shared/domain/subscription/subscription.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { requestFor } from '../../support/request-for.ts';

const unconfirmed = { tokenHash: tokenHashOf('token'), at: 1 };
const asked = confirmationIdOf(unconfirmed);

describe('a confirmation token', () => {
  it('matches its hash, and no other text does', () => {
    expect(isTokenOf(unconfirmed, 'token')).toBe(true);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(isTokenOf(unconfirmed, text)).toBe(text === 'token');
      }),
    );
  });

  it('does not match a malformed hash', () => {
    expect(isTokenOf({ tokenHash: '' }, '')).toBe(false);
    expect(isTokenOf({ tokenHash: tokenHashOf('token').slice(1) }, 'token')).toBe(false);
    expect(isTokenOf({ tokenHash: `${tokenHashOf('token')}A` }, 'token')).toBe(false);
  });
});

describe('an unconfirmed subscription', () => {
  it('receives only its confirmation request', () => {
    const subscription = aSubscription({ unconfirmed });
    expect(absenceOf(subscription, 5, asked)).toBeUndefined();
    expect(absenceOf(subscription, 5, 'message-1')).toBe('subscription_unconfirmed');
    expect(absenceOf(subscription, 5)).toBe('subscription_unconfirmed');
  });

  it('does not receive an outdated confirmation request', () => {
    const subscription = aSubscription({ unconfirmed: { ...unconfirmed, tokenHash: tokenHashOf('newer') } });
    expect(absenceOf(subscription, 5, asked)).toBe('subscription_unconfirmed');
  });

  it('does not receive its confirmation request if it is disabled, expired or deleted', () => {
    const disabled = { reason: 'manual', at: 1 } as const;
    expect(absenceOf(aSubscription({ unconfirmed, disabled }), 5, asked)).toBe('disabled');
    expect(absenceOf(aSubscription({ unconfirmed, expiresAt: 5 }), 5, asked)).toBe('subscription_expired');
    expect(absenceOf(aSubscription({ unconfirmed, deletedAt: 5 }), 5, asked)).toBe('subscription_deleted');
    expect(absenceOf(undefined, 5, asked)).toBe('subscription_deleted');
  });

  it('gets a confirmation request with a valid message id', () => {
    expect(messageIdOf({ id: asked })).toEqual({ id: asked });
  });

  it.each([{ raw_delivery: true }, { post_data: 'no placeholder' }])(
    'gets the confirmation request as a standard body despite %j',
    async (options) => {
      const attempt = { startedAt: 0, userAgent: 'test', secrets: [] };
      const bodyFor = async (id: string) => {
        const request = await requestFor(
          aMessage({ id, data: '{"a":1}' }),
          aSubscription({ unconfirmed, options }),
          attempt,
        );
        return request.body.toString();
      };
      expect(JSON.parse(await bodyFor(asked))).toMatchObject({ id: asked, queue: 'orders', data: { a: 1 } });
      expect(await bodyFor('message-1')).not.toContain('orders');
    },
  );
});
