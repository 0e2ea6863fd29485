import packageJson from '../../../package.json' with { type: 'json' };
import { CDK_COMMAND, CDK_LIBRARY } from '../../../local/install/cdk.mjs';

/** The packages of an app, with ranges of versions. */
export const APP_PACKAGES = {
  dependencies: { posthaste: `^${packageJson.version}`, ...CDK_LIBRARY },
  devDependencies: CDK_COMMAND,
};

/** How the new app runs. */
export const NEW_APP = 'node app.mjs';

const APP = `import { App, Stack } from 'aws-cdk-lib';
import { Posthaste } from 'posthaste';

const app = new App();
const stack = new Stack(app, 'Webhooks');

// Every setting has a default, which your editor shows.
new Posthaste(stack, 'Posthaste');
`;

/** The files of a new app, by their paths in its folder. */
export const NEW_FILES: Readonly<Record<string, string>> = {
  'package.json': jsonText({ private: true, type: 'module', ...APP_PACKAGES }),
  'cdk.json': jsonText({ app: NEW_APP }),
  'app.mjs': APP,
  '.gitignore': 'node_modules/\ncdk.out/\n',
};

function jsonText(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
