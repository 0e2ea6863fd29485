import { randomBytes } from 'node:crypto';
import { dynamoChunks, dynamoSeparateRecords } from '../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { render } from '../../shared/domain/message/payload.ts';
import type { Aws, AwsWithEvents } from '../compose.ts';
import { auditLog } from './audit.ts';
import { chunkedDeliveries } from './deliveries/chunked-deliveries.ts';
import type { CommonPorts } from './dependencies.ts';

// Apart from compose.ts, so that the bundle of the secrets' function has no adapters that only the API needs.

/** The ports that both functions of the API have. */
export function commonPorts(
  { journal, dynamo, pacing, ports }: Aws | AwsWithEvents,
  { subscriptionsTable, deliveriesTable }: { subscriptionsTable: string; deliveriesTable: string },
): CommonPorts {
  return {
    ...ports,
    randomBytes,
    render,
    registry: dynamoRegistry(dynamo, subscriptionsTable, { ...clock, ...pacing }),
    deliveries: chunkedDeliveries({
      deliveries: dynamoDeliveries(dynamo, deliveriesTable),
      chunks: {
        ...dynamoChunks(dynamo, deliveriesTable),
        ...dynamoSeparateRecords(dynamo, deliveriesTable, pacing),
      },
    }),
    audit: auditLog(journal.auditLogger),
    reportFault: (fault, ids) => {
      journal.fault(fault, ids);
    },
  };
}
