import type { Subscription } from './subscription.ts';

/** How much a queue's subscriptions are: their number, and the bytes of what they say. */
export type Amount = { subscriptions: number; bytes: number };

/** What these subscriptions add to their queue. */
export function amountOf(subscriptions: readonly Pick<Subscription, 'subscriber' | 'options'>[]): Amount {
  const bytes = subscriptions.map(({ subscriber, options }) => bytesOf({ subscriber, options }));
  return { subscriptions: subscriptions.length, bytes: bytes.reduce((sum, each) => sum + each, 0) };
}

/** In UTF-8, as JSON. */
export function bytesOf(said: object): number {
  return Buffer.byteLength(JSON.stringify(said));
}

export function sumOf(one: Amount, other: Amount): Amount {
  return {
    subscriptions: one.subscriptions + other.subscriptions,
    bytes: one.bytes + other.bytes,
  };
}

export function fits(amount: Amount, most: Amount): boolean {
  return amount.subscriptions <= most.subscriptions && amount.bytes <= most.bytes;
}
