import * as z from 'zod';

/**
 * Most instances of the API answer a handful of requests, each with schemas of its own: compiling a reader takes longer than
 * reading. A schema takes this up when it is made, so it comes before all others.
 */
z.config({ jitless: true });
