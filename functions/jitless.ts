import * as z from 'zod';

/**
 * Turns compiled parsers off: most instances of API and portal serve a few requests with different schemas, and compiling
 * takes longer than parsing. A schema reads this setting when it is created, so their handlers import this module first.
 */
z.config({ jitless: true });
