import { expect, it } from 'vitest';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { pullWorld } from '../api/pull-world.ts';

const unrendered = () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' } as const);

const rejected = {
  status: 'rejected',
  reason: 'payload_failed',
  attempts: [{ outcome: 'rejected', result: { kind: 'unrendered', detail: 'no such field' } }],
};

it('a delivery whose payload cannot be rendered ends as rejected, and nothing is sent', async () => {
  const world = pipelineWorld();
  world.deliverContext.ports.render = unrendered;
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(aSubscription());
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();

  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [] });
  expect(world.subscriber.seen).toEqual([]);
  expect(world.undeliverables.sent).toHaveLength(1);
});

it('a delivery by pull whose payload cannot be rendered ends when it is received, and is not given out', async () => {
  const world = await pullWorld();
  world.api.dependencies.render = unrendered;
  await world.publish();
  await world.later(60_000);
  expect(await world.receive()).toEqual([]);
  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [{ kind: 'undeliverable' }] });
  expect(await world.receive()).toEqual([]);
});
