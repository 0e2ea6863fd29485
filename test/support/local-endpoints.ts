import type { Endpoints } from '../../local/endpoints.ts';

/** The endpoints of a local deployment that does not run. */
export const localEndpoints: Endpoints = {
  endpoint: 'http://127.0.0.1:4566',
  region: 'us-east-1',
  accessKeyId: 'key-of-this-start',
  secretAccessKey: 'secret-of-this-start',
  apiUrl: 'http://127.0.0.1:4566/_aws/execute-api/abc123/$default',
  ingressQueueUrl: 'http://127.0.0.1:4566/000000000000/ingress',
  deliveryQueueUrl: 'delivery',
  retryQueueUrl: 'retry',
  undeliverableQueueUrl: 'undeliverable',
  operatorEventBus: 'events',
  ingressDeadLetterUrl: 'ingress-dead',
  deliveryDeadLetterUrl: 'delivery-dead',
  operationQueueUrl: 'operation',
  operationDeadLetterUrl: 'operation-dead',
  subscriptionsTable: 'subscriptions',
  deliveriesTable: 'deliveries',
  scheduleGroup: 'group',
  functions: {
    dispatch: 'dispatch-1',
    deliver: 'deliver-1',
    reconcile: 'reconcile-1',
    operate: 'operate-1',
    api: 'api-1',
    secrets: 'secrets-1',
  },
};
