/** A change of what is stored or sent, which versions before `since` do not read. */
export type OneWayChange = {
  since: string;
  /** What is stored or sent since then. */
  what: string;
  /** What earlier versions do with it: while both run, and after going back. */
  earlier: string;
  /** What to do before the upgrade. */
  before?: string;
  /** What to do before going back. Absent: there is no way back once the new version wrote it. */
  back?: string;
};

/** What `posthaste upgrade --check` says beyond the resources, oldest first. A new form of a record or job adds a row. */
export const ONE_WAY_CHANGES: readonly OneWayChange[] = [];
