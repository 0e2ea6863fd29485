import * as z from 'zod';

// The Content-Security-Policy forbids eval, which zod's JIT uses. zod reads this setting when the first schema is
// created, so this module has to be imported first.
z.config({ jitless: true });
