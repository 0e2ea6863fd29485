import { parsers } from './parsers.ts';
import { routeTarget } from './routes.ts';
import type { Target } from './target.ts';

export const targets: readonly Target[] = [...parsers, routeTarget];
