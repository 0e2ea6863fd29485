import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import extractor from '@microsoft/api-extractor';
import packageJson from '../package.json' with { type: 'json' };
import { localFolder, projectRoot } from '../local/install/paths.mjs';
import { staged } from './run-program.ts';

const { CompilerState, Extractor, ExtractorConfig } = extractor;

const reportFolder = join(projectRoot, 'package/api');

/** The declarations of the entry points, by the name of the report. */
const entries = Object.entries(packageJson.exports).map(([name, file]) => ({
  report: `${name === '.' ? 'posthaste' : name.slice('./'.length)}.api.md`,
  declarations: join(staged, file.replace(/\.ts$/, '.d.ts')),
}));

function prepareConfig({ report, declarations }: (typeof entries)[number]) {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(staged, 'package.json'),
    configObject: {
      projectFolder: staged,
      mainEntryPointFilePath: declarations,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            target: 'es2024',
            types: ['node'],
            strict: true,
            skipLibCheck: true,
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        // Types that the entry point does not export, and that users get all the same.
        includeForgottenExports: true,
        reportFileName: report,
        reportFolder,
        reportTempFolder: join(localFolder, 'api'),
      },
    },
  });
}

/** Compares the public API with the reports in package/api, or updates them. */
function reportAll(localBuild: boolean): void {
  mkdirSync(reportFolder, { recursive: true });
  const configs = entries.map(prepareConfig);
  // One program for all: loading the CDK's types takes most of the time.
  const [first] = configs;
  if (first === undefined) throw new TypeError('package.json names no entry point');
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: entries.map(({ declarations }) => declarations),
  });
  const options = { localBuild, compilerState, printApiReportDiff: true };
  const results = configs.map((config) => Extractor.invoke(config, options));
  if (results.every(({ succeeded }) => succeeded)) return;
  console.error('Accept a changed public API by: npm run check:package -- --update');
  process.exitCode = 1;
}

reportAll(process.argv.includes('--update'));
