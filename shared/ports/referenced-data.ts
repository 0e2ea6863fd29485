import type { DataReference, ReferenceFault } from '../domain/data-reference.ts';

export type ReadData = { ok: true; data: string } | { ok: false; reason: ReferenceFault };

/** Objects of producers that hold the data of messages. */
export interface ReferencedData {
  /**
   * JSON source text, read only if the object belongs to that account and is not too large.
   * @throws for faults that pass.
   */
  read(reference: DataReference, owner: string): Promise<ReadData>;
}
