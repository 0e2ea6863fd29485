import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/recoveries.ts';
import { ttlAttribute } from '../../shared/config/tables.ts';
import { deployment } from '../support/deployment.ts';
import { clientLosingAResponse } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { aDeliveryKey } from '../support/delivery-builders.ts';
import { aRecovery } from '../support/recovery-builders.ts';
import { describeRecoveriesContract } from './recoveries.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

describeRecoveriesContract('in DynamoDB', () => dynamoRecoveries(documents, table));

describe('the record of a recovery in the deliveries table', () => {
  it('is deleted by TTL when it expires', async () => {
    const recovery = aRecovery();
    await dynamoRecoveries(documents, table).create(recovery);
    const Key = { pk: `JOB#${recovery.selection.queue}`, sk: `RECOVERY#${recovery.id}` };
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key }));
    expect(Number(Item?.[ttlAttribute]) * 1000).toBe(recovery.expiresAt);
  });

  it('leaves its pages to TTL too, and is read without the number of pages that earlier versions dropped', async () => {
    const { pages: _, ...earlier } = { ...aRecovery(), batch: [aDeliveryKey()] };
    const recoveries = dynamoRecoveries(documents, table);
    await recoveries.create(earlier);
    expect(await recoveries.find(earlier.selection.queue, earlier.id)).not.toHaveProperty('pages');
    await recoveries.keepPage({ ...earlier, pages: 1 });
    const Key = { pk: `JOB#${earlier.selection.queue}`, sk: `PAGE#${earlier.id}#00000001` };
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key }));
    expect(Number(Item?.[ttlAttribute]) * 1000).toBe(earlier.expiresAt);
  });

  it('is created and saved by a request that was repeated because its response was lost', async () => {
    const recovery = aRecovery();
    await dynamoRecoveries(await clientLosingAResponse(endpoints), table).create(recovery);
    const next = { ...recovery, version: 2, found: 1 };
    expect(await dynamoRecoveries(await clientLosingAResponse(endpoints), table).save(next)).toEqual({
      kind: 'saved',
    });
    const found = await dynamoRecoveries(documents, table).find(recovery.selection.queue, recovery.id);
    expect(found).toEqual(next);
  });
});
