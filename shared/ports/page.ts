/** A part of a long listing. */
export type Page<T> = { items: readonly T[]; /** Opaque; absent on the last page. */ marker?: string };

export type PageRequest = { limit: number; marker?: string };

/** A page marker that this listing never gave out. The caller's fault, not ours. */
export class InvalidMarkerError extends Error {
  override readonly name = 'InvalidMarkerError';

  constructor() {
    super('The marker is none that this listing gave out.');
  }
}
