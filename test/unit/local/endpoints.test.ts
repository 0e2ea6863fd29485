import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpointsOf, removeEndpoints, writeEndpoints } from '../../../local/endpoints.ts';
import { localEndpoints } from '../../support/local-endpoints.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const outputs = {
  ApiId: 'abc123',
  ApiUrl: 'http://abc123.execute-api.127.0.0.1:4566',
  IngressQueueUrl: 'http://127.0.0.1:4566/000000000000/ingress',
  DeliveryQueueUrl: 'delivery',
  RetryQueueUrl: 'retry',
  UndeliverableQueueUrl: 'undeliverable',
  OperatorEventBus: 'events',
  IngressDeadLetterUrl: 'ingress-dead',
  DeliveryDeadLetterUrl: 'delivery-dead',
  OperationQueueUrl: 'operation',
  OperationDeadLetterUrl: 'operation-dead',
  SubscriptionsTable: 'subscriptions',
  DeliveriesTable: 'deliveries',
  ScheduleGroup: 'group',
  DispatchFunction: 'dispatch-1',
  DeliverFunction: 'deliver-1',
  ReconcileFunction: 'reconcile-1',
  OperateFunction: 'operate-1',
  ApiFunction: 'api-1',
  SecretsFunction: 'secrets-1',
};
const emulator = {
  endpoint: 'http://127.0.0.1:4566',
  keys: { accessKeyId: 'key-of-this-start', secretAccessKey: 'secret-of-this-start' },
};
const endpoints = endpointsOf(emulator, outputs);

describe('the endpoints of a deployed system', () => {
  it('contain the stack outputs, with an API address that resolves locally', () => {
    expect(endpoints).toEqual(localEndpoints);
  });

  it('cannot be built without a stack output, which the error names', () => {
    expect(() => endpointsOf(emulator, { ...outputs, ScheduleGroup: undefined })).toThrow(/ScheduleGroup/);
  });

  it('are written atomically without leftover files, and can be removed', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'endpoints.json');
    writeEndpoints(file, endpoints);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(endpoints);
    expect(readdirSync(folder)).toEqual(['endpoints.json']);
    removeEndpoints(file);
    removeEndpoints(file);
    expect(existsSync(file)).toBe(false);
  });

  it('cannot be read by other users, even after an interrupted write', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'endpoints.json');
    writeFileSync(`${file}.partial`, '{"endp', { mode: 0o644 });
    writeEndpoints(file, endpoints);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  });
});
