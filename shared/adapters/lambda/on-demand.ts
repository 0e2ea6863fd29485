/**
 * An adapter that only rare paths need. It and its client are in a separate file of the bundle, loaded by the first call, so
 * that they do not delay the cold start. Each has a file `lazy-….ts`, which only the functions import that need it: what it
 * names is in their bundles. A load that failed is repeated: the file cannot be read while the process has too many open.
 */
export function once<Adapter>(load: () => Promise<Adapter>): () => Promise<Adapter> {
  let loaded: Promise<Adapter> | undefined;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    }));
}
