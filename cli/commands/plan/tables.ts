import type { z } from 'zod';
import measured from './operations.json' with { type: 'json' };
import type { FieldError } from '../../../shared/domain/errors.ts';
import { operationTableSchema, type OperationTable } from './model/operation-table.ts';
import { pricesSchema, type Prices, type RegionPrices } from './model/prices.ts';
import listPrices from './prices.json' with { type: 'json' };

/** What `npm run bench:operations` counted last. */
export function operationTable(): OperationTable {
  return operationTableSchema.parse(measured);
}

export type Read<Value> = { ok: true; value: Value } | { ok: false; fields: FieldError[] };

/** The prices of a region: those that come with the command, or `given` ones, which are JSON in their form. */
export function regionPrices(region: string, given?: string): Read<{ asOf: string; prices: RegionPrices }> {
  const source = given === undefined ? { ok: true as const, value: listPrices } : parsedJson(given);
  if (!source.ok) return source;
  const prices = pricesSchema.safeParse(source.value);
  if (!prices.success) return { ok: false, fields: prices.error.issues.map(fieldOf) };
  const found = prices.data.regions[region];
  return found === undefined
    ? { ok: false, fields: [missingRegion(region, prices.data)] }
    : { ok: true, value: { asOf: prices.data.asOf, prices: found } };
}

function parsedJson(text: string): Read<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const message = `is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, fields: [{ field: 'prices', message }] };
  }
}

function fieldOf({ path, message }: z.core.$ZodIssue): FieldError {
  return {
    field: ['prices', ...path.map(String)].join('.'),
    message,
  };
}

function missingRegion(region: string, { regions }: Prices): FieldError {
  return {
    field: 'region',
    message: `has no prices here: ${region}. There are: ${Object.keys(regions).join(', ')}; others by --prices`,
  };
}
