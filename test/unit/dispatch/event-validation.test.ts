import { beforeEach, describe, expect, it } from 'vitest';
import { dispatchRecord } from '../../../functions/dispatch/ingress-record.ts';
import type { DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import { readIngressDeadLetter } from '../../../shared/wire/jobs/redrive.ts';
import { aMessage, anEventType, aQueue } from '../../support/builders.ts';
import { inMemoryReferencedData } from '../../support/in-memory/in-memory-referenced-data.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { dispatchWorld, type DispatchWorld } from './dispatch-world.ts';

const schema = { type: 'object', properties: { total: { type: 'integer' } } };
const VALID = { data: '{"total": 5}' };
const INVALID = { data: '{"total": "secret"}' };
const FAULT = { reason: 'event_invalid', path: '/total', detail: 'must be of type integer' };

let world: DispatchWorld;

beforeEach(async () => {
  world = await dispatchWorld();
  await world.subscribe('one');
  await world.eventTypes.put(anEventType({ schema }));
});

const publish = (message: Parameters<typeof aMessage>[0]) =>
  world.dispatch({ ok: true, message: aMessage(message) });

describe('a message whose type is in the catalogue', () => {
  it('is neither looked up nor checked by default', async () => {
    world.eventTypes.find = () => Promise.reject(new Error('is not read'));
    await publish(INVALID);

    expect(await world.record()).not.toHaveProperty('eventFault');
    expect(world.deliveryJobs.waiting).toBe(1);
  });

  it('gets a note if it does not fit, and is delivered, with warn', async () => {
    world.settings.eventValidation = 'warn';
    await publish(INVALID);

    expect(await world.record()).toMatchObject({ eventFault: FAULT });
    expect(world.facts('message_accepted')).toMatchObject([{ event: 'invalid' }]);
    expect(world.deliveryJobs.waiting).toBe(1);
  });

  it('is dead-lettered if it does not fit, with its path and without a value of it, with reject', async () => {
    world.settings.eventValidation = 'reject';
    await publish(INVALID);

    expect(world.deadLetters.sent).toMatchObject([{ id: 'ingress-1', reason: 'event_invalid:/total' }]);
    expect(world.deliveryJobs.waiting).toBe(0);
    expect(JSON.stringify(world.facts('message_refused'))).not.toContain('secret');
  });

  it.each(['warn', 'reject'] as const)('is delivered without a note if it fits, with %s', async (mode) => {
    world.settings.eventValidation = mode;
    await publish(VALID);

    expect(await world.record()).not.toHaveProperty('eventFault');
    expect(world.facts('message_accepted')).toEqual([expect.not.objectContaining({ event: 'invalid' })]);
    expect(world.deliveryJobs.waiting).toBe(1);
  });

  it.each([
    ['off', 'reject', 0],
    ['reject', 'off', 1],
    ['some', 'reject', 1],
  ] as const)('is checked by its queue: %s in a deployment with %s', async (queue, deployment, refused) => {
    world.settings.eventValidation = deployment;
    await world.subscriptions.putQueue(aQueue({ metadata: { _event_validation: queue } }));
    await publish(INVALID);

    expect(world.deadLetters.sent).toHaveLength(refused);
  });

  it('is sent to the rest of its subscriptions if it was accepted before its type changed', async () => {
    world.settings.eventValidation = 'reject';
    await publish(VALID);
    await world.eventTypes.put(anEventType({ schema: { type: 'array' } }));
    await publish(VALID);

    expect(world.deadLetters.sent).toEqual([]);
    expect(world.deliveryJobs.waiting).toBe(2);
  });

  it('goes on if its schema takes too many steps', async () => {
    world.settings.eventValidation = 'reject';
    await world.eventTypes.put(anEventType({ schema: { $ref: '#' } }));
    await publish(INVALID);

    expect(world.facts('message_accepted')).toMatchObject([{ event: 'undecided' }]);
    expect(world.deliveryJobs.waiting).toBe(1);
  });

  it('goes on if this version cannot read its type', async () => {
    world.settings.eventValidation = 'reject';
    world.dispatchContext.ports.eventTypes = { find: () => Promise.resolve('unreadable') };
    await publish(INVALID);

    expect(world.facts('message_accepted')).toMatchObject([{ event: 'undecided' }]);
  });

  it('has a short and printable reason, also with hostile names in its data', async () => {
    world.settings.eventValidation = 'reject';
    await world.eventTypes.put(anEventType({ schema: { additionalProperties: false } }));
    await publish({ data: JSON.stringify({ [`\u0000\u{200b}${'x'.repeat(100_000)}`]: 1 }) });

    const [{ reason } = { reason: '' }] = world.deadLetters.sent;
    expect(reason).toMatch(/^event_invalid:\/��x{100,200}…$/);
  });
});

describe('a message whose type is not in the catalogue', () => {
  beforeEach(() => {
    world.settings.eventValidation = 'reject';
  });

  it.each([
    ['unknown', { type: 'order.deleted' }],
    ['no name of a type', { type: 'order created!' }],
  ])('is dead-lettered: %s', async (_, message) => {
    await publish(message);
    expect(world.deadLetters.sent).toMatchObject([{ reason: 'unknown_event_type' }]);
  });

  it('is dead-lettered if its queue does not see the type', async () => {
    await world.eventTypes.put(anEventType({ queues: ['bills'] }));
    await publish(VALID);
    expect(world.deadLetters.sent).toMatchObject([{ reason: 'unknown_event_type' }]);
  });

  it('is not checked without a type, or if the type has no schema', async () => {
    const { type: _, ...untyped } = aMessage(INVALID);
    await world.dispatch({ ok: true, message: untyped });
    await world.eventTypes.put(anEventType({ name: 'order.paid' }));
    await publish({ ...INVALID, id: 'message-2', type: 'order.paid' });
    expect(world.deadLetters.sent).toEqual([]);
  });
});

describe('a redrive of a dead letter of the catalogue', () => {
  /** Dispatches a message of the ingress queue. */
  const receive = (messageId: string, body: string, attributes: DeadLetterAttributes = {}) => {
    const { ports, settings, ...context } = world.dispatchContext;
    const texts = Object.entries(attributes).flatMap(([name, given]) =>
      'text' in given ? [[name, { dataType: given.type, stringValue: given.text }] as const] : [],
    );
    return dispatchRecord(
      {
        ...context,
        ports: { ...ports, referencedData: inMemoryReferencedData() },
        settings: { ...settings, payloadSources: [], ingressRoutes: {}, tracing: false },
      },
      { ...anSqsRecord(body), messageId, messageAttributes: Object.fromEntries(texts) },
    );
  };

  /** Sends the last dead letter back as the command does. */
  const redrive = async () => {
    const {
      body = '',
      reason = '',
      attributes: { 'posthaste-id': id = 'sqs-1' } = {},
    } = world.deadLetters.sent.at(-1) ?? {};
    const texts = Object.entries({ reason, 'posthaste-id': id });
    const attributes = Object.fromEntries(texts.map(([name, text]) => [name, { type: 'String', text }]));
    const reading = readIngressDeadLetter({ id: 'letter-1', sentAt: 0, receipt: 'r', body, attributes });
    if (reading.kind === 'skip') throw new Error(reading.reason);
    await receive('sqs-2', reading.message.body, reading.message.attributes);
  };

  it.each([
    ['its schema', 'order.created', anEventType({ schema: {} })],
    ['its type', 'order.paid', anEventType({ name: 'order.paid' })],
  ])('delivers the message once, under its id, after %s is mended', async (_, type, mended) => {
    world.settings.eventValidation = 'reject';
    await receive('sqs-1', JSON.stringify({ queue: 'orders', type, data: { total: 'five' } }));
    await redrive();
    expect(world.deadLetters.sent).toHaveLength(2);
    await world.eventTypes.put(mended);
    await redrive();
    await redrive();
    await world.clock.run();
    expect(world.deadLetters.sent).toHaveLength(2);
    expect(world.called()).toEqual(['one']);
    expect(await world.delivery('one', 'sqs-1')).toMatchObject({ status: 'delivered' });
  });
});
