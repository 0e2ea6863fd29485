import { afterAll } from 'vitest';
import { dynamoCommonResults } from '../../shared/adapters/dynamodb/common-results.ts';
import { deployment } from '../support/deployment.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeCommonResultsContract } from './common-results.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

describeCommonResultsContract('in DynamoDB', () => {
  const time = { now: 0 };
  return {
    commonResults: dynamoCommonResults(documents, table, { now: () => time.now }),
    setTime: (now) => {
      time.now = now;
    },
  };
});
