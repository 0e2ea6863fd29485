import type { Recovery } from '../domain/recovery.ts';
import type { Page, PageRequest } from './page.ts';

/** `refused` by somebody else's write: with the record as it is, undefined where there is none. */
export type RecoverySaving = { kind: 'saved' } | { kind: 'refused'; current: Recovery | undefined };

/** The records of recoveries. */
export interface Recoveries {
  /** Its id begins with its time of creation, so that ids sort by it (`recoveryIdOf`). @throws when there is one of that id */
  create(recovery: Recovery): Promise<void>;
  /** Strongly consistent. */
  find(queue: string, id: string): Promise<Recovery | undefined>;
  /** Newest first. @throws InvalidMarkerError */
  list(queue: string, page: PageRequest): Promise<Page<Recovery>>;
  /** Writes it if the record still has the version before it. */
  save(recovery: Recovery): Promise<RecoverySaving>;
}
