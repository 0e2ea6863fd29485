import { commandLines } from './command-lines.ts';
import { endpointFiles } from './endpoint-files.ts';
import { oauthAnswers } from './oauth.ts';
import { parsers } from './parsers.ts';
import { apiTargets } from './routes.ts';
import type { Target } from './target.ts';

export const targets: readonly Target[] = [
  ...parsers,
  oauthAnswers,
  endpointFiles,
  commandLines,
  ...apiTargets,
];
