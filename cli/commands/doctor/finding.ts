/** What one check came to. `advice`: what to do. */
export type Finding = { check: string; ok: boolean; detail: string; advice?: string };
