import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import { encodeOperation, parseOperation } from '../../../shared/wire/jobs/operation.ts';

const recovery: Operation = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 };
const cancellation: Operation = { kind: 'cancellation', queue: 'orders', deletedAt: 2 };
const movingUp: Operation = { kind: 'moving_up', queue: 'orders', subscriptionId: 's-1' };

describe('an encoded operation', () => {
  it.each<Operation>([
    recovery,
    cancellation,
    movingUp,
    { ...movingUp, cursor: 'c', settled: true },
    { ...cancellation, subscriptionId: 's-1', cursor: 'c', settled: true, failed: 2, looks: 1 },
  ])('is parsed from its encoding: %j', (operation) => {
    expect(JSON.parse(encodeOperation(operation))).toMatchObject({ v: 1 });
    expect(parseOperation(encodeOperation(operation))).toEqual({ ok: true, value: operation });
  });

  it('may contain unknown keys', () => {
    const text = JSON.stringify({ v: 1, ...recovery, more: true });
    expect(parseOperation(text)).toEqual({ ok: true, value: recovery });
  });

  it.each([
    ['not json', 'not_json'],
    ['[]', 'invalid_field:body'],
    ['null', 'invalid_field:body'],
    [JSON.stringify(recovery), 'unknown_version'],
    [JSON.stringify({ v: 2, ...recovery }), 'unknown_version'],
    [JSON.stringify({ ...recovery, v: 1, kind: 'unknown' }), 'unknown_kind'],
    [JSON.stringify({ v: 1 }), 'unknown_kind'],
    [JSON.stringify({ v: 1, ...recovery, queue: '' }), 'invalid_field:queue'],
    [JSON.stringify({ v: 1, ...recovery, recoveryId: 7 }), 'invalid_field:recoveryId'],
    [JSON.stringify({ v: 1, ...cancellation, deletedAt: '2' }), 'invalid_field:deletedAt'],
    [JSON.stringify({ v: 1, ...cancellation, settled: false }), 'invalid_field:settled'],
    [JSON.stringify({ v: 1, ...movingUp, subscriptionId: undefined }), 'invalid_field:subscriptionId'],
    [JSON.stringify({ v: 1, ...cancellation, looks: -1 }), 'invalid_field:looks'],
  ])('is refused with a reason if malformed: %s', (text, reason) => {
    expect(parseOperation(text)).toEqual({ ok: false, reason });
  });
});
