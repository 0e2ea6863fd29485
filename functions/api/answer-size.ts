import type { Page, PageRequest } from '../../shared/ports/page.ts';

/** Lambda answers with 6 MB at most (Lambda quotas, "Invocation payload"); what is around the body takes a little of it. */
export const MAX_ANSWER_BYTES = 5_000_000;

/** What a part of an answer takes of that: it travels as text within JSON, where each of its quotes is two bytes. */
export function answerBytesOf(part: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(part)));
}

/**
 * A page as it is shown, of as many items as an answer has room for; its marker leads on behind the last of them. Where not all
 * of them have room the page is read again with a smaller limit, because only the listing can say where a shorter one ends.
 * One item always has room: a record has 400 KB at most (DynamoDB quotas, "Item size"), and is shown in less than ten times that.
 * @throws what `read` throws
 */
export async function fittingPage<Item, View>(
  request: PageRequest,
  read: (request: PageRequest) => Promise<Page<Item>>,
  viewOf: (item: Item) => View,
): Promise<Page<View>> {
  for (let { limit } = request; ;) {
    const page = await read({ ...request, limit });
    const items = page.items.map(viewOf);
    const fitting = countOfFitting(items);
    if (fitting === items.length || limit === 1) return { ...page, items };
    limit = Math.max(1, fitting);
  }
}

function countOfFitting(items: readonly unknown[]): number {
  let room = MAX_ANSWER_BYTES;
  const first = items.findIndex((item) => (room -= answerBytesOf(item)) < 0);
  return first === -1 ? items.length : first;
}
