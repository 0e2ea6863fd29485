import type { Jobs } from './jobs.ts';
import type { OperationTable } from './operation-table.ts';
import { unitsOf, WRITE_UNIT } from './weight.ts';

type Bytes = OperationTable['chunkItemBytes']['claimed'];

/** Of something that a chunk has, with so many members. */
export function bytesWith({ shared, member }: Bytes, members: number): number {
  return shared + members * member;
}

/** Of a chunk, on average: its claim, and the writes by which the successes of its members are recorded. */
export function chunkWriteUnits(
  { sizes }: Jobs,
  recordsPerChunk: number,
  { chunkItemBytes: { claimed, recorded } }: OperationTable,
): number {
  return sizes.reduce(
    (total, { members, share }) =>
      total +
      share *
        (unitsOf(bytesWith(claimed, members), WRITE_UNIT) +
          recordsPerChunk * unitsOf(bytesWith(recorded, members), WRITE_UNIT)),
    0,
  );
}
