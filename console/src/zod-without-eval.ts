import * as z from 'zod';

// The page's policy forbids code made of text, by which zod would be quicker. It asks when the first schema is made, so
// this comes before all of them.
z.config({ jitless: true });
