import * as z from 'zod';

/**
 * No compiled parsers: most instances of the API answer a few requests with different schemas, and compiling takes longer
 * than parsing. A schema reads this setting when it is created, so handler.ts imports this module first.
 */
z.config({ jitless: true });
