import { afterAll } from 'vitest';
import { dynamoEventTypes } from '../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { deployment } from '../support/deployment.ts';
import { privateTables } from '../support/dynamo-clients.ts';
import { describeEventTypesContract } from './event-types.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
afterAll(tables.deleteAll);

describeEventTypesContract('in DynamoDB', async () =>
  dynamoEventTypes(documents, await tables.like(endpoints.subscriptionsTable)),
);
