/** Number and size of subscriptions; bytes as UTF-8 JSON. */
export type Amount = { subscriptions: number; bytes: number };

/** The amount of these subscriptions or stored items. */
export function measureAmount(subscriptions: readonly object[]): Amount {
  return {
    subscriptions: subscriptions.length,
    bytes: subscriptions.reduce((sum, subscription) => sum + countBytes(subscription), 0),
  };
}

export function countBytes(subscription: object): number {
  return Buffer.byteLength(JSON.stringify(subscription));
}
