/** How much a queue's subscriptions are: their number, and their bytes as JSON in UTF-8. */
export type Amount = { subscriptions: number; bytes: number };

/** What these are, subscriptions or the items that they are stored as. */
export function amountOf(subscriptions: readonly object[]): Amount {
  return {
    subscriptions: subscriptions.length,
    bytes: subscriptions.reduce((sum, subscription) => sum + bytesOf(subscription), 0),
  };
}

export function bytesOf(subscription: object): number {
  return Buffer.byteLength(JSON.stringify(subscription));
}

/** Only what grows has to stay within its limit: a queue that has too many subscriptions may still change them. */
export function hasRoom(there: Amount, more: Amount, most: Amount): boolean {
  return (
    (more.subscriptions === 0 || there.subscriptions + more.subscriptions <= most.subscriptions) &&
    (more.bytes === 0 || there.bytes + more.bytes <= most.bytes)
  );
}
