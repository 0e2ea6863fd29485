/** One page of a listing. */
export type Page<T> = { items: readonly T[]; /** Opaque; absent on the last page. */ marker?: string };

export type PageRequest = { limit: number; marker?: string | undefined };

/** The marker was not issued by this listing. A caller's error. */
export class InvalidMarkerError extends Error {
  override readonly name = 'InvalidMarkerError';

  constructor() {
    super('The marker was not issued by this listing.');
  }
}
