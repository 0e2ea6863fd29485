import ts from 'typescript';

const FORMAT: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: () => process.cwd(),
  getCanonicalFileName: (file) => file,
  getNewLine: () => '\n',
};

/**
 * Type-checks the consumers in a folder, and the declarations of Posthaste that they load. Those of other packages are
 * not judged: aws-cdk-lib does not compile with exactOptionalPropertyTypes (aws/aws-cdk#37996).
 */
function checkTypes(folder: string): void {
  const file = `${folder}/tsconfig.json`;
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: stop };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(file, {}, host) ?? stop();
  const program = ts.createProgram(fileNames, options);
  const others = /\/node_modules\/(?!posthaste\/)/;
  const judged = program.getSourceFiles().filter(({ fileName }) => !others.test(fileName));
  const found = [...errors, ...judged.flatMap((source) => ts.getPreEmitDiagnostics(program, source))];
  if (found.length > 0) process.exitCode = 1;
  console.log(ts.formatDiagnostics(found, FORMAT));
  console.log(`${fileNames.length} files and ${judged.length - fileNames.length} declarations type-checked`);
}

function stop(): never {
  throw new TypeError('The consumers have no tsconfig.json');
}

checkTypes(process.argv[2] ?? '');
