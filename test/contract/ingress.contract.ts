import { describe, expect, it } from 'vitest';
import type { Ingress } from '../../shared/ports/queues.ts';

export type ReceivedMessage = { body: string; attributes: Record<string, string>; at: number };

/** `arrivals` waits for `count` messages, and returns all that there are then, with their times of arrival. */
export type IngressUnderTest = {
  ingress: Ingress;
  now: () => number;
  arrivals: (count: number) => Promise<ReceivedMessage[]>;
};

const bodiesOf = (arrived: ReceivedMessage[]) => arrived.map(({ body }) => body).toSorted();

/** Contract of the ingress: each message arrives unchanged, with its attributes, and not before its time. */
export const describeIngressContract = (name: string, make: () => Promise<IngressUnderTest>): void => {
  describe(`an ingress ${name}`, () => {
    it('delivers messages unchanged, and nothing for an empty list', async () => {
      const { ingress, arrivals } = await make();
      const attributes = { queue: 'orders', type: 'größer 🐘' };
      const body = '{"queue": "orders", "data": {"b": 12345678901234567890, "a": "größer 日本 🐘"}}';
      await ingress.publish([]);
      await ingress.publish([{ body, attributes }, { body: '2' }]);
      const arrived = await arrivals(2);
      const [bare, whole] = arrived.toSorted((one, other) => one.body.length - other.body.length);
      expect(arrived).toHaveLength(2);
      expect(whole).toMatchObject({ body, attributes });
      expect(bare).toMatchObject({ body: '2', attributes: {} });
    });

    it('delivers more messages than fit into one request, by number or by size, each once', async () => {
      const { ingress, arrivals } = await make();
      const large = 'é'.repeat(45_000);
      const bodies = Array.from({ length: 23 }, (_, n) =>
        JSON.stringify({ n, data: n % 2 === 0 ? large : n }),
      );
      await ingress.publish(bodies.map((body) => ({ body })));
      expect(bodiesOf(await arrivals(23))).toEqual(bodies.toSorted());
    });

    it('delivers a message of the maximum size', async () => {
      const { ingress, arrivals } = await make();
      const body = `"${'é'.repeat(512 * 1024 - 1)}"`;
      await ingress.publish([{ body }, { body: '1' }]);
      expect(bodiesOf(await arrivals(2))).toEqual([body, '1']);
    });

    it('delivers the messages of fifty concurrent publishers', async () => {
      const { ingress, arrivals } = await make();
      const bodies = Array.from({ length: 50 }, (_, n) => JSON.stringify({ n }));
      await Promise.all(bodies.map((body) => ingress.publish([{ body }])));
      expect(bodiesOf(await arrivals(50))).toEqual(bodies.toSorted());
    });

    it('delivers a delayed message not before its delay', async () => {
      const { ingress, now, arrivals } = await make();
      const sentAt = now();
      await ingress.publish([{ body: '"delayed"', delaySeconds: 1 }, { body: '"prompt"' }]);
      const arrived = await arrivals(2);
      expect(bodiesOf(arrived)).toEqual(['"delayed"', '"prompt"']);
      const delayed = arrived.find(({ body }) => body === '"delayed"');
      expect((delayed?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(1_000);
    });
  });
};
