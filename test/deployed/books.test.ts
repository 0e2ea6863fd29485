import { isBalanced } from '../../shared/domain/delivery/books.ts';
import { allBooks } from '../support/all-books.ts';
import { answerOf, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { sendAll } from '../support/sqs-messages.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';

const receiver = await receiverOfTests();

/** More than the 40 that the report reads together. */
const MESSAGES = 60;
const DUPLICATES = 15;

/** Attempts of a delivery that only gets 500, which opens no circuit. */
const ATTEMPTS = 3;

/** Message types. All but the last have one subscriber. */
const TYPES = ['steady', 'choosy', 'stricken', 'unmatched'] as const;
type Type = (typeof TYPES)[number];

/** Every twentieth message is unmatched; the others rotate through the types. */
const typeOf = (index: number): Type => (index % 20 === 0 ? 'unmatched' : (TYPES[index % 3] ?? 'steady'));

const indicesOf = (type: Type): number[] =>
  Array.from({ length: MESSAGES }, (_, index) => index).filter((index) => typeOf(index) === type);

describe('the books', () => {
  it("equal the receivers' log after 60 messages and an outage of a third of the subscribers", async () => {
    const queue = `books-${randomUUID()}`;
    const since = new Date().toISOString();
    const path = (type: Type): string => `/${queue}/${type}`;
    await putQueue(
      queue,
      aBarePolicy({ retries_with_no_delay: 1, minimum_delay_retries: 1, minimum_delay: 2 }),
    );
    for (const type of ['steady', 'choosy', 'stricken'] as const)
      await subscribe(queue, receiver.url(path(type)), { event_types: [type] });

    /** The responses to each message, from the receiver's log. */
    const answers = new Map<string, number[]>();
    const answering = (type: Type, statusOf: (index: number) => number): void => {
      receiver.script(path(type), ({ headers }) => {
        const id = String(headers['webhook-id']);
        const status = statusOf(Number(id.slice(1)));
        answers.set(id, [...(answers.get(id) ?? []), status]);
        return { status };
      });
    };
    answering('steady', () => 200);
    answering('choosy', (index) => (index % 7 === 0 ? 422 : 200));
    // For most messages the outage ends before the last retry; the others run out of retries.
    const tried = new Map<number, number>();
    answering('stricken', (index) => {
      const attempt = (tried.get(index) ?? 0) + 1;
      tried.set(index, attempt);
      return index % 4 === 0 || attempt < ATTEMPTS ? 500 : 200;
    });

    const bodies = Array.from({ length: MESSAGES }, (_, index) =>
      JSON.stringify({ queue, id: `m${index}`, type: typeOf(index), data: { index } }),
    );
    await sendAll(deployment.endpoints.ingressQueueUrl, [...bodies, ...bodies.slice(0, DUPLICATES)]);

    const unmatched = indicesOf('unmatched').length;
    await eventually(
      'the end of every delivery',
      () => {
        const ended = [...answers.values()].filter((all) => all.at(-1) !== 500 || all.length === ATTEMPTS);
        return Promise.resolve(ended.length === MESSAGES - unmatched ? true : undefined);
      },
      120_000,
    );
    const books = await eventually('balanced books', async () => {
      const seen = await allBooks((path) => answerOf('GET', path), queue, since);
      return seen.duplicates === DUPLICATES && seen.pending === 0 && isBalanced(seen) ? seen : undefined;
    });

    const ended = (status: number): number =>
      [...answers.values()].filter((all) => all.at(-1) === status).length;
    expect(books).toEqual({
      accepted: MESSAGES,
      duplicates: DUPLICATES,
      unfinished: 0,
      matched: MESSAGES - unmatched,
      unmatched,
      filtered: 2 * (MESSAGES - unmatched) + 3 * unmatched,
      delivered: ended(200),
      rejected: ended(422),
      exhausted: ended(500),
      cancelled: 0,
      pending: 0,
    });
    expect(books.exhausted).toBeGreaterThan(0);
    expect(books.delivered).toBeGreaterThan(MESSAGES / 2);
  });
});
