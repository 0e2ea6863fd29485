import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { primaryKey, ttlAttribute } from '../../config/tables.ts';
import { withRetriedWrites } from '../../domain/contention.ts';
import { DAY_MS } from '../../domain/duration.ts';
import {
  type CircuitRules,
  type DeliveryResult,
  latestOf,
  mostDeciding,
} from '../../domain/subscription/recent-results.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CommonResults } from '../../ports/pace.ts';
import { resultsItemKey } from './delivery-keys.ts';
import { decode, RECORD_VERSION, ttlOf } from './record.ts';
import { conditional, expression } from './writes.ts';

const storedSchema = z.object({
  version: z.number(),
  latest: z.array(z.object({ messageId: z.string(), at: z.number(), isFailure: z.boolean() })),
});

type Stored = z.infer<typeof storedSchema>;

type Addition = {
  version: number;
  results: readonly DeliveryResult[];
  rules: CircuitRules;
};

/**
 * One item of the deliveries table for each subscription that lately failed. Results are appended, so that concurrent
 * functions do not conflict, until there are too many or the subscription has changed.
 */
export function dynamoCommonResults(
  client: DynamoDBDocument,
  tableName: string,
  clock: Pick<Clock, 'now'>,
): CommonResults {
  return {
    add: (subscription, version, results, rules) => {
      const addition = { version, results, rules };
      let request = appended(addition, clock.now());
      return withRetriedWrites<readonly DeliveryResult[]>(
        async () => {
          const result = await conditional(
            client.update({
              TableName: tableName,
              Key: resultsItemKey(subscription),
              ReturnValues: 'ALL_NEW',
              ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
              ...request,
            }),
          );
          const now = clock.now();
          if (result.kind === 'written')
            return latestOf(decode(storedSchema, result.output.Attributes).latest, now, rules);
          const stored = result.item && decode(storedSchema, result.item);
          if (stored !== undefined && stored.version > version) return [];
          const hasRoom = stored?.version === version && stored.latest.length < mostStored(rules);
          request = hasRoom ? appended(addition, now) : written(addition, stored, now);
          return 'again';
        },
        () => [],
      );
    },
  };
}

/** Then the item is written anew, without the results that no longer decide. */
function mostStored(rules: CircuitRules): number {
  return 2 * mostDeciding(rules);
}

function appended({ version, results, rules }: Addition, now: number) {
  const expr = expression();
  const latest = expr.name('latest');
  return {
    UpdateExpression: `SET ${latest} = list_append(${latest}, ${expr.value(results)}), ${expr.name(ttlAttribute)} = ${expr.value(ttlOf(now + DAY_MS))}`,
    ConditionExpression: `${expr.name('version')} = ${expr.value(version)} AND size(${latest}) < ${expr.value(mostStored(rules))}`,
    ...expr.attributes(),
  };
}

/** The item with the results that still decide. */
function written({ version, results, rules }: Addition, stored: Stored | undefined, now: number) {
  const expr = expression();
  const before = stored?.version === version ? stored.latest : [];
  const sets = {
    v: RECORD_VERSION,
    version,
    latest: latestOf([...before, ...results], now, rules),
    [ttlAttribute]: ttlOf(now + DAY_MS),
  };
  const isUnchanged =
    stored === undefined
      ? `attribute_not_exists(${expr.name(primaryKey.partition)})`
      : `${expr.name('version')} = ${expr.value(stored.version)} AND ${expr.name('latest')} = ${expr.value(stored.latest)}`;
  return {
    UpdateExpression: `SET ${Object.entries(sets)
      .map(([name, value]) => `${expr.name(name)} = ${expr.value(value)}`)
      .join(', ')}`,
    ConditionExpression: isUnchanged,
    ...expr.attributes(),
  };
}
